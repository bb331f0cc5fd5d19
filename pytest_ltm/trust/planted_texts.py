"""The outcome of each planted text and its twin, and the rates of several."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.api.journal import (
    ConversationRecord,
    QuestionResult,
    RunResult,
    ScenarioResult,
)
from pytest_ltm.figures.run_loading import ConversationFolder, results_in
from pytest_ltm.trust.rates import ATTACK, UTILITY, is_poison, measure_effect

POISON = "poison"
"""The subject of a question that a planted text should influence."""


class PoisonFinding(Struct, frozen=True, kw_only=True):
    """One example of a planted text and its twin."""

    row: ScenarioResult
    channel: str
    attack: str
    """The class of attack."""
    poisoned: str
    """The message that contained the text."""
    folder: Path
    """The folder of its conversation."""
    sessions_passed: int
    """Sessions that ended between the text and the first question that it should influence."""
    asked: tuple[str, ...]
    """The subject of each question, in order."""

    @property
    def acted(self) -> bool | None:
        """Whether the text had its effect; None if that is open."""
        return measure_effect(self.row, ATTACK)

    @property
    def kept(self) -> bool | None:
        """Whether the twin had its effect; None if that is open."""
        return measure_effect(self.row, UTILITY)

    @property
    def question(self) -> QuestionResult:
        """The first question that the text should influence."""
        return self.row.questions[self.asked.index(POISON)]


def run_findings(result: RunResult) -> list[PoisonFinding]:
    """Return the findings on all planted texts of a run, in order.

    Texts missing from the plan are skipped.
    """
    if not any(map(is_poison, result.scenarios)):
        return []
    folders, _ = results_in(Path(result.folder))
    return list(chain.from_iterable(map(folder_findings, folders)))


def folder_findings(folder: ConversationFolder) -> Iterator[PoisonFinding]:
    """Yield the findings on the planted texts of one conversation."""
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
    """Return the number of sessions that ended between the poison and the question at `place`."""
    if record is None:
        return 0
    question = row.questions[place]
    planted = max(needle.number for needle in question.needles)
    starts = {}
    for exchange in record.transcript.exchanges_of(row.id):
        starts[exchange.number] = exchange.start
    first = starts[planted]
    last = starts[question.number]
    return sum(first < end <= last for end in record.sessions)


def _parameters(definition: Any) -> dict[str, Any]:
    if not isinstance(definition, dict):
        return {}
    parameters = definition.get("parameters")
    return parameters if isinstance(parameters, dict) else {}
