"""Scoring: turns an example's ending and transcript into its result; pure, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_ltm._core.engine.lane import CreditedQuestion, Ending, Lane
from pytest_ltm._core.features import current_hooks
from pytest_ltm._core.journal import result as _result
from pytest_ltm._core.journal.cost import Bill
from pytest_ltm._core.journal.events import VerdictRecorded
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.memory_ledger import MemoryLedger, MemoryResult
from pytest_ltm._core.journal.retrieval import evidence_found, retrieval_metrics
from pytest_ltm._core.model.agent import ENDED_SOMEHOW, Mishap, Usage
from pytest_ltm._core.model.score import Score, Unscored, undecided_if_open, with_bounds
from pytest_ltm._core.model.transcript import Kind, Transcript, needle_gap
from pytest_ltm._core.storage.errors import (
    AgentFault,
    LtmError,
    LtmInternalError,
    text_of,
)


def scenario_result(
    lane: Lane,
    ending: Ending,
    transcript: Transcript,
    *,
    costs: Mapping[int, float],
    guesses: Collection[int] = (),
    own_wish: bool = False,
    reading: str = "",
    memory: MemoryLedger | None = None,
    **place: Any,
) -> _result.ScenarioResult:
    """Return the result of an example.

    `costs`: dollars by exchange, where the agent reported them; `guesses`: the
    exchanges whose cost is partly estimated. `own_wish`: the test skipped itself.
    `reading`: the version of the reading used by rules. `memory`: the ledger of the
    agent's memory. `place`: the fields agent, span_label, trial and nodeid.
    """
    outcome, cause, reason = classify_ending(ending, lane.example.threshold)
    if own_wish:
        # A pytest.skip in a test is not a fault of agent or scenario.
        outcome = "skipped"
        cause = ""
        reason = str(ending.error)
    verdict = None if ending.verdict is None else with_bounds(ending.verdict)
    score = verdict if isinstance(verdict, Score) else None
    questions = tuple(
        question_result(question, transcript) for question in lane.questions
    )
    measured = lane.measured_span(transcript)
    tokens = 0
    own_costs = []
    for exchange in lane.own:
        tokens += exchange.message_tokens + exchange.reply_tokens
        if exchange.number in costs:
            own_costs.append(costs[exchange.number])
    rule = ending.verdict.rule if ending.verdict else ""
    if rule and reading and not rule.endswith(reading):
        # A recorded row that is kept already names it.
        rule = f"{rule}+{reading}"
    memory_use = None
    if memory is not None and memory.is_known:
        # Only for an agent that shows its memory: indexing the words of the whole
        # transcript takes time.
        memory.hear(transcript)
        memory_use = _measure_memory_use(lane, questions, memory, score)
    return _result.ScenarioResult(
        scenario=lane.example.scenario,
        example=lane.example.example,
        span=lane.span,
        outcome=outcome,
        score=score.value if score else None,
        reason=reason,
        cause=cause,
        upper=score.upper if score and score.upper > score.value else None,
        checks=score.checks if score else (),
        rule=rule,
        evidence=str(ending.verdict.evidence)
        if ending.verdict
        else "",  # a reply may carry more than its text
        threshold=lane.example.threshold,
        skills=lane.example.skills,
        gap=questions[-1].gap if questions else None,
        measured_span=measured,
        overrun=measured is not None and lane.span is not None and measured > lane.span,
        tokens=tokens,
        cost_usd=sum(own_costs) if own_costs else None,
        estimated=any(exchange.number in guesses for exchange in lane.own),
        questions=questions,
        metrics=tuple(
            _result.ExampleMetric(*pair)
            for pair in _metrics(lane.body.sheet.metrics, questions, outcome).items()
        ),
        memory=memory_use,
        **place,
    )


def _measure_memory_use(
    lane: Lane,
    questions: Sequence[_result.QuestionResult],
    ledger: MemoryLedger,
    score: Score | None,
) -> MemoryResult | None:
    result: MemoryResult | None = current_hooks().pytest_ltm_measure_memory_use(
        facts_told=lane.told,
        questions=questions,
        ledger=ledger,
        exchanges=[exchange.number for exchange in lane.own],
        right_answers={question.number: question.right for question in lane.questions},
        unchosen=lane.unchosen,
        is_lost=score is not None and score.value < 1,
    )
    return result


def _metrics(
    own: Mapping[str, float],
    questions: Sequence[_result.QuestionResult],
    outcome: _result.Outcome,
) -> Mapping[str, float]:
    """Return the scenario's own figures, with `wrong_but_found` for a wrong answer; without own figures, the recall."""
    if not own:
        return retrieval_metrics(questions)
    found = evidence_found(questions, own) if outcome == "failed" else None
    if found is None:
        return own
    return {**own, "wrong_but_found": float(found)}


def usage_totals(record: ConversationRecord, bill: Bill) -> dict[str, Any]:
    """Return the token and dollar fields of a conversation's result."""
    transcript = record.transcript

    def tokens(kinds: Collection[Kind]) -> int:
        return sum(
            exchange.message_tokens + exchange.reply_tokens
            for exchange in transcript
            if exchange.kind in kinds
        )

    def usd(kinds: Collection[Kind]) -> float | None:
        return bill.exchanges_usd(
            {exchange.number for exchange in transcript if exchange.kind in kinds}
        )

    stored = bill.told_use or Usage()
    return {
        "tokens": transcript.position,
        "count": transcript.counts,
        "filler_tokens": tokens({"filler"}),
        "reply_tokens": sum(
            exchange.reply_tokens for exchange in transcript if not exchange.told
        ),
        "exchanges": len(transcript),
        "cost_usd": bill.total_usd,
        "filler_cost_usd": usd({"filler", "history"}),
        "harness_cost_usd": usd({"opening", "reset"}),
        "hypothetical": bill.hypothetical,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "cached_tokens": bill.cached_tokens,
        "metered": bill.metered,
        "calls": bill.calls,
        "told": bill.told * (bill.told_use is not None),
        "told_calls": stored.calls,
        "told_input_tokens": stored.input_tokens,
        "estimated": bool(bill.guesses),
        "lost_tokens": 0 if bill.lost is None else bill.lost.total,
        "lost_cost_usd": bill.lost_usd,
        "accounts": record.count_accounts(),
        "mishaps": tuple(
            _with_share(mishap, len(record.replies))
            for mishap in record.mishaps.values()
        ),
    }


def _with_share(mishap: Mishap, replies: int) -> Mishap:
    """Add the number of replies to a mishap that can affect any reply."""
    if not mishap.what.startswith(ENDED_SOMEHOW):
        return mishap
    return Mishap(mishap.what, mishap.times, replies)


def classify_ending(
    ending: Ending, threshold: float
) -> tuple[_result.Outcome, _result.Cause, str]:
    """Return an example's outcome, the cause if it has no score, and the reason."""
    if isinstance(ending.verdict, Score):
        return (
            _result.outcome_of(ending.verdict.value, threshold),
            "",
            ending.verdict.reason,
        )
    if isinstance(ending.verdict, Unscored):
        return "skipped", ending.verdict.cause, ending.verdict.reason
    if ending.unplayable is not None:
        return "skipped", "requires", ending.unplayable
    if ending.unreached is not None:
        return "skipped", "not reached", ending.unreached
    error = ending.error
    if isinstance(error, LtmInternalError):
        cause: _result.Cause = "internal"
    else:
        cause = "scenario"
    return (
        "error",
        "agent" if isinstance(error, AgentFault) else cause,
        describe_ending_error(error),
    )


def ending_of(row: _result.ScenarioResult) -> Ending:
    """Return the ending of an example, from its row."""
    if row.score is not None:
        score = Score(
            row.score,
            row.reason,
            row.checks,
            row.rule,
            row.evidence,
            row.upper_end - row.score,
        )
        return Ending(verdict=undecided_if_open(score))
    if row.cause == "requires" and not row.questions:
        return Ending(unplayable=row.reason)
    if row.cause == "not reached":
        return Ending(unreached=row.reason)
    if row.outcome == "error":
        return Ending(error=LtmError(row.reason))
    cause = (
        row.cause
        if row.cause in ("evaluator", "judge", "user", "ungraded")
        else "unscored"
    )
    return Ending(verdict=Unscored(row.reason, row.rule, row.evidence, cause=cause))


def ending_told(verdict: VerdictRecorded | None) -> Ending:
    """Return the ending of an example, from its journal event; without one it was not reached."""
    if verdict is None:
        return Ending(unreached="no verdict is recorded")
    if verdict.score is not None and 0 <= verdict.score <= 1:
        # An older journal may have an upper bound below the score, or none.
        left_open = min(max((verdict.upper or 0.0) - verdict.score, 0.0), 1.0)
        score = Score(
            verdict.score, verdict.reason, rule=verdict.rule, left_open=left_open
        )
        return Ending(verdict=undecided_if_open(score))
    return Ending(verdict=Unscored(verdict.reason))


def describe_ending_error(error: BaseException | None) -> str:
    """Describe an error: our own by its sentence, any other with its type."""
    if error is None:
        return "it ended without a verdict"
    text = text_of(error)
    if isinstance(error, AgentFault):
        return text
    return f"{type(error).__name__}: {text}".rstrip(": ")


def question_result(
    question: CreditedQuestion, transcript: Transcript
) -> _result.QuestionResult:
    """Return the result of a question, with the distances to its needles; KeyError if a needle got no reply."""
    question_exchange = transcript.number(question.number)
    needles = [transcript.number(number) for number in question.needles]
    places = dict(question_exchange.places)
    refs = tuple(
        _result.NeedleRef(
            number=needle.number,
            text=needle.message,
            gap=needle_gap(needle, question_exchange),
            told_gap=transcript.told_gap(needle, question_exchange),
            seconds_passed=(question_exchange.now - needle.now).total_seconds(),
            rank=places.get(needle.number),
        )
        for needle in needles
    )
    return _result.QuestionResult(
        number=question_exchange.number,
        text=question_exchange.message,
        answer=question_exchange.reply,
        gap=min((ref.gap for ref in refs), default=None),
        needles=refs,
        retrieved=question_exchange.retrieved,
    )
