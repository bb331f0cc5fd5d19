"""ScenarioResult, ConversationResult, RunResult: all that a report may show; and `results.json`."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from pytest_ltm._core.agent_kinds import find_agent_kind
from pytest_ltm._core.journal.memory_ledger import MemoryResult
from pytest_ltm._core.model.account import Account
from pytest_ltm._core.model.agent import Mishap
from pytest_ltm._core.model.score import NO_ORACLE, UNDECIDED, Check
from pytest_ltm._core.model.transcript import Count
from pytest_ltm._core.storage.disk import read_regular, write_whole
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import (
    SPARSE,
    bounded,
    from_record,
    json_text,
    parse_record,
    to_record,
)

if TYPE_CHECKING:
    from typing_extensions import Self


# The first field of every `results.json`.
FORMAT = "pytest-ltm results 2"

Outcome: TypeAlias = Literal["passed", "failed", "error", "skipped"]

# Why there is no score: it could not be judged; nothing is proven (the score is 0, its
# upper end 1); the judge gave no grade; a capability or room is missing; the agent or
# budget was gone before its end; or whose fault it was. "" where there is a score, and
# where the scenario skipped itself.
Cause: TypeAlias = Literal[
    "",
    "unscored",
    "undecided",
    "ungraded",
    "requires",
    "not reached",
    "agent",
    "evaluator",
    "judge",
    "user",
    "scenario",
    "internal",
]


def outcome_of(score: float, threshold: float) -> Literal["passed", "failed"]:
    """Return whether a score passes: 2/3 + 1/3 must reach a mark of 1.0 whatever the floating point says."""
    return "passed" if score >= threshold - 1e-9 else "failed"


Ended: TypeAlias = Literal["complete", "agent gone", "budget spent", "interrupted"]


def node_label(name: str) -> str:
    """Return a name with the characters only that may stand in a node id's label."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


class ConversationName(Struct, frozen=True):
    """Which conversation of a run: labels of letters, digits, `_` and `.`; written `bot-32k-0` in node ids."""

    agent: str
    span: str
    """As in the node id: `32k`, `isolated`."""
    trial: str
    """`<trial>`, or `<trial>.<thread>` where a trial has several conversations."""
    variant: str = ""
    """The scenario, where isolated variants of one test have a conversation each: told by the folder alone."""

    def __str__(self) -> str:
        return f"{self.agent}-{self.span}-{self.trial}"

    @property
    def folder(self) -> str:
        """The name of its folder: `bot~32k~0`."""
        return f"{self.agent}~{self.place}"

    @property
    def place(self) -> str:
        """Its folder's name without the agent, which another agent's conversation of the same plan has, too."""
        return "~".join(filter(None, (self.span, self.trial, self.variant)))

    @property
    def whole(self) -> Self:
        """The name without its variant."""
        return structs.replace(self, variant="")

    @property
    def planned_name(self) -> Self:
        """What the run's settings say of it, which know no threads: agent, span and trial."""
        return structs.replace(self, trial=self.trial.partition(".")[0], variant="")

    @classmethod
    def of_folder(cls, name: str) -> Self | None:
        """Return which conversation a folder of this name holds; None if that is none."""
        labels = name.split("~")
        return cls(*labels) if len(labels) in (3, 4) else None

    @classmethod
    def of_labels(cls, labels: str) -> Self | None:
        """Return what the parameters of a node id begin with: `bot-32k-0-1`; None for those of an ordinary test."""
        parts = labels.split("-")
        return cls(*parts[:3]) if len(parts) >= 3 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleRef:
    """Something said that the answer to a question depends on."""

    number: int
    """Of its exchange in the conversation."""
    text: str
    gap: int
    """Tokens from the end of the needle's message to the start of the question's."""
    told_gap: int
    """Of the gap, the tokens that were told: all but what the agent itself generated."""
    seconds_passed: float
    """Of the conversation's time, from the needle to the question."""
    rank: int | None = field(default=None, metadata={SPARSE: True})
    """Its place, from 1, among what the agent retrieved for the question; 0: not there; None: that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """One question asked for credit."""

    number: int
    """Of its exchange in the conversation."""
    text: str
    answer: str
    gap: int | None = None
    """The smallest gap of its needles, in tokens; None if it depends on none."""
    needles: tuple[NeedleRef, ...] = ()
    retrieved: tuple[str, ...] | None = field(default=None, metadata={SPARSE: True})
    """What the agent says that it retrieved for its answer, best first; None where it does not report it."""


class ExampleMetric(Struct, frozen=True):
    """A figure beside the score, such as an answer's F1: it is shown and averaged, and earns nothing."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """The verdict that the rules gave before a person amended it."""

    score: float | None
    reason: str
    outcome: Outcome
    upper: float | None = field(default=None, metadata={SPARSE: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """How one example of a scenario went: one pytest item."""

    scenario: str
    example: str
    agent: str
    """The agent's label."""
    span_label: str
    """As in the node id: `32k`, `isolated`."""
    span: int | None
    """The memory span in tokens; None where examples are isolated."""
    trial: str
    """The third label of the node id: a trial, or `<trial>.<thread>`."""
    nodeid: str
    outcome: Outcome
    score: float | None
    """0 to 1; None if there is none, which is not a zero."""
    reason: str
    """One sentence: why this score, or why there is none."""
    cause: Cause = ""
    checks: tuple[Check, ...] = ()
    rule: str = ""
    """Name and version of the rule that decided."""
    evidence: str = ""
    """The part of an answer that decided."""
    upper: float | None = field(default=None, metadata={SPARSE: True})
    """The score if all open parts passed; None: no part is open."""
    threshold: float = 1.0
    """The lowest score that passes."""
    pass_k: int | None = None
    """The number of trials that must reach the threshold; None: not given."""
    floor: float = field(default=0.0, metadata={SPARSE: True})
    """The score that an agent without memory may earn."""
    skills: tuple[str, ...] = ()
    gap: int | None = None
    """The smallest needle gap of the last question, in tokens."""
    measured_span: int | None = None
    """Tokens from the example's start to the start of its last question."""
    overrun: bool = False
    """It was stretched over more than its memory span."""
    tokens: int = 0
    """Of its own exchanges."""
    cost_usd: float | None = None
    """Of its own exchanges; None where the agent does not report it."""
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the cost was not reported: it is an estimate."""
    judge_calls: int = 0
    """Calls of the judge, votes and cached replies included."""
    judge_tokens: int = 0
    """Of those, as the judge's provider counts them, where it reports them."""
    judge_cost_usd: float | None = None
    """What those cost when they were made, be it in this run or in an earlier one; None where it is not reported."""
    judge_estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the judge's tokens were not reported: they are estimates."""
    user_calls: int = field(default=0, metadata={SPARSE: True})
    """How often the models of simulated users were asked for a message."""
    user_tokens: int = field(default=0, metadata={SPARSE: True})
    """Of those, as their providers count them, where they report them."""
    user_cost_usd: float | None = field(default=None, metadata={SPARSE: True})
    """What those cost when they were made; None where it is not known."""
    user_estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of those tokens were not reported: they are estimates."""
    questions: tuple[QuestionResult, ...] = ()
    metrics: tuple[ExampleMetric, ...] = ()
    """Figures beside the score, in the order in which the scenario noted them."""
    memory: MemoryResult | None = field(default=None, metadata={SPARSE: True})
    """What the agent's memory did with what was told; None where nobody says."""
    automatic: Automatic | None = None
    """What the rules said, where a person has amended the verdict; None: not amended."""

    def __post_init__(self) -> None:
        if self.scored != (
            self.outcome in ("passed", "failed") or self.cause == UNDECIDED
        ):
            raise ValueError(
                f"outcome {self.outcome!r} cannot have score {self.score!r}"
            )
        if self.score is not None and not 0 <= self.score <= self.upper_end <= 1:
            raise ValueError(f"a score lies between 0 and 1, not {self.score!r}")

    @property
    def scored(self) -> bool:
        """Whether it counts in any mean."""
        return self.score is not None

    @property
    def told_gap(self) -> int | None:
        """Of the gap, the tokens that were told: all but what the agent itself generated."""
        needles = self.questions[-1].needles if self.questions else ()
        if needles:
            return min(needles, key=lambda needle: needle.gap).told_gap
        return None

    @property
    def infrastructure(self) -> bool:
        """Whether agent, evaluator, judge, user or budget took the score away: such a run cannot be measured."""
        return self.cause in ("agent", "evaluator", "judge", "user", "not reached")

    @property
    def upper_end(self) -> float:
        """The score if all that is open passed."""
        if self.is_lost:
            return 1.0
        if self.upper is None:
            return self.score or 0.0
        return self.upper

    @property
    def is_open(self) -> bool:
        """Whether it may have earned more than its score, or without one anything from 0 to 1."""
        return self.is_lost or self.upper is not None

    @property
    def is_lost(self) -> bool:
        """Whether it was played, or was to be, and has no score: it may be 0, and it may be 1."""
        deliberate = (
            not self.cause
            or self.reason == NO_ORACLE
            or (self.cause == "requires" and not self.tokens)
        )
        return self.score is None and not deliberate

    @property
    def published_grade(self) -> float | None:
        """What somebody else gave it, where that was imported with it."""
        return next(
            (metric.value for metric in self.metrics if metric.name == PUBLISHED_GRADE),
            None,
        )

    @property
    def is_contested(self) -> bool:
        """Whether rules decide otherwise than the published grade."""
        grade = self.published_grade
        return (
            grade is not None
            and self.upper is None
            and self.outcome != ("passed" if grade >= HALF else "failed")
        )

    def settle_score(self, end: Literal[0, 1]) -> Self:
        """Return it with the lower or the upper end of what it may have earned as its score."""
        if not self.is_open:
            return self
        score = self.upper_end if end else self.score or 0.0
        return replace(
            self, score=score, upper=None, outcome=outcome_of(score, self.threshold)
        )

    @property
    def verdict(self) -> Automatic:
        """Score, reason and outcome, for a person to amend."""
        return Automatic(
            score=self.score, reason=self.reason, outcome=self.outcome, upper=self.upper
        )

    @property
    def acted(self) -> float | None:
        """The share of the checks of what the agent did that passed; None without any."""
        passed = [check.ok for check in self.checks if check.acted]
        return sum(passed) / len(passed) if passed else None

    @property
    def conversation(self) -> ConversationName:
        """Where it was played."""
        return ConversationName(self.agent, self.span_label, self.trial)

    @property
    def id(self) -> str:
        """`colours/0`: what its exchanges are signed with."""
        return f"{self.scenario}/{self.example}"


class KeptVerdict(Struct, frozen=True, kw_only=True):
    """An example that keeps its recorded verdict where its run is scored again, because its script has changed."""

    example: str
    why: str

    @property
    def notice_text(self) -> str:
        """The sentence for a reader."""
        return f"{self.example} keeps its recorded verdict, because its script has changed: {self.why}"


# The figure beside an imported answer that says what others gave it; from HALF on they
# passed it.
PUBLISHED_GRADE = "published_grade"
HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationResult:
    """One conversation with one agent: equal plans and replies give equal results, so no wall times."""

    agent: str
    agent_spec: str
    span_label: str
    span: int | None
    trial: str
    plan_fingerprint: str
    agent_fingerprint: str
    scenarios: tuple[ScenarioResult, ...]
    """One for each planned example, reached or not, in the order of the plan."""
    tokens: int = 0
    """Of all its exchanges, by the plan's tokenizer."""
    filler_tokens: int = 0
    reply_tokens: int = 0
    """Of the replies that the agent generated: told filler is not among them."""
    exchanges: int = 0
    simulated_seconds: float = 0.0
    """Of the conversation's own time, from its first message to its end."""
    cost_usd: float | None = None
    """Of all replies of the agent; None where unknown. The judge is not in it."""
    filler_cost_usd: float | None = None
    """Of those, to filler and to the history of a data set."""
    harness_cost_usd: float | None = None
    """Of those, to the opening message and to messages that end a scenario."""
    count: Count = "capped"
    """How much of the replies counted towards spans."""
    hypothetical: bool = False
    """The dollars are what it would cost: nothing is spent."""
    input_tokens: int | None = None
    """As the agent's provider counts them, all that is sent again included; None where the agent does not report it."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the input tokens, those that came from the provider's cache."""
    metered: int = field(default=0, metadata={SPARSE: True})
    """Replies whose usage is known."""
    calls: int = field(default=0, metadata={SPARSE: True})
    """Requests to models for those, as the agent reports them."""
    told: int = field(default=0, metadata={SPARSE: True})
    """Exchanges that the agent was only told, where it reports what that took, be it once."""
    told_calls: int = field(default=0, metadata={SPARSE: True})
    """Requests to models for those."""
    told_input_tokens: int = field(default=0, metadata={SPARSE: True})
    """Of the input tokens, those for what it was told."""
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the tokens and dollars were not reported: they are estimates."""
    lost_tokens: int = field(default=0, metadata={SPARSE: True})
    """What failed attempts used, and telling a restored agent again; in no other figure."""
    lost_cost_usd: float | None = field(default=None, metadata={SPARSE: True})
    asked_together: int = field(default=0, metadata={SPARSE: True})
    """Questions meant to be asked alone that followed others in one talk, for want of a way back."""
    mishaps: tuple[Mishap, ...] = field(default=(), metadata={SPARSE: True})
    """What went wrong within the agent without making a fault: replies cut off, notebooks that could not be read."""
    accounts: tuple[tuple[Account, int], ...] = field(
        default=(), metadata={SPARSE: True}
    )
    """How many replies were whole, cut, kept back ...; empty where all were whole."""
    notices: tuple[str, ...] = ()
    """What a reader should know: overruns, a torn line, a resume; a sentence each."""
    ended: Ended = "complete"
    gone: str = field(default="", metadata={SPARSE: True})
    """Why nothing more was sent, as one of the notices says (see `ended_early`); "" where it was not given up."""
    kept: tuple[KeptVerdict, ...] = field(default=(), metadata={SPARSE: True})
    """The examples that keep their recorded verdicts, where the run was scored again; a notice explains each."""
    journal: str = field(default="", metadata={SPARSE: True})
    """The last checksum of its journal, which stands for all of it; "" where there is none."""

    @property
    def is_control(self) -> bool:
        """Whether its agent is told what full marks ask for, or cheats: it is never ranked."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.control

    @property
    def is_cheat(self) -> bool:
        """Whether its agent is a control that looks for points without remembering."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.cheat

    @property
    def is_yardstick(self) -> bool:
        """Whether its agent is one of this package, ranked only among such."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.yardstick

    @property
    def name(self) -> ConversationName:
        """Which conversation it is."""
        return ConversationName(self.agent, self.span_label, self.trial)

    @property
    def notes(self) -> tuple[str, ...]:
        """Its notices, before them that it did not reach its end, where none of them says so."""
        if self.ended == "complete" or self.gone:
            return self.notices
        return (f"the conversation did not reach its end: {self.ended}", *self.notices)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRate:
    """How many answers of one kind, with known grades, a judge misjudged."""

    kind: str
    asked: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Precheck:
    """What an agent or the judge was asked beside the examples, the outcome, and what it cost."""

    kind: Literal["probe", "canaries", "checks"]
    of: str
    """The agent's label; the judge, with the versions of its prompts."""
    verdict: Literal["clean", "leaks", "skipped", "right", "wrong", "unfinished"]
    """Of the probe: clean, leaks or skipped; of the judge: right or wrong. Unfinished: it was cut off."""
    why: str = ""
    """A sentence on what was found, or on why nobody was asked."""
    calls: int = 0
    """Messages to the agent, questions to the judge: those that were really sent."""
    tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the tokens or dollars were not reported: they are estimates."""
    rates: tuple[CheckRate, ...] = field(default=(), metadata={SPARSE: True})
    """The outcomes of hidden checks, by their kinds."""


class CallDurations(Struct, frozen=True, kw_only=True):
    """How long calls took."""

    total: float
    median: float | None = None
    p95: float | None = None
    """What 95 % of them took at most."""


class Pace(Struct, frozen=True, kw_only=True):
    """How long one agent took at one memory span: times on the wall, so they stand in no conversation's result."""

    agent: str
    span_label: str
    asking: CallDurations | None = None
    """Its replies; None where they were not timed."""
    storing: CallDurations | None = None
    """What it was only told."""
    settling: CallDurations | None = None
    """Until what it was told could be found."""


# The label of the only memory span that a data set has, which is also `SPAN` where
# unused plugins may look.
WHOLE = "all"


# The label of examples that have a conversation each, and so no memory span.
ISOLATED = "isolated"


def span_place(label: str) -> str:
    """Return a memory span as sentences have it: `at 32k`, `isolated`; where there is one span, nothing."""
    return {WHOLE: "", ISOLATED: ISOLATED}.get(label, f"at {label}")


def at_span(agent: str, label: str) -> str:
    """Return an agent and its memory span as sentences have them: `full at 32k`, `full (isolated)`, `full`."""
    if label == ISOLATED:
        return f"{agent} ({ISOLATED})"
    return f"{agent} {span_place(label)}".strip()


# How the first notice of such a run begins.
IMPORTED = "published results, imported"


class RunResult(Struct, frozen=True, kw_only=True):
    """All conversations of one pytest session."""

    run_id: str
    conversations: tuple[ConversationResult, ...]
    folder: str = ""
    """The run folder, as a person would type it; "" where nothing is written."""
    notices: tuple[str, ...] = ()
    """About the run as a whole."""
    prechecks: tuple[Precheck, ...] = ()
    paces: tuple[Pace, ...] = ()
    """By agent and span, where anything was timed."""
    suite: str = ""
    """The name of its suite, with the version; "" where that says nothing of what was played."""
    trust: str = ""
    """A sentence on what its scores rest on: where agents ran, whether texts were public, how the judge was checked."""

    @property
    def is_imported(self) -> bool:
        """Whether it was published elsewhere: of what was said only a part is there."""
        return any(notice.startswith(IMPORTED) for notice in self.notices)

    @property
    def scenarios(self) -> tuple[ScenarioResult, ...]:
        """Every example of every conversation."""
        rows = (conversation.scenarios for conversation in self.conversations)
        return tuple(chain.from_iterable(rows))


def ended_early(reason: str) -> str:
    """Return the notice of a conversation that was given up."""
    return f"the conversation ended early: {reason}"


def lost_examples(count: int, of: int) -> str:
    """Return the sentence that says how many of the examples say nothing about memory."""
    were = "was" if count == 1 else "were"
    return f"{count} of {of} example{'s' if of != 1 else ''} {were} lost through agent, judge, user or budget"


# The share of the examples that ask a judge which it may leave without a grade.
UNGRADED = 0.05


def misjudged_checks(run: RunResult) -> str:
    """Return what the judge misjudged of answers with known grades, if that is too much; else ""."""
    for precheck in run.prechecks:
        if (precheck.kind, precheck.verdict) == ("checks", "wrong"):
            return precheck.why
    return ""


def why_unmeasured(run: RunResult) -> str:
    """Return why a run says too little about memory; "" if it says enough."""
    if misjudged := misjudged_checks(run):
        return misjudged
    rows = run.scenarios
    lost = sum(row.infrastructure for row in rows)
    if lost:
        reasons = {row.reason if row.cause == "not reached" else "" for row in rows}
        # One reason for all of them, such as a budget that was spent at the start, says
        # more than their number.
        [reason] = reasons if len(reasons) == 1 else [""]  # nothing was played at all
        return reason or f"{lost_examples(lost, len(rows))}, not through memory"
    judged_rows = [row for row in rows if row.judge_calls]
    ungraded = sum(row.cause == "ungraded" for row in judged_rows)
    if ungraded > UNGRADED * len(judged_rows):
        return (
            f"the judge gave no grade for {ungraded} of {len(judged_rows)} examples "
            f"that asked it, more than {UNGRADED:.0%}"
        )
    if any(row.scored for row in rows):
        return ""
    return "nothing has a score"


def write_results(path: Path, conversation: ConversationResult) -> None:
    """Write a conversation's `results.json`: the same bytes for equal results on every platform."""
    text = json_text({"format": FORMAT, **to_record(conversation)})
    write_whole(path, text.encode())


class _Format(Struct):
    format: str = ""


# What a number may be that is larger than any figure: as many digits before its point,
# or an exponent. One search for each sign that may stand before it, because a search
# for a fixed sign is ten times as fast.
_UNBOUNDED = tuple(
    re.compile(sign + rb"\s*-?(?:\d{18}|[\d.]+[eE]\+?\d)")
    for sign in (b":", rb"\[", b",")
)


def read_results(path: Path) -> ConversationResult:
    """Return what `write_results` wrote; LtmError says what is wrong with the file and where."""
    try:
        data = read_regular(path)
        if not any(pattern.search(data) for pattern in _UNBOUNDED):
            # straight to the result, at a fraction of time and memory
            with suppress(ValueError, RecursionError):
                if msgspec.json.decode(data, type=_Format).format == FORMAT:
                    return msgspec.json.decode(data, type=ConversationResult)
        record = bounded(parse_record(data.decode()))
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise LtmError(f"{path}: not a results file: {error}") from error
    result = record.get("format") if isinstance(record, dict) else None
    if result != FORMAT:
        raise LtmError(
            f"{path}: not a results file of this version: format {result!r}, expected {FORMAT!r}"
        )
    return from_record(ConversationResult, record, str(path))


PASSED = 0
FAILED = 1
UNMEASURABLE = 75
# The exit statuses of a session that finished.
DECIDED = frozenset({PASSED, FAILED})
"""Exit statuses; 75 is EX_TEMPFAIL: try again."""
