"""ScenarioResult, ConversationResult, RunResult: everything that a report may show; and `results.json`."""

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
# budget was gone before its end; or whose fault it was. "" if there is a score, or if
# the scenario skipped itself.
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
    """Return whether a score passes, with a tolerance: 2/3 + 1/3 must reach a mark of 1.0 despite rounding."""
    return "passed" if score >= threshold - 1e-9 else "failed"


Ended: TypeAlias = Literal["complete", "agent gone", "budget spent", "interrupted"]


class ConversationName(Struct, frozen=True):
    """The name of a conversation in a run, in labels of letters, digits, `_` and `.`; `bot-32k-0` in node ids."""

    agent: str
    span: str
    """As in the node id: `32k`, `isolated`."""
    trial: str
    """`<trial>`, or `<trial>.<thread>` where a trial has several conversations."""
    variant: str = ""
    """The scenario, if isolated variants of one test have a conversation each; part of the folder's name only."""

    def __str__(self) -> str:
        return f"{self.agent}-{self.span}-{self.trial}"

    @property
    def folder(self) -> str:
        """The name of its folder: `bot~32k~0`."""
        return f"{self.agent}~{self.place}"

    @property
    def place(self) -> str:
        """Its folder's name without the agent, shared with other agents' conversations of the same plan."""
        return "~".join(filter(None, (self.span, self.trial, self.variant)))

    @property
    def whole(self) -> Self:
        """The name without its variant."""
        return structs.replace(self, variant="")

    @property
    def planned_name(self) -> Self:
        """The name by the run's settings, which have no threads: agent, span and trial."""
        return structs.replace(self, trial=self.trial.partition(".")[0], variant="")

    @classmethod
    def of_folder(cls, name: str) -> Self | None:
        """Return the conversation of a folder by the folder's name; None if it is not a conversation's."""
        labels = name.split("~")
        return cls(*labels) if len(labels) in (3, 4) else None

    @classmethod
    def of_labels(cls, labels: str) -> Self | None:
        """Parse the parameters of a node id, such as `bot-32k-0-1`; None for those of an ordinary test."""
        parts = labels.split("-")
        return cls(*parts[:3]) if len(parts) >= 3 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleRef:
    """A message that the answer to a question depends on."""

    number: int
    """The number of its exchange in the conversation."""
    text: str
    gap: int
    """Tokens from the end of the needle's message to the start of the question's."""
    told_gap: int
    """The part of the gap that was told: everything except the agent's own replies."""
    seconds_passed: float
    """The conversation's time between the needle and the question."""
    rank: int | None = field(default=None, metadata={SPARSE: True})
    """Its rank, from 1, among the texts retrieved for the question; 0: not retrieved; None: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """One question asked for credit."""

    number: int
    """The number of its exchange in the conversation."""
    text: str
    answer: str
    gap: int | None = None
    """The smallest gap of its needles, in tokens; None without needles."""
    needles: tuple[NeedleRef, ...] = ()
    retrieved: tuple[str, ...] | None = field(default=None, metadata={SPARSE: True})
    """The texts that the agent retrieved for its answer, best first; None if it does not report them."""


class ExampleMetric(Struct, frozen=True):
    """A figure in addition to the score, such as an answer's F1: shown and averaged, but without credit."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """The verdict by the rules, before a reviewer amended it."""

    score: float | None
    reason: str
    outcome: Outcome
    upper: float | None = field(default=None, metadata={SPARSE: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """The result of one example of a scenario: one pytest item."""

    scenario: str
    example: str
    agent: str
    """The agent's label."""
    span_label: str
    """As in the node id: `32k`, `isolated`."""
    span: int | None
    """The memory span in tokens; None if examples are isolated."""
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
    """The score that an agent without memory may reach."""
    skills: tuple[str, ...] = ()
    gap: int | None = None
    """The smallest needle gap of the last question, in tokens."""
    measured_span: int | None = None
    """Tokens from the example's start to the start of its last question."""
    overrun: bool = False
    """It took more tokens than its memory span."""
    tokens: int = 0
    """Tokens of its own exchanges."""
    cost_usd: float | None = None
    """Cost of its own exchanges; None if the agent does not report it."""
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the cost was not reported and is an estimate."""
    judge_calls: int = 0
    """Calls of the judge, including votes and cached replies."""
    judge_tokens: int = 0
    """Tokens of those calls, as counted by the judge's provider, if reported."""
    judge_cost_usd: float | None = None
    """Cost of those calls when they were made, in this run or an earlier one; None if not reported."""
    judge_estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the judge's tokens were not reported and are estimates."""
    user_calls: int = field(default=0, metadata={SPARSE: True})
    """The number of messages requested from simulated users' models."""
    user_tokens: int = field(default=0, metadata={SPARSE: True})
    """Tokens of those calls, as counted by their providers, if reported."""
    user_cost_usd: float | None = field(default=None, metadata={SPARSE: True})
    """Cost of those calls when they were made; None if unknown."""
    user_estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of those tokens were not reported and are estimates."""
    questions: tuple[QuestionResult, ...] = ()
    metrics: tuple[ExampleMetric, ...] = ()
    """Figures in addition to the score, in the order in which the scenario noted them."""
    memory: MemoryResult | None = field(default=None, metadata={SPARSE: True})
    """How the agent's memory handled the facts; None if it is not reported."""
    automatic: Automatic | None = None
    """The verdict by the rules, if a reviewer has amended it; None: not amended."""

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
        """The part of the gap that was told: everything except the agent's own replies."""
        needles = self.questions[-1].needles if self.questions else ()
        if needles:
            return min(needles, key=lambda needle: needle.gap).told_gap
        return None

    @property
    def infrastructure(self) -> bool:
        """Whether agent, evaluator, judge, user or budget cost the score: such a run cannot be measured."""
        return self.cause in ("agent", "evaluator", "judge", "user", "not reached")

    @property
    def upper_end(self) -> float:
        """The score if all open parts passed."""
        if self.is_lost:
            return 1.0
        if self.upper is None:
            return self.score or 0.0
        return self.upper

    @property
    def is_open(self) -> bool:
        """Whether it may deserve more than its score, or anything from 0 to 1 without one."""
        return self.is_lost or self.upper is not None

    @property
    def is_lost(self) -> bool:
        """Whether it should have a score and has none, so that the score may be 0 or 1."""
        deliberate = (
            not self.cause
            or self.reason == NO_ORACLE
            or (self.cause == "requires" and not self.tokens)
        )
        return self.score is None and not deliberate

    @property
    def published_grade(self) -> float | None:
        """The grade that others published, if it was imported."""
        return next(
            (metric.value for metric in self.metrics if metric.name == PUBLISHED_GRADE),
            None,
        )

    @property
    def is_contested(self) -> bool:
        """Whether the rules contradict the published grade."""
        grade = self.published_grade
        return (
            grade is not None
            and self.upper is None
            and self.outcome != ("passed" if grade >= HALF else "failed")
        )

    def settle_score(self, end: Literal[0, 1]) -> Self:
        """Return the result with the lower or upper end of its possible range as its score."""
        if not self.is_open:
            return self
        score = self.upper_end if end else self.score or 0.0
        return replace(
            self, score=score, upper=None, outcome=outcome_of(score, self.threshold)
        )

    @property
    def verdict(self) -> Automatic:
        """Score, reason and outcome, for a reviewer to amend."""
        return Automatic(
            score=self.score, reason=self.reason, outcome=self.outcome, upper=self.upper
        )

    @property
    def acted(self) -> float | None:
        """The share of passed checks of the agent's actions; None without any."""
        passed = [check.ok for check in self.checks if check.acted]
        return sum(passed) / len(passed) if passed else None

    @property
    def conversation(self) -> ConversationName:
        """The conversation in which it was played."""
        return ConversationName(self.agent, self.span_label, self.trial)

    @property
    def id(self) -> str:
        """`colours/0`: the sender name of its exchanges."""
        return f"{self.scenario}/{self.example}"


class KeptVerdict(Struct, frozen=True, kw_only=True):
    """An example that keeps its recorded verdict on rescoring, because its script has changed."""

    example: str
    why: str

    @property
    def notice_text(self) -> str:
        """The notice for readers."""
        return f"{self.example} keeps its recorded verdict, because its script has changed: {self.why}"


# The figure of an imported answer with the grade that others gave it; HALF or more is a
# pass.
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
    """Tokens of all its exchanges, by the plan's tokenizer."""
    filler_tokens: int = 0
    reply_tokens: int = 0
    """Tokens of the replies that the agent generated, without told filler."""
    exchanges: int = 0
    simulated_seconds: float = 0.0
    """The conversation's own time, from its first message to its end."""
    cost_usd: float | None = None
    """Cost of all replies of the agent, without the judge; None if unknown."""
    filler_cost_usd: float | None = None
    """The part for filler and the history of a data set."""
    harness_cost_usd: float | None = None
    """The part for the opening message and reset messages."""
    count: Count = "capped"
    """How much of the replies counted towards spans."""
    hypothetical: bool = False
    """The dollars are hypothetical: nothing is spent."""
    input_tokens: int | None = None
    """As counted by the agent's provider, including everything sent repeatedly; None if not reported."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """The part of the input tokens that came from the provider's cache."""
    metered: int = field(default=0, metadata={SPARSE: True})
    """The number of replies whose usage is known."""
    calls: int = field(default=0, metadata={SPARSE: True})
    """Requests to models for those, as reported by the agent."""
    told: int = field(default=0, metadata={SPARSE: True})
    """The number of exchanges that the agent was only told, if it reports the usage of at least one."""
    told_calls: int = field(default=0, metadata={SPARSE: True})
    """Requests to models for those."""
    told_input_tokens: int = field(default=0, metadata={SPARSE: True})
    """The part of the input tokens for told exchanges."""
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the tokens and dollars were not reported and are estimates."""
    lost_tokens: int = field(default=0, metadata={SPARSE: True})
    """Usage of failed attempts, and of telling a restored agent again; not included in other figures."""
    lost_cost_usd: float | None = field(default=None, metadata={SPARSE: True})
    asked_together: int = field(default=0, metadata={SPARSE: True})
    """Questions meant to be asked alone that were asked after others, because the agent could not be restored."""
    mishaps: tuple[Mishap, ...] = field(default=(), metadata={SPARSE: True})
    """Problems within the agent that did not become faults: truncated replies, unreadable notebooks."""
    accounts: tuple[tuple[Account, int], ...] = field(
        default=(), metadata={SPARSE: True}
    )
    """The numbers of replies that were whole, cut, kept back ...; empty if all were whole."""
    notices: tuple[str, ...] = ()
    """Notices for the reader: overruns, a torn line, a resume; a sentence each."""
    ended: Ended = "complete"
    gone: str = field(default="", metadata={SPARSE: True})
    """Why nothing more was sent, as in one of the notices (see `ended_early`); "" if it was not given up."""
    kept: tuple[KeptVerdict, ...] = field(default=(), metadata={SPARSE: True})
    """The examples that keep their recorded verdicts on rescoring; a notice explains each."""
    journal: str = field(default="", metadata={SPARSE: True})
    """The last checksum of its journal, which identifies all of it; "" without a journal."""

    @property
    def is_control(self) -> bool:
        """Whether its agent is given the expected answers, or cheats: it is never ranked."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.control

    @property
    def is_cheat(self) -> bool:
        """Whether its agent is a control that seeks points without remembering."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.cheat

    @property
    def is_yardstick(self) -> bool:
        """Whether its agent belongs to this package and is ranked only among those."""
        kind = find_agent_kind(self.agent_spec)
        return kind is not None and kind.yardstick

    @property
    def name(self) -> ConversationName:
        """The name of the conversation."""
        return ConversationName(self.agent, self.span_label, self.trial)

    @property
    def notes(self) -> tuple[str, ...]:
        """Its notices, preceded by one about an incomplete end if none of them mentions it."""
        if self.ended == "complete" or self.gone:
            return self.notices
        return (f"the conversation did not reach its end: {self.ended}", *self.notices)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRate:
    """The number of a judge's mistakes about one kind of answers with known grades."""

    kind: str
    asked: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Precheck:
    """The outcome and cost of a check of an agent or the judge before the examples."""

    kind: Literal["probe", "canaries", "checks"]
    of: str
    """The agent's label; or the judge, with the versions of its prompts."""
    verdict: Literal["clean", "leaks", "skipped", "right", "wrong", "unfinished"]
    """For the probe: clean, leaks or skipped; for the judge: right or wrong. Unfinished: it was interrupted."""
    why: str = ""
    """A sentence on the finding, or on why nothing was asked."""
    calls: int = 0
    """Messages to the agent or questions to the judge that were actually sent."""
    tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = field(default=False, metadata={SPARSE: True})
    """Some of the tokens or dollars were not reported and are estimates."""
    rates: tuple[CheckRate, ...] = field(default=(), metadata={SPARSE: True})
    """The outcomes of hidden checks, by kind."""


class CallDurations(Struct, frozen=True, kw_only=True):
    """The durations of calls, in seconds."""

    total: float
    median: float | None = None
    p95: float | None = None
    """The 95th percentile."""


class Pace(Struct, frozen=True, kw_only=True):
    """How long one agent took at one memory span: wall times, so they are not part of a conversation's result."""

    agent: str
    span_label: str
    asking: CallDurations | None = None
    """Its replies; None if they were not timed."""
    storing: CallDurations | None = None
    """Exchanges that it was only told."""
    settling: CallDurations | None = None
    """Until told exchanges could be found."""


# The label of a data set's only memory span; also `SPAN` in a module that unused
# plugins may import.
WHOLE = "all"


# The label of examples that have a conversation each, and so no memory span.
ISOLATED = "isolated"


def span_place(label: str) -> str:
    """Return a memory span for a sentence: `at 32k`, `isolated`; "" if there is only one span."""
    return {WHOLE: "", ISOLATED: ISOLATED}.get(label, f"at {label}")


def at_span(agent: str, label: str) -> str:
    """Return an agent and its memory span for a sentence: `full at 32k`, `full (isolated)`, `full`."""
    if label == ISOLATED:
        return f"{agent} ({ISOLATED})"
    return f"{agent} {span_place(label)}".strip()


# The beginning of the first notice of such a run.
IMPORTED = "published results, imported"


class RunResult(Struct, frozen=True, kw_only=True):
    """All conversations of one pytest session."""

    run_id: str
    conversations: tuple[ConversationResult, ...]
    folder: str = ""
    """The run folder, as a user would type it; "" if nothing is written."""
    notices: tuple[str, ...] = ()
    """Notices about the run as a whole."""
    prechecks: tuple[Precheck, ...] = ()
    paces: tuple[Pace, ...] = ()
    """By agent and span, if anything was timed."""
    suite: str = ""
    """The name and version of its suite; "" if the suite does not describe what was played."""
    trust: str = ""
    """A sentence on the basis of its scores: where agents ran, whether texts were public, how the judge was checked."""

    @property
    def is_imported(self) -> bool:
        """Whether it was published elsewhere, with only a part of its conversations."""
        return any(notice.startswith(IMPORTED) for notice in self.notices)

    @property
    def scenarios(self) -> tuple[ScenarioResult, ...]:
        """Every example of every conversation."""
        rows = (conversation.scenarios for conversation in self.conversations)
        return tuple(chain.from_iterable(rows))


def ended_early(reason: str) -> str:
    """Return the notice of a conversation that ended early."""
    return f"the conversation ended early: {reason}"


def lost_examples(count: int, of: int) -> str:
    """Return the sentence on the number of examples that do not measure memory."""
    noun = "example" if of == 1 else "examples"
    have = "has" if count == 1 else "have"
    return f"{count} of {of} {noun} {have} no score because agent, judge, user or budget failed"


# The share of judged examples that the judge may leave without a grade.
UNGRADED = 0.05


def misjudged_checks(run: RunResult) -> str:
    """Return the judge's mistakes about answers with known grades, if there are too many; else ""."""
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
        # One reason for all of them, such as a budget spent at the start, says more
        # than their number.
        [reason] = reasons if len(reasons) == 1 else [""]  # nothing was played at all
        return reason or f"{lost_examples(lost, len(rows))}, not memory"
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
    """Write a conversation's `results.json`, with the same bytes for equal results on every platform."""
    text = json_text({"format": FORMAT, **to_record(conversation)})
    write_whole(path, text.encode())


class _Format(Struct):
    format: str = ""


# A number that may exceed every valid figure: so many digits before the point, or an
# exponent. One search for each sign before it, because a search for a fixed sign is ten
# times as fast.
_UNBOUNDED = tuple(
    re.compile(sign + rb"\s*-?\d(?:\d{17}|[\d.]*[eE]\+?\d)")
    for sign in (b":", rb"\[", b",")
)


def read_results(path: Path) -> ConversationResult:
    """Read a file of `write_results`; LtmError with the problem and its place."""
    try:
        data = read_regular(path)
        if not any(pattern.search(data) for pattern in _UNBOUNDED):
            # Directly to the result, with a fraction of the time and memory.
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
