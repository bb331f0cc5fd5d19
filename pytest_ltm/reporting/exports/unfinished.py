"""A conversation that has no results: its run was killed, or is going on. Plan and journal say how far it came."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_ltm._engine.lane import CreditedQuestion
from pytest_ltm._engine.resume import JOURNAL
from pytest_ltm._engine.scoring import classify_ending, question_result
from pytest_ltm._engine.verdict_changes import ending_told
from pytest_ltm._journal.fold import ConversationRecord
from pytest_ltm._journal.result import ConversationName, ConversationResult, ScenarioResult
from pytest_ltm._model.plan import Plan
from pytest_ltm._model.score import Check
from pytest_ltm._storage.errors import DefinitionError, LtmError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm._journal.result import QuestionResult
    from pytest_ltm._model.plan import PlannedExample


NOT_OVER = "the conversation has not come to its end"


def results_so_far(folder: Path) -> ConversationResult:
    """Return what is known of the examples of a conversation without results, verdicts that were given among it.

    LtmError if plan or journal cannot be read.
    """
    name = ConversationName.of_folder(folder.name)
    if name is None:
        raise LtmError(f"{folder}: its name is not that of a conversation")
    record, plan = ConversationRecord.of(folder / JOURNAL), _plan(folder / "plan.json")
    header = record.header
    return ConversationResult(
        agent=name.agent,
        agent_spec=header.agent.spec if header and header.agent else "",
        span_label=name.span,
        span=plan.span,
        trial=name.trial,
        plan_fingerprint=header.plan_fingerprint if header else "",
        agent_fingerprint=header.agent_fingerprint if header else "",
        scenarios=tuple(_example(example, name, plan.span, record) for example in plan.examples),
        tokens=record.position,
        exchanges=len(record.transcript),
        simulated_seconds=record.seconds,
        count=plan.count,
        notices=(NOT_OVER,),
        ended="interrupted",
    )


def _plan(path: Path) -> Plan:
    try:
        return Plan.from_json(json.loads(path.read_bytes()), where=str(path))
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    except (DefinitionError, ValueError, RecursionError) as error:
        raise LtmError(f"{path}: not a plan: {error}") from error


def _example(
    planned: PlannedExample, name: ConversationName, span: int | None, record: ConversationRecord
) -> ScenarioResult:
    said = record.example(planned.key).verdict
    questions = _questions(planned.key, record)
    own = record.transcript.of(planned.key)
    outcome, cause, _ = classify_ending(ending_told(said), planned.threshold)
    return ScenarioResult(
        scenario=planned.scenario,
        example=planned.example,
        agent=name.agent,
        span_label=name.span,
        span=planned.span or span,
        trial=name.trial,
        nodeid="",
        outcome=outcome,
        score=said.score if said else None,
        reason=said.reason if said else NOT_OVER,
        cause=cause,
        checks=tuple(Check(label, bool(ok), ok is None) for label, ok in said.checks) if said else (),
        upper=said.upper if said else None,
        rule=said.rule if said else "",
        evidence=said.evidence if said else "",
        threshold=planned.threshold,
        skills=planned.skills,
        gap=questions[-1].gap if questions else None,
        tokens=sum(one.message_tokens + one.reply_tokens for one in own),
        judge_calls=len(record.example(planned.key).judged),
        questions=tuple(questions),
    )


def _questions(example: str, record: ConversationRecord) -> Sequence[QuestionResult]:
    asked = [one for one in record.messages.values() if (one.by, one.kind) == (example, "ask")]
    replied = [one for one in asked if {one.exchange, *one.about} <= record.replies.keys()]
    return [question_result(CreditedQuestion(one.exchange, one.about), record.transcript) for one in replied]
