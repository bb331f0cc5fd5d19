"""Checks that results follow from a journal, and that scoring it again gives the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_ltm.api.engine import CreditedQuestion, question_result
from pytest_ltm.api.journal import (
    RESULTS,
    ConversationRecord,
    ConversationResult,
    QuestionResult,
    ScenarioResult,
    events,
    outcome_of,
    read_results,
)
from pytest_ltm.api.scenarios import Plan
from pytest_ltm.api.storage import LtmError, show_value, to_record
from pytest_ltm.reports.discrepancies import Discrepancy

_VERDICT_FIELDS = ("score", "upper", "reason", "rule", "evidence")
_QUESTION_FIELDS = ("text", "answer", "gap", "needles", "retrieved")


def result_differences(
    result: ConversationResult, record: ConversationRecord, plan: Plan
) -> Iterator[str]:
    """Yield the ways in which a conversation's results contradict its journal and plan."""
    yield from _total_differences(result, record)
    rows = {row.id: row for row in result.scenarios}
    planned = {example.key for example in plan.examples}
    if result.ended != "interrupted":
        for key in sorted(planned - rows.keys()):
            yield f"{key} was planned, and has no result"
    for key in sorted(rows.keys() - planned):
        yield f"{key} has a result, and was not planned"
    if len(rows) < len(result.scenarios):
        yield "an example has two results"
    for example in plan.examples:
        row = rows.get(example.key)
        if row is None:
            continue
        for text in _row_differences(row, record):
            yield f"{example.key}: {text}"
        if row.threshold != example.threshold:
            yield (
                f"{example.key}: its threshold is {row.threshold:g}, and that of the plan is "
                f"{example.threshold:g}"
            )


def _total_differences(
    result: ConversationResult, record: ConversationRecord
) -> Iterator[str]:
    transcript = record.transcript
    recorded: dict[str, object] = {}
    for name in ("plan_fingerprint", "agent_fingerprint"):
        recorded[name] = getattr(record.header, name, None)
    # An interruption may come after a reply is recorded and before it is counted, and a
    # resumed run recounts. Whether there was one is taken from the journal.
    if result.ended != "interrupted" or record.reason == "complete":
        recorded["tokens"] = transcript.position
        recorded["exchanges"] = len(transcript)
        recorded["reply_tokens"] = sum(
            exchange.reply_tokens for exchange in transcript if not exchange.told
        )
    for name, value in recorded.items():
        if getattr(result, name) != value:
            yield f"{name} is {getattr(result, name)!r}, and the journal says {value!r}"
    if result.ended == "complete" and record.reason != "complete":
        yield f"it is marked complete, but the journal ends with {record.reason!r}"


def _row_differences(row: ScenarioResult, record: ConversationRecord) -> Iterator[str]:
    verdict = record.example(row.id).verdict
    if verdict is not None:
        yield from _verdict_differences(row, verdict)
    # Scores given after an interruption are not recorded; scoring again shows them.
    elif row.score is not None and record.reason != "interrupted":
        yield "it has a score, and the journal has no verdict"
    if row.score is not None and not row.is_open:
        outcome = outcome_of(row.score, row.threshold)
        if row.outcome != outcome:
            yield f"it is {row.outcome} with a score of {row.score:g} and a threshold of {row.threshold:g}"
    for question in row.questions:
        yield from _question_differences(question, record)


def _verdict_differences(
    row: ScenarioResult, verdict: events.VerdictRecorded
) -> Iterator[str]:
    values: dict[str, object] = {name: getattr(row, name) for name in _VERDICT_FIELDS}
    checks = []
    for check in row.checks:
        checks.append((check.label, None if check.open else check.ok))
    values["checks"] = tuple(checks)
    for name, value in values.items():
        recorded = getattr(verdict, name)
        if value != recorded:
            yield f"its {name} is {show_value(value)}, and the journal says {show_value(recorded)}"


def _question_differences(
    question: QuestionResult, record: ConversationRecord
) -> Iterator[str]:
    needles = tuple(needle.number for needle in question.needles)
    credited = CreditedQuestion(question.number, needles)
    try:
        played = question_result(credited, record.transcript)
    except KeyError:
        yield f"question {question.number} is not in the journal"
        return
    if played == question:
        return
    for name in _QUESTION_FIELDS:
        if getattr(played, name) != getattr(question, name):
            yield f"question {question.number}: its {name} is not the one in the journal"


# --- Comparison with scoring the run again.

_SCORE_FIELDS = frozenset(("outcome", "score", "upper"))
# What scoring again may change, and the rows, which are compared one by one.
_UNCOMPARED = frozenset(("scenarios", "notices", "kept", "agent_spec"))


def compare_results(
    recorded: Path, rescored: Path, *, same_version: bool
) -> Iterator[Discrepancy]:
    """Yield the differences between the results in a run's folder and in that of its re-scoring.

    If another version recorded the run, scores must agree, but reasons and fingerprints may change.
    """
    for path in sorted(rescored.glob(f"*/{RESULTS}")):
        name = path.parent.name
        try:
            recorded_result = read_results(recorded / name / RESULTS)
            rescored_result = read_results(path)
        except LtmError:
            continue  # a missing file is reported by the check of the folder
        for text in _rescored_differences(
            recorded_result, rescored_result, same_version=same_version
        ):
            yield Discrepancy(f"{name}/{RESULTS}", text)


def _rescored_differences(
    recorded: ConversationResult, rescored: ConversationResult, *, same_version: bool
) -> Iterator[str]:
    recorded_rows = {row.id: row for row in recorded.scenarios}
    for row in rescored.scenarios:
        recorded_row = recorded_rows.pop(row.id, None)
        if recorded_row is None:
            continue
        for name, text in _field_differences(recorded_row, row):
            is_compared = name in _SCORE_FIELDS or (same_version and name != "nodeid")
            if is_compared:
                yield f"{row.id}: its {text}"
    is_whole = not recorded_rows and recorded.ended != "interrupted"
    if same_version and is_whole and rescored.kept == recorded.kept:
        for name, text in _field_differences(recorded, rescored):
            if name not in _UNCOMPARED:
                yield text


def _field_differences(
    recorded: ScenarioResult | ConversationResult,
    rescored: ScenarioResult | ConversationResult,
) -> Iterator[tuple[str, str]]:
    """Yield the name of each field that differs, with a sentence about it."""
    recorded_fields = to_record(recorded)
    rescored_fields = to_record(rescored)
    for name in sorted({*recorded_fields, *rescored_fields}):
        before = recorded_fields.get(name)
        after = rescored_fields.get(name)
        if before != after:
            text = f"{name} was {show_value(before)} and is {show_value(after)} scored again"
            yield name, text
