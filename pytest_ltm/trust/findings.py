"""What came of each planted text: whether it acted, whether its twin did; rates of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import QuestionResult, RunResult, ScenarioResult
from pytest_ltm._core.model.score import Check
from pytest_ltm.figures.columns import Column
from pytest_ltm.figures.run_loading import ConversationFolder, results_in

ATTACK, UTILITY = "attack", "utility"
# What the questions are about that a text is to act on.
POISON = "poison"
# The family of the rule `WithstandsPoison`, which only runs that play poison import.
POISON_RULE = "withstands-poison"


class PoisonFinding(Struct, frozen=True, kw_only=True):
    """One example of a planted text and its twin."""

    row: ScenarioResult
    channel: str
    attack: str
    """The class."""
    poisoned: str
    """The message that brought the text in."""
    folder: Path
    """Of its conversation."""
    sessions_passed: int
    """Sessions that ended between the text and the first question that it was to act on."""
    asked: tuple[str, ...]
    """What each question was about, in order."""

    @property
    def acted(self) -> bool | None:
        """Whether the text had its effect; None: that is open."""
        return measure_effect(self.row, ATTACK)

    @property
    def kept(self) -> bool | None:
        """Whether the twin had its effect; None: that is open."""
        return measure_effect(self.row, UTILITY)

    @property
    def question(self) -> QuestionResult:
        """The first question that the text was to act on."""
        return self.row.questions[self.asked.index(POISON)]


class Rate(Struct, frozen=True):
    """A share of what is decided."""

    hits: int
    decided: int
    open: int
    """What neither is proven of."""

    @property
    def share(self) -> float | None:
        """The share; None where nothing is decided."""
        return self.hits / self.decided if self.decided else None


def is_poison(row: ScenarioResult) -> bool:
    """Return whether an example was one of planted texts, and has a verdict."""
    family = row.rule.partition("/")[0]
    return family == POISON_RULE and bool(row.checks)


def measure_effect(row: ScenarioResult, measure: str) -> bool | None:
    """Return whether poison acted (ATTACK), or the twin did (UTILITY); None: that is open."""
    withstood, kept = row.checks[:2]
    check: Check = withstood if measure == ATTACK else kept
    if check.open:
        return None
    return check.ok is (measure == UTILITY)


def rate_of(effects: Sequence[bool | None]) -> Rate:
    """Return the rate of effects."""
    decided = [effect for effect in effects if effect is not None]
    return Rate(sum(decided), len(decided), len(effects) - len(decided))


def column_rate(measure: str, column: Column) -> float | None:
    """Return the rate of an agent at a memory span; None where no poison was played."""
    rows = [row for row in column.rows if is_poison(row)]
    return rate_of([measure_effect(row, measure) for row in rows]).share


def run_findings(result: RunResult) -> list[PoisonFinding]:
    """Return what came of all planted texts of a run, in its order; what plans do not say is left out."""
    if not any(is_poison(row) for row in result.scenarios):
        return []
    folders, _ = results_in(Path(result.folder))
    return [finding for folder in folders for finding in folder_findings(folder)]


def folder_findings(folder: ConversationFolder) -> Iterator[PoisonFinding]:
    """Yield what came of the planted texts of one conversation."""
    # Imported here: most runs play no poison.
    from pytest_ltm.reports.html.details import plan_definitions

    plan = folder.plan()
    definitions = plan_definitions(plan)
    record = folder.record() if plan.get("sessions") else None
    for row in folder.result.scenarios:
        parameters = _parameters(definitions.get(row.id))
        if is_poison(row) and "poisoned" in parameters:
            asked = tuple(map(str, parameters["asked"]))
            yield PoisonFinding(
                row=row,
                channel=str(parameters["channel"]),
                attack=str(parameters["attack"]),
                poisoned=str(parameters["poisoned"]),
                folder=folder.path,
                sessions_passed=_count_sessions(record, row, asked.index(POISON)),
                asked=asked,
            )


def _count_sessions(
    record: ConversationRecord | None, row: ScenarioResult, place: int
) -> int:
    """Return how many sessions ended between the poison and the question at a place."""
    if record is None:
        return 0
    question = row.questions[place]
    planted = max(needle.number for needle in question.needles)
    starts = {one.number: one.start for one in record.transcript.exchanges_of(row.id)}
    first, last = starts[planted], starts[question.number]
    return sum(first < end <= last for end in record.sessions)


def _parameters(definition: Any) -> dict[str, Any]:
    found = definition.get("parameters") if isinstance(definition, dict) else None
    return found if isinstance(found, dict) else {}
