"""The verdicts that a recorded conversation came to, from its results or, where it died before them, its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import LtmError
from pytest_ltm._lane import Ending
from pytest_ltm._recording import JOURNAL, RESULTS
from pytest_ltm._rescore._record import Record
from pytest_ltm._result import ConversationResult, ScenarioResult, read_results
from pytest_ltm._score import Score, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any


def recorded_result(folder: Path) -> ConversationResult | None:
    """Return a conversation's results, None if there are none that can be read."""
    try:
        return read_results(folder / RESULTS)
    except LtmError:
        return None


def recorded_rows(folder: Path) -> list[ScenarioResult]:
    """Return the verdicts of a conversation; from its journal those with a score only, which says no more."""
    result = recorded_result(folder)
    if result is not None:
        return [row for row in result.scenarios if row.cause != "not reached"]
    labels = folder.name.split("~")
    try:
        record = Record.of(folder / JOURNAL)
        known = {} if record is None else {example.key: example for example in record.plan.examples}
    except LtmError:
        return []
    if record is None or len(labels) != _LABELS:
        return []
    agent, span, trial = labels
    rows = []
    for key, verdict in record.verdicts.items():
        score, example = verdict.get("score"), known.get(key)
        if example is not None and isinstance(score, (int, float)) and 0 <= score <= 1:
            row = ScenarioResult(
                scenario=example.scenario, example=example.example, agent=agent, span_label=span, span=None,
                trial=trial, nodeid="", score=float(score), reason=verdict["reason"],
                outcome="passed" if score >= example.pass_mark - 1e-9 else "failed", pass_mark=example.pass_mark,
                rule=str(verdict.get("rule") or ""),
            )  # fmt: skip
            rows.append(row)
    return rows


_LABELS = 3


def ending_of(row: ScenarioResult) -> Ending:
    """Return how an example ended, from its row."""
    if row.score is not None:
        return Ending(verdict=Score(row.score, row.reason, checks=row.checks, rule=row.rule, evidence=row.evidence))
    if row.cause == "requires" and not row.questions:
        return Ending(unplayable=row.reason)
    if row.cause == "not reached":
        return Ending(unreached=row.reason)
    if row.outcome == "error":
        return Ending(error=LtmError(row.reason))
    return Ending(verdict=Unscored(row.reason, cause="judge" if row.cause == "judge" else "unscored"))


def ending_told(verdict: Mapping[str, Any] | None) -> Ending:
    """Return how an example ended, from its event in the journal; without one it was not reached."""
    if verdict is None:
        return Ending(unreached="no verdict is recorded")
    score, reason = verdict.get("score"), str(verdict.get("reason"))
    if isinstance(score, (int, float)) and 0 <= score <= 1:
        return Ending(verdict=Score(float(score), reason, rule=str(verdict.get("rule") or "")))
    return Ending(verdict=Unscored(reason))
