"""The recorded verdicts of a conversation."""

from __future__ import annotations

from pathlib import Path

from pytest_ltm.api.engine import classify_ending, ending_told
from pytest_ltm.api.journal import JOURNAL, ConversationName, ScenarioResult
from pytest_ltm.api.storage import LtmError
from pytest_ltm.records.playback import Playback, plan_of
from pytest_ltm.records.recorded_results import recorded_result


def recorded_rows(folder: Path) -> list[ScenarioResult]:
    """Return the verdicts of a conversation; without results, only those with a score, from its journal."""
    result = recorded_result(folder)
    if result is not None:
        return [row for row in result.scenarios if row.cause != "not reached"]
    name = ConversationName.of_folder(folder.name)
    try:
        playback = Playback.open_playback(folder / JOURNAL)
        planned = {}
        if playback is not None:
            for example in plan_of(playback.header).examples:
                planned[example.key] = example
    except LtmError:
        return []
    if playback is None or name is None or name.variant:
        return []
    rows = []
    for key, recorded in playback.record.examples.items():
        verdict = recorded.verdict
        planned_example = planned.get(key)
        if (
            planned_example is not None
            and verdict is not None
            and verdict.score is not None
            and 0 <= verdict.score <= 1
        ):
            outcome, cause, _ = classify_ending(
                ending_told(verdict), planned_example.threshold
            )
            row = ScenarioResult(
                scenario=planned_example.scenario,
                example=planned_example.example,
                agent=name.agent,
                span_label=name.span,
                span=None,
                trial=name.trial,
                nodeid="",
                score=float(verdict.score),
                upper=verdict.upper,
                reason=verdict.reason,
                threshold=planned_example.threshold,
                rule=verdict.rule,
                outcome=outcome,
                cause=cause,
            )
            rows.append(row)
    return rows
