"""Checks that results follow from a journal and equal those of scoring it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
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

_OF_VERDICT = ("score", "upper", "reason", "rule", "evidence")
_OF_QUESTION = ("text", "answer", "gap", "needles", "retrieved")


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
    header = record.header
    transcript = record.transcript
    replied = [exchange for exchange in transcript if not exchange.told]
    recorded: dict[str, object] = {
        "plan_fingerprint": header and header.plan_fingerprint,
        "agent_fingerprint": header and header.agent_fingerprint,
    }
    # An interruption may come after a reply is recorded and before it is counted, and a
    # resumed run recounts. Whether there was one is taken from the journal.
    if result.ended != "interrupted" or record.reason == "complete":
        recorded["tokens"] = transcript.position
        recorded["exchanges"] = len(transcript)
        recorded["reply_tokens"] = sum(exchange.reply_tokens for exchange in replied)
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
    pairs: dict[str, tuple[object, object]] = {}
    for name in _OF_VERDICT:
        pairs[name] = (getattr(row, name), getattr(verdict, name))
    checks = []
    for check in row.checks:
        checks.append((check.label, None if check.open else check.ok))
    pairs["checks"] = (tuple(checks), verdict.checks)
    for name, (resulting, recorded) in pairs.items():
        if resulting != recorded:
            yield f"its {name} is {show_value(resulting)}, and the journal says {show_value(recorded)}"


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
    for name in _OF_QUESTION:
        if getattr(played, name) != getattr(question, name):
            yield f"question {question.number}: its {name} is not the one in the journal"


# --- Comparison with scoring the run again.


def compare_results(
    recorded: Path, made_again: Path, *, same_version: bool
) -> Iterator[Discrepancy]:
    """Yield the differences between a run's results and those of scoring it again in `made_again`.

    If the version differs from the recording one, scores must agree, but reasons and fingerprints may change.
    """
    for path in sorted(made_again.glob(f"*/{RESULTS}")):
        name = path.parent.name
        try:
            recorded_result = read_results(recorded / name / RESULTS)
            after = read_results(path)
        except LtmError:
            continue  # a missing file is reported by the check of the folder
        for text in _rescored_differences(
            recorded_result, after, same_version=same_version
        ):
            yield Discrepancy(f"{name}/{RESULTS}", text)


def _rescored_differences(
    recorded: ConversationResult, after: ConversationResult, *, same_version: bool
) -> Iterator[str]:
    names = None if same_version else ("outcome", "score", "upper")
    rows = {row.id: row for row in recorded.scenarios}
    for row in after.scenarios:
        recorded_row = rows.pop(row.id, None)
        if recorded_row is None:
            continue
        for text in _field_differences(recorded_row, row, names, without={"nodeid"}):
            yield f"{row.id}: its {text}"
    is_whole = not rows and recorded.ended != "interrupted"
    if same_version and is_whole and after.kept == recorded.kept:
        without = {"scenarios", "notices", "kept", "agent_spec"}
        yield from _field_differences(recorded, after, without=without)


def _field_differences(
    recorded: ScenarioResult | ConversationResult,
    after: ScenarioResult | ConversationResult,
    names: Iterable[str] | None = None,
    *,
    without: AbstractSet[str],
) -> Iterator[str]:
    """Yield the fields that differ: the given `names`, else all fields `without` some."""
    fields = to_record(recorded)
    fields_again = to_record(after)
    for name in names or sorted({*fields, *fields_again} - without):
        value = fields.get(name)
        value_again = fields_again.get(name)
        if value != value_again:
            yield f"{name} was {show_value(value)} and is {show_value(value_again)} scored again"
