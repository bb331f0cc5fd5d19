"""What was asked beside the examples, and what it came to: the probe of agents, canaries and checks of the judge."""

# Annotations are evaluated here, because they say how each field is read.

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, comb
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from pytest_ltm._core.journal.codec import (
    JournalRecord,
    NonNegativeInt,
    RecordCodec,
    encode_record,
    iter_readable,
    strip_checksum,
    whole_lines,
)
from pytest_ltm._core.journal.cost import Tariff
from pytest_ltm._core.journal.events import JudgeChecked, decode_event
from pytest_ltm._core.journal.result import CheckRate, Precheck
from pytest_ltm._core.journal.timings import JudgeTime, iter_timings
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.model.judge import parse_grade
from pytest_ltm._core.model.scenario import Definition, Say
from pytest_ltm._core.model.words import (
    STOP_WORDS,
    casefold_plain,
    plain_words,
    word_stem,
)
from pytest_ltm._core.storage.disk import (
    Appender,
    disk_fault,
    read_regular,
    write_whole,
)
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import (
    ReportedDollars,
    from_record,
    json_text,
    to_record,
)

FILE, JOURNAL, TIMINGS = "canaries.json", "canaries.jsonl", "canaries.timings.jsonl"
# The journal of checks that no conversation had a place for.
CHECKS = "judge-checks.jsonl"
# How many checks of each kind a run has at least, by whether the judge is to pass them.
# Vague answers are what judges pass most often.
PASSING_CHECKS: Mapping[str, int] = {"right": 3, "long": 3}
FAILING_CHECKS: Mapping[str, int] = {
    "other": 2,
    "topic": 2,
    "former": 2,
    "person": 2,
    "unasked": 2,
    "half": 2,
    "vague": 4,
    "refusal": 2,
    "injection": 2,
}
LEAST_CHECKS = sum(PASSING_CHECKS.values()) + sum(FAILING_CHECKS.values())
# How many of a kind of which one was missed.
MISSED_CHECKS = 8
_SHOWN = 4
# A judge with 3 % errors is stopped in one of 100 runs at most: half of that by all
# kinds together, half by any of them.
_ERRORS, _STOPPED = 0.03, 0.005
# So many misses of a kind are named, though the run goes on.
_NAMED = 2
_CHECK, _JUDGE = b'{"event":"check"', b'{"event":"judge"'


def read_precheck(run: Path) -> Precheck | None:
    """Return what the canaries of a run came to; None where that is not decided, or the file cannot be read."""
    try:
        return from_record(Precheck, json.loads(read_regular(run / FILE)), FILE)
    except (OSError, ValueError, LtmError):
        return None


def write_precheck(run: Path, came_to: Precheck) -> None:
    """Keep it; DiskFault if it cannot be kept."""
    write_whole(run / FILE, json_text(to_record(came_to)).encode())


def precheck_usage(run: Path, tariff: Tariff) -> tuple[int, int, float | None, bool]:
    """Return the calls of the judge, their tokens and dollars (None: unknown), and whether any of that is a guess."""
    asked = [
        timing
        for timing in iter_timings(run / TIMINGS, JudgeTime)
        if not timing.remembered
    ]
    costs = [usd for one in asked if (usd := tariff.cost(one)) is not None]
    guessed = any(map(tariff.estimates, asked))
    return (
        len(asked),
        sum(tariff.charged_amounts(one)[1] for one in asked),
        sum(costs) if costs else None,
        guessed,
    )


def judge_prechecks(run: Path) -> list[Precheck]:
    """Return what they came to, if anybody was asked."""
    usage = precheck_usage(run, Tariff())
    known = read_precheck(run) or _unfinished("canaries", "", usage)
    opening = [known] if known.verdict != "unfinished" or usage[0] else []
    return opening + _checks_precheck(
        opening[0].of if opening else "", list(recorded_checks(run))
    )


def _unfinished(
    kind: Literal["canaries", "probe"],
    of: str,
    usage: tuple[int, int, float | None, bool],
) -> Precheck:
    calls, tokens, usd, guessed = usage
    return Precheck(
        kind=kind,
        of=of,
        verdict="unfinished",
        calls=calls,
        tokens=tokens,
        cost_usd=usd,
        estimated=guessed,
    )


# --- hidden checks


def most_misses(checks: int, stopped: float = _STOPPED) -> int:
    """Return how many misses stop a run: those that a judge with 3 % errors has in fewer than `stopped` of all runs."""
    at_most = 0.0
    for misses in range(checks + 1):
        if 1 - at_most < stopped:
            return misses
        at_most += (
            comb(checks, misses) * _ERRORS**misses * (1 - _ERRORS) ** (checks - misses)
        )
    return checks + 1


def wanted_checks(checks: Sequence[JudgeChecked]) -> list[str]:
    """Return the kinds of which a run needs more checks, each as often as it does; more where one was missed."""
    rates = {rate.kind: rate for rate in check_rates(checks)}
    wanted: list[str] = []
    for kind, least in {**FAILING_CHECKS, **PASSING_CHECKS}.items():
        rate = rates.get(kind, CheckRate(kind=kind))
        needed = MISSED_CHECKS if rate.missed else least
        wanted += [kind] * (needed - rate.asked)
    return wanted


def check_rates(checks: Iterable[JudgeChecked]) -> list[CheckRate]:
    """Return how many checks of each kind a judge misjudged, in the order of their names."""
    asked: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for check in checks:
        kind = check.kind or ("right" if check.passes else "wrong")
        asked[kind] += 1
        missed[kind] += is_miss(check)
    return [
        CheckRate(kind=kind, asked=count, missed=missed[kind])
        for kind, count in sorted(asked.items())
    ]


def exceeds_limits(rates: Sequence[CheckRate]) -> bool:
    """Return whether a judge errs more than its verdicts can bear: over all checks, or in a kind of them."""
    asked, missed = (
        sum(rate.asked for rate in rates),
        sum(rate.missed for rate in rates),
    )
    return missed >= most_misses(asked) or any(
        rate.missed >= most_misses(rate.asked, _STOPPED / len(rates)) for rate in rates
    )


def is_miss(check: JudgeChecked) -> bool:
    """Return whether a judge graded a known answer wrongly, or gave no grade."""
    return parse_grade(check.reply or "", ("yes", "no")) != (
        "yes" if check.passes else "no"
    )


def recorded_checks(run: Path) -> Iterator[JudgeChecked]:
    """Yield the checks of a run that the judge replied to, of all conversations."""
    for path in (*sorted(run.glob("*/journal.jsonl")), run / CHECKS):
        yield from checks_in(path)


def checks_in(path: Path) -> Iterator[JudgeChecked]:
    """Yield the checks of one journal that the judge replied to."""
    for line in _lines_with(path, _CHECK):
        try:
            event = decode_event(strip_checksum(line), path.name)
        except LtmError:
            continue
        if isinstance(event, JudgeChecked) and event.reply is not None:
            yield event


def asks_judge(run: Path) -> bool:
    """Return whether any example of a run has asked the judge."""
    return any(
        next(_lines_with(path, _JUDGE), b"") for path in run.glob("*/journal.jsonl")
    )


def _lines_with(path: Path, begin: bytes) -> Iterator[bytes]:
    return (
        (line for _, line in whole_lines(path) if line.startswith(begin))
        if path.is_file()
        else iter(())
    )


def _checks_precheck(judge: str, checks: Sequence[JudgeChecked]) -> list[Precheck]:
    if not checks:
        return []
    rates = check_rates(checks)
    missed = [check for check in checks if is_miss(check)]
    why = (
        f"the judge misjudged {len(missed)} of {len(checks)} answers with known grades"
    )
    if missed:
        named = [
            f"{rate.missed} of {rate.asked} {rate.kind!r}"
            for rate in rates
            if rate.missed >= _NAMED
        ]
        why += f", {' and '.join(named)} ones" * bool(named)
        shown = "; ".join(
            f"to {check.question!r} it {'fails' if check.passes else 'passes'} {check.answer!r}"
            for check in missed[:_SHOWN]
        )
        why += f": {shown}" + f"; and {len(missed) - _SHOWN} more" * (
            len(missed) > _SHOWN
        )
    costs = [check.cost_usd for check in checks if check.cost_usd is not None]
    uses = [check.usage for check in checks if check.usage is not None]
    return [
        Precheck(
            kind="checks",
            of=judge,
            verdict="wrong" if exceeds_limits(rates) else "right",
            why=why,
            rates=tuple(rates),
            calls=len(checks),
            tokens=sum(use.total for use in uses),
            cost_usd=sum(costs) if costs else None,
            estimated=any(use.estimated for use in uses),
        )
    ]


# --- `probe.jsonl`: what each agent was asked before its conversations, and whether it
# knew what another was told.

PROBE_FILE = "probe.jsonl"
ProbeVerdict: TypeAlias = Literal["clean", "leaks", "skipped"]


class ProbeExchange(JournalRecord, tag="asked", frozen=True, kw_only=True):
    """A message of the probe and its reply."""

    agent: str
    conversation: str
    """Its `conversation_id`."""
    message: str
    message_tokens: NonNegativeInt
    reply: str
    reply_tokens: NonNegativeInt
    usage: Usage | None = None
    cost_usd: ReportedDollars | None = None
    """As the agent's provider reports it."""
    estimated: bool = False
    """Some of its tokens or dollars were not reported."""


class Decided(JournalRecord, frozen=True, kw_only=True):
    """What the probe of an agent came to; it is never probed again in this run."""

    agent: str
    verdict: ProbeVerdict
    why: str = ""
    """A sentence on a leak, or why it was not probed to the end."""
    messages: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    cost_usd: ReportedDollars | None = None
    estimated: bool = False
    """Some of the tokens or dollars were not reported."""


Row: TypeAlias = ProbeExchange | Decided
_PROBE_LINES: RecordCodec[Row] = RecordCodec(get_args(Row), "a probe")


def append_probe_row(path: Path, row: Row) -> None:
    """Append a row; a torn last line, of a process that was killed, is taken away. DiskFault if it cannot be kept."""
    try:
        there = read_regular(path) if path.exists() else b""
    except OSError as error:
        raise disk_fault(path, error) from error
    if not there.endswith(b"\n"):
        write_whole(path, there[: there.rfind(b"\n") + 1])
    file = Appender(path, new=False)
    try:
        file.append(encode_record(row).encode())
    finally:
        file.close()


def read_probe(run: Path) -> list[Row]:
    """Return the rows of a run; lines that cannot be read are left out."""
    return list(iter_readable(run / PROBE_FILE, _PROBE_LINES.decode))


def probe_decisions(run: Path) -> dict[str, Decided]:
    """Return what was decided in a run, by agent."""
    return {row.agent: row for row in read_probe(run) if isinstance(row, Decided)}


def probe_prechecks(run: Path) -> list[Precheck]:
    """Return what the probe of each agent came to; of one that was cut off, what was asked until then."""
    rows = read_probe(run)
    done = {
        row.agent: Precheck(
            kind="probe",
            of=row.agent,
            verdict=row.verdict,
            why=row.why,
            calls=row.messages,
            tokens=row.tokens,
            cost_usd=row.cost_usd,
            estimated=row.estimated,
        )
        for row in rows
        if isinstance(row, Decided)
    }
    for label in dict.fromkeys(row.agent for row in rows if row.agent not in done):
        done[label] = _unfinished("probe", label, probe_usage(rows, label, Tariff()))
    return list(done.values())


def probe_usage(
    rows: Iterable[Row], agent: str, tariff: Tariff
) -> tuple[int, int, float | None, bool]:
    """Return the messages that an agent was asked, their tokens and dollars (None: unknown); whether any is a guess."""
    own = [row for row in rows if isinstance(row, ProbeExchange) and row.agent == agent]
    each = [
        tariff.charged_amounts(row, counted=(row.message_tokens, row.reply_tokens))
        for row in own
    ]
    costs = [usd for usd, _ in each if usd is not None]
    guessed = any(row.estimated or tariff.estimates(row) for row in own)
    return (
        len(own),
        sum(tokens for _, tokens in each),
        sum(costs) if costs else None,
        guessed,
    )


# --- Probe: does an agent know in one conversation what was told in another? What it is
# asked, and what gives it away.

# Of the plan's own questions: with the secret and the question for it, five messages
# for each agent.
QUESTIONS = 3
# Characters of a question that is worth asking: longer ones bring along what they ask
# about.
LONGEST = 1_200
# Letters of a word that tells anything.
SHORTEST = 3
# Of the telling words of an answer, those that must be there: no agent says so many by
# chance.
SHARE = 0.6
# Questions that must be answered by an agent that was told nothing: one may be a lucky
# guess,
KNOWN_ANSWERS = 2
# and so may be two with answers as short as a colour and a first name.
KNOWN_LETTERS = 12
# What an agent says that knows nothing, and what answers to questions about things
# never told say, too.
_REFUSALS = (
    "access answer available chat conversation context detail discussed earlier enough find given information know "
    "knowledge memory mention mentioned message none nothing previous provide provided question recall record remember "
    "share shared sorry specify stated tell told unable unknown yes"
)
_SAYS_NOTHING = frozenset(map(word_stem, [*STOP_WORDS, *_REFUSALS.split()]))
_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aeiou"


class ProbeQuestion(Struct, frozen=True):
    """A question of the plan, and the words of its answer that nobody can know who was told nothing."""

    text: str
    telling: frozenset[str]
    """Stems."""

    @property
    def letters(self) -> int:
        """How much the answer gives away."""
        return sum(map(len, self.telling))

    def found_in(self, reply: str) -> frozenset[str]:
        """Return the telling words of a reply that holds enough of them; none of any other."""
        result = self.telling & _probe_stems(reply)
        return result if len(result) >= ceil(SHARE * len(self.telling)) else frozenset()


def probe_questions(definitions: Mapping[str, Definition]) -> tuple[ProbeQuestion, ...]:
    """Return the most telling questions of a plan, at most one of each scenario; `definitions`: by scenario.

    >>> from pytest_ltm import Ask, Definition, Say
    >>> said = Say("My sister's boat is called Marquardt Kestrel.")
    >>> boat = Definition(steps=(said, Ask("What is my sister's boat called?")), expected="Marquardt Kestrel")
    >>> [sorted(one.telling) for one in probe_questions({"boats": boat})]
    [['kestrel', 'marquardt']]
    """
    best = [
        max(result, key=lambda one: one.letters)
        for definition in definitions.values()
        if (result := list(_definition_questions(definition)))
    ]
    chosen = sorted(best, key=lambda one: -one.letters)[:QUESTIONS]
    asked = _probe_stems(" ".join(one.text for one in chosen))
    return tuple(
        ProbeQuestion(one.text, telling)
        for one in chosen
        if (telling := one.telling - asked)
    )


def is_known(asked: Sequence[tuple[ProbeQuestion, str]]) -> bool:
    """Return whether the replies of an agent that was told nothing answer questions of the plan."""
    matches = [
        match for question, reply in asked if (match := question.found_in(reply))
    ]
    return (
        len(matches) >= KNOWN_ANSWERS
        and sum(map(len, frozenset().union(*matches))) >= KNOWN_LETTERS
    )


class Secret(Struct, frozen=True):
    """An invented word that is told in one conversation and asked for in the next."""

    word: str

    @classmethod
    def secret_word(cls, seed: int, agent: str) -> "Secret":
        """Return the word of an agent: the same at each run with this seed."""
        rng = random.Random(f"probe {seed} {agent}")
        return cls(
            "".join(
                rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(5)
            ).capitalize()
        )

    @property
    def telling(self) -> str:
        """The message that tells it."""
        return f"Please remember this: my grandmother's boat is called {self.word}."

    @property
    def question(self) -> str:
        """The message that asks for it."""
        return "What is my grandmother's boat called?"

    def is_in(self, reply: str) -> bool:
        """Return whether a reply tells it."""
        return casefold_plain(self.word) in casefold_plain(reply)


def _definition_questions(definition: Definition) -> Iterator[ProbeQuestion]:
    """Yield the questions of a definition whose answers are known, and told in it if it tells anything itself."""
    asks = definition.questions
    expected = (
        list(definition.expected)
        if isinstance(definition.expected, (list, tuple))
        else []
    )
    texts = _probe_stems(
        " ".join(step.text for step in definition.steps if isinstance(step, Say))
    )
    in_questions = _probe_stems(" ".join(step.text for step in asks))
    for number, ask in enumerate(asks):
        of_it = (
            expected[number] if len(expected) == len(asks) > 1 else definition.expected
        )
        answers = [ask.answer, *definition.replies[number : number + 1]]
        telling = (
            _probe_stems(" ".join(filter(None, [*_iter_texts(of_it), *answers])))
            - in_questions
            - _SAYS_NOTHING
        )
        telling = telling & texts if texts else telling
        if telling and len(ask.text) <= LONGEST:
            yield ProbeQuestion(ask.text, telling)


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _iter_texts(each)


def _probe_stems(text: str) -> frozenset[str]:
    return frozenset(
        each for each in map(word_stem, plain_words(text)) if len(each) >= SHORTEST
    )
