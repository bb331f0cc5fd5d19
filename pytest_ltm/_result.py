"""ScenarioResult, ConversationResult, RunResult: all that a report may show; and `results.json`."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_ltm._disk import write_whole
from pytest_ltm._errors import LtmError
from pytest_ltm._records import from_record, json_text, to_record
from pytest_ltm._score import Check  # noqa: TC001 - reading records needs the types of fields

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "pytest-ltm results 1"
"""The first field of every `results.json`."""

Outcome: TypeAlias = Literal["passed", "failed", "error", "skipped"]

Cause: TypeAlias = Literal["", "unscored", "requires", "not reached", "agent", "judge", "scenario", "internal"]
"""Why there is no score: nobody could tell; a power or room is missing; the agent or budget was gone before
its end; or whose fault it was. "" where there is a score, and where the scenario skipped itself."""

Ended: TypeAlias = Literal["complete", "agent gone", "budget spent", "interrupted"]
ENDED_EARLY = "the conversation ended early: "
"""Before the reason, in the notices of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleRef:
    """Something said that the answer to a question depends on."""

    number: int
    """Of its exchange in the conversation."""
    text: str
    gap: int
    """Tokens from the end of the needle's message to the start of the question's."""
    seconds_passed: float
    """Of the conversation's time, from the needle to the question."""


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


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure beside the score, such as an answer's F1: it is shown and averaged, and earns nothing."""

    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """The verdict that the rules gave before a person amended it."""

    score: float | None
    reason: str
    outcome: Outcome


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
    """0 to 1; None where there is none, which is not a zero."""
    reason: str
    """One sentence: why this score, or why there is none."""
    cause: Cause = ""
    checks: tuple[Check, ...] = ()
    rule: str = ""
    """Name and version of the rule that decided."""
    evidence: str = ""
    """The part of an answer that decided."""
    pass_mark: float = 1.0
    """The lowest score that passes."""
    pass_k: int | None = None
    """So many trials must reach the pass mark; None: no number was asked for."""
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
    """Of its own exchanges; None where the agent does not tell."""
    judge_calls: int = 0
    """What it asked the judge, votes and remembered replies among them."""
    judge_tokens: int = 0
    """Of those, as the judge's provider counts them, where it tells."""
    judge_cost_usd: float | None = None
    """What those cost when they were made, be it in this run or in an earlier one; None where nobody tells."""
    questions: tuple[QuestionResult, ...] = ()
    measures: tuple[Measure, ...] = ()
    """Figures beside the score, in the order in which the scenario noted them."""
    automatic: Automatic | None = None
    """What the rules said, where a person has amended the verdict; None: nobody has."""

    def __post_init__(self) -> None:
        if self.scored != (self.outcome in ("passed", "failed")):
            raise ValueError(f"outcome {self.outcome!r} cannot have score {self.score!r}")
        if self.score is not None and not (math.isfinite(self.score) and 0 <= self.score <= 1):
            raise ValueError(f"a score lies between 0 and 1, not {self.score!r}")

    @property
    def scored(self) -> bool:
        """Whether it counts in any mean."""
        return self.score is not None

    @property
    def infrastructure(self) -> bool:
        """Whether agent, judge or budget took the score away: such a run cannot be measured."""
        return self.cause in ("agent", "judge", "not reached")

    @property
    def id(self) -> str:
        """`colours/0`: what its exchanges are signed with."""
        return f"{self.scenario}/{self.example}"


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
    """One for each example that was to be played, reached or not, in the order of the plan."""
    tokens: int = 0
    """Of all its exchanges, by the plan's tokenizer."""
    filler_tokens: int = 0
    reply_tokens: int = 0
    """Of the replies that the agent generated: told filler is not among them."""
    exchanges: int = 0
    simulated_seconds: float = 0.0
    """Of the conversation's own time, from its first message to its end."""
    cost_usd: float | None = None
    """Of all replies of the agent; None where nobody knows. The judge is not in it."""
    filler_cost_usd: float | None = None
    """Of those, to filler and to the history of a data set."""
    harness_cost_usd: float | None = None
    """Of those, to the opening message and to messages that end a scenario."""
    hypothetical: bool = False
    """The dollars are what it would cost: nothing is spent."""
    input_tokens: int | None = None
    """As the agent's provider counts them, all that is sent again included; None where the agent does not tell."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the input tokens, those that came from the provider's cache."""
    notices: tuple[str, ...] = ()
    """What a reader should know: overruns, a torn line, a resume; a sentence each."""
    ended: Ended = "complete"

    @property
    def notes(self) -> tuple[str, ...]:
        """Its notices, before them that it did not reach its end, where none of them says so."""
        if self.ended == "complete" or any(notice.startswith(ENDED_EARLY) for notice in self.notices):
            return self.notices
        return (f"the conversation did not reach its end: {self.ended}", *self.notices)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """All conversations of one pytest session."""

    run_id: str
    conversations: tuple[ConversationResult, ...]
    folder: str = ""
    """The run folder, as a person would type it; "" where nothing is written."""
    notices: tuple[str, ...] = ()
    """About the run as a whole."""

    @property
    def scenarios(self) -> tuple[ScenarioResult, ...]:
        """Every example of every conversation."""
        return tuple(row for conversation in self.conversations for row in conversation.scenarios)


def lost_examples(lost: int, of: int) -> str:
    """Return the sentence that says how many of the examples say nothing about memory."""
    return (
        f"{lost} of {of} example{'s' * (of != 1)} {'was' if lost == 1 else 'were'} lost through agent, judge or budget"
    )


Result: TypeAlias = ScenarioResult | ConversationResult | RunResult


def to_json(result: Result) -> dict[str, Any]:
    """Return the result as JSON values."""
    record: dict[str, Any] = to_record(result)
    return record


def scenario_from_json(record: object, where: str = "scenario") -> ScenarioResult:
    """Return the result of one example; LtmError names the field that is missing or ill-typed."""
    return from_record(ScenarioResult, record, where)


def conversation_from_json(record: object, where: str = "conversation") -> ConversationResult:
    """Return the result of one conversation; LtmError names the field that is missing or ill-typed."""
    return from_record(ConversationResult, record, where)


def run_from_json(record: object, where: str = "run") -> RunResult:
    """Return the result of a run; LtmError names the field that is missing or ill-typed."""
    return from_record(RunResult, record, where)


def write_results(path: Path, conversation: ConversationResult) -> None:
    """Write a conversation's `results.json`: the same bytes for equal results on every platform."""
    text = json_text({"format": FORMAT, **to_json(conversation)})
    write_whole(path, text.encode())


def read_results(path: Path) -> ConversationResult:
    """Return what `write_results` wrote; LtmError says what is wrong with the file and where."""
    try:
        record = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise LtmError(f"{path}: not a results file: {error}") from error
    found = record.get("format") if isinstance(record, dict) else None
    if found != FORMAT:
        raise LtmError(f"{path}: not a results file of this version: format {found!r}, expected {FORMAT!r}")
    return conversation_from_json(record, str(path))
