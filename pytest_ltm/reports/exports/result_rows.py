"""Rows: a run's data as flat structs, one class per table; cells are texts, numbers, flags or times.

Structs, not dictionaries: a wrong name is an error, editors know the columns, and each column is described where it is
declared. Units are in the names or the descriptions.
"""

# Annotations are evaluated here because they define the column types of frames and
# files.

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from pytest_ltm.api.journal import (
    JOURNAL,
    TIMINGS,
    Cause,
    ConversationRecord,
    ConversationResult,
    Outcome,
    QuestionResult,
    ReplyTime,
    ScenarioResult,
    TellTime,
    events,
)
from pytest_ltm.api.journal import load_all_timings as load_timings
from pytest_ltm.api.model import Exchange, Kind
from pytest_ltm.api.storage import LtmError


class PlacedRow(Struct, frozen=True, kw_only=True):
    """Where something was played: the columns that every table begins with."""

    run: str
    """The run's id, which is the name of its folder; its path if two runs share an id."""
    conversation: str
    """The name of the conversation's folder, as in `full~32k~0`: unique in a run."""
    agent: str
    """The agent's label."""
    span_label: str
    """The memory span as in node ids: `32k`, `isolated`."""
    span: int | None
    """The memory span in tokens; None for isolated examples."""
    trial: str
    """The trial, or `<trial>.<thread>` if a trial has several conversations."""


class ExampleRow(PlacedRow, frozen=True, kw_only=True):
    """The result of one example of a scenario, which is one pytest item."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    nodeid: str
    """The pytest item; "" in an unfinished conversation."""
    agent_spec: str
    """The value given to `--ltm-agent`."""
    role: Literal["agent", "yardstick", "control"]
    """Whether the agent is under test, a bundled yardstick, or a control that is never ranked."""
    skills: str
    """The letters of the memory skills that the example needs, joined by commas."""
    outcome: Outcome
    """`passed`, `failed`, `error` or `skipped`."""
    score: float | None
    """The share of full marks, 0 to 1; None if there is no score, which is not a zero."""
    upper: float | None
    """The score if all open checks passed; None if none is open."""
    threshold: float
    """The lowest score that passes."""
    floor: float
    """The score that an agent without memory may earn."""
    cause: Cause
    """Why there is no score, in a word; "" if there is one."""
    reason: str
    """Why the example has this score, or none, in one sentence."""
    amended: bool
    """Whether a person corrected the verdict."""
    questions: int
    """Questions asked for credit."""
    gap: int | None
    """Tokens from the nearest needle to the last question; None if that question depends on no needle."""
    told_gap: int | None
    """The tokens of the gap that the agent received, without those it generated itself."""
    measured_span: int | None
    """Tokens from the example's start to the start of its last question."""
    overrun: bool
    """Whether the example exceeded its memory span."""
    tokens: int
    """Tokens of the example's own exchanges."""
    cost_usd: float | None
    """Dollars for the agent's replies in the example's own exchanges; None if unknown."""
    estimated: bool
    """Whether some of that cost was not reported and is estimated."""
    judge_calls: int
    """Calls of the judge, votes and cached replies included."""
    judge_tokens: int
    """Tokens of the judge calls, as counted by the provider."""
    judge_cost_usd: float | None
    """Dollars for the judge calls; None if unknown."""
    judge_estimated: bool
    """Whether some of the judge's tokens were not reported."""
    user_calls: int
    """Calls of the models of simulated users."""
    user_tokens: int
    """Tokens of the users' calls, as counted by the provider."""
    user_cost_usd: float | None
    """Dollars for the users' calls; None if unknown."""
    user_estimated: bool
    """Whether some of the users' tokens were not reported."""
    acted: float | None
    """The share of checks of calls and files that passed; None without any."""
    metrics: Mapping[str, float]
    """Additional metrics by name; in frames and files one column `metric_NAME` each."""


class QuestionRow(PlacedRow, frozen=True, kw_only=True):
    """One question asked for credit, with the nearest of the needles that its answer depends on."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    number: int
    """The number of the question's exchange in the conversation."""
    text: str
    """The text of the question."""
    answer: str
    """The agent's reply."""
    needles: int
    """Number of needles that the answer depends on."""
    needle_number: int | None
    """The exchange of the nearest needle; None if there is none, as in the columns below."""
    needle: str | None
    """The text of the nearest needle."""
    gap: int | None
    """Tokens from the end of the nearest needle's message to the start of the question's."""
    told_gap: int | None
    """The tokens of the gap that the agent received, without those it generated itself."""
    seconds_passed: float | None
    """Seconds of conversation time from the nearest needle to the question."""
    retrieved: int | None
    """Number of texts retrieved for the answer; None if the agent does not report them."""
    needles_retrieved: int | None
    """Number of needles found in those texts; None if unknown."""
    rank: int | None
    """The best rank of a needle among those texts, from 1; None if there is none, or if unknown."""


class ExchangeRow(PlacedRow, frozen=True, kw_only=True):
    """One message to the agent and its reply, from the journal."""

    number: int
    """The exchange's number in the conversation, from 0; messages without a reply are numbered too."""
    scenario: str
    """The scenario that spoke; "" for opening, filler and history."""
    example: str
    """The example that spoke; "" for opening, filler and history."""
    kind: Kind
    """`opening`, `say`, `ask`, `reset`, `filler` or `history`."""
    told: bool
    """Whether the agent was given this exchange, so the reply is not its own."""
    message: str
    """The message that the agent was sent or given."""
    reply: str
    """The reply, or the one that the agent was given as its own; "" if there is none."""
    replied: bool
    """Whether there is a reply; messages without one are in none of a run's totals."""
    fault: str
    """How the agent failed to reply; "" if it did not fail."""
    start: int
    """Tokens of the conversation before the message."""
    message_tokens: int
    """Tokens of the message, by the run's tokenizer."""
    reply_tokens: int
    """Tokens of the reply, by the run's tokenizer."""
    time: datetime
    """The conversation's time when the message was sent."""
    seconds: float | None
    """Wall-clock seconds until the reply arrived; None if it was not timed."""
    input_tokens: int | None
    """Input tokens counted by the agent's provider; None if the agent does not report them."""
    output_tokens: int | None
    """Output tokens counted by the provider."""
    cached_tokens: int | None
    """The input tokens that came from the provider's cache."""
    calls: int | None
    """Number of model requests for the reply; 0 if the agent does not report it."""
    cost_usd: float | None
    """Dollars for the reply; None if unknown."""
    hypothetical: bool
    """Whether nothing was spent, so that usage and dollars are hypothetical."""
    retrieved: int | None
    """Number of texts retrieved for the reply; None if the agent does not report them."""


class CallRow(PlacedRow, frozen=True, kw_only=True):
    """One call of a tool that a scenario offered, from the journal."""

    scenario: str
    """The scenario that offered the tool."""
    example: str
    """The example that offered the tool."""
    exchange: int
    """The number of the exchange in which the tool was called."""
    place: int
    """The call's position among those of its exchange, from 1."""
    name: str
    """The tool's name."""
    arguments: str
    """The call's arguments, as a JSON object."""
    result: str
    """The result returned to the agent."""
    refused: bool
    """Whether the tool does not exist or does not accept the arguments; no check counts such a call."""
    tokens: int
    """Tokens of name and arguments, by the run's tokenizer."""
    result_tokens: int
    """Tokens of the result, by the run's tokenizer."""


class VerdictRow(PlacedRow, frozen=True, kw_only=True):
    """One verdict on an example, and who gave it: two rows if a person corrected the first."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    nodeid: str
    """The pytest item; "" in an unfinished conversation."""
    by: Literal["rules", "judge", "person"]
    """Who decided: rules alone, rules that consulted the judge, or a person who amended the verdict."""
    counts: bool
    """Whether reports show this verdict; False for one that was amended."""
    score: float | None
    """The share of full marks, 0 to 1; None if there is none."""
    upper: float | None
    """The score if all open checks passed; None if none is open."""
    outcome: Outcome
    """`passed`, `failed`, `error` or `skipped`."""
    reason: str
    """The reason for the verdict, in one sentence."""
    rule: str
    """Name and version of the rule, as in `colours/1`; "" for a person, and for a scenario's own checks."""
    evidence: str
    """The part of an answer that decided; "" for a person, or if the rule names none."""
    checks: int
    """Number of checks that make up the score; 0 if it has none, and for a person."""
    checks_passed: int
    """Number of checks that passed."""
    failed_checks: str
    """The sentences of the failed checks, joined by `; `."""
    open_checks: str
    """The sentences of the open checks."""


TABLES: Mapping[str, type[PlacedRow]] = {
    "examples": ExampleRow,
    "questions": QuestionRow,
    "exchanges": ExchangeRow,
    "verdicts": VerdictRow,
    "calls": CallRow,
}


def attributes_of(value: object, *names: str) -> dict[str, Any]:
    """Return some of a value's attributes by name."""
    return {name: getattr(value, name) for name in names}


def of_results(
    conversation: ConversationResult, run: str, folder: str
) -> Iterator[PlacedRow]:
    """Yield the examples, questions and verdicts of one conversation."""
    # Fields with the same name in both classes have the same meaning; the others are
    # set below.
    names = {field.name for field in fields(ScenarioResult)}
    shared = names.intersection(ExampleRow.__struct_fields__)
    for result in conversation.scenarios:
        place: dict[str, Any] = {
            "run": run,
            "conversation": folder,
            "agent": result.agent,
            "span_label": result.span_label,
            "span": result.span,
            "trial": result.trial,
            "scenario": result.scenario,
            "example": result.example,
        }
        values = attributes_of(result, *(shared - place.keys()))
        values |= {
            "agent_spec": conversation.agent_spec,
            "role": "control"
            if conversation.is_control
            else "yardstick"
            if conversation.is_yardstick
            else "agent",
            "skills": ",".join(result.skills),
            "amended": result.automatic is not None,
            "questions": len(result.questions),
            "told_gap": result.told_gap,
            "acted": result.acted,
            "metrics": {metric.name: metric.value for metric in result.metrics},
        }
        yield ExampleRow(**values, **place)
        yield from (_question_row(question, place) for question in result.questions)
        yield from _verdict_rows(result, place)


def _question_row(question: QuestionResult, place: Mapping[str, Any]) -> QuestionRow:
    nearest = min(question.needles, key=lambda needle: needle.gap, default=None)
    # Rank 0: the agent reports its retrieval, and the needle is not in it; None: it
    # does not report.
    ranks = [needle.rank for needle in question.needles if needle.rank is not None]
    return QuestionRow(
        **place,
        **attributes_of(question, "number", "text", "answer", "gap"),
        told_gap=nearest.told_gap if nearest else None,
        seconds_passed=nearest.seconds_passed if nearest else None,
        needles=len(question.needles),
        needle_number=nearest.number if nearest else None,
        needle=nearest.text if nearest else None,
        retrieved=None if question.retrieved is None else len(question.retrieved),
        needles_retrieved=sum(rank > 0 for rank in ranks) if ranks else None,
        rank=min((rank for rank in ranks if rank), default=None),
    )


def _verdict_rows(
    result: ScenarioResult, place: Mapping[str, Any]
) -> Iterator[VerdictRow]:
    decided = result.automatic or result
    failed_checks: list[str] = []
    for check in result.checks:
        if not check.ok and not check.open:
            failed_checks.append(check.label)
    row = VerdictRow(
        **place,
        **attributes_of(decided, "score", "upper", "outcome", "reason"),
        **attributes_of(result, "nodeid", "rule", "evidence"),
        by="judge" if result.judge_calls else "rules",
        counts=result.automatic is None,
        checks=len(result.checks),
        checks_passed=sum(check.ok for check in result.checks),
        failed_checks="; ".join(failed_checks),
        open_checks="; ".join(check.label for check in result.checks if check.open),
    )
    if result.automatic is not None:
        # A person applies no rule and no checks, so the amended row must not carry
        # those of the first.
        nothing = {
            "rule": "",
            "evidence": "",
            "checks": 0,
            "checks_passed": 0,
            "failed_checks": "",
            "open_checks": "",
        }
        amended = attributes_of(result, "score", "outcome", "reason")
        yield structs.replace(
            row, **nothing, **amended, by="person", counts=True, upper=None
        )
    yield row


def of_journal(
    folder: Path, place: Mapping[str, Any]
) -> tuple[list[ExchangeRow | CallRow], str]:
    """Return a conversation's exchanges and calls, and why later ones are missing ("" if none are).

    Without a journal there are none.
    """
    record = ConversationRecord()
    paid = dict[int, events.ReplyReceived | events.FillerSent]()
    problem = ""
    path = folder / JOURNAL
    try:
        for _, event in record.follow_journal(path) if path.is_file() else ():
            if isinstance(event, (events.ReplyReceived, events.FillerSent)):
                paid[event.exchange] = event
    except LtmError as error:
        # Lines before a damaged one are sound: they are kept, and the caller reports
        # what is missing.
        problem = str(error)
    timed = seconds_of(folder)
    exchanges: dict[int, Exchange] = {}
    for exchange in (*record.transcript, *record.unanswered.values()):
        exchanges[exchange.number] = exchange
    rows: list[ExchangeRow | CallRow] = []
    for number, exchange in sorted(exchanges.items()):
        scenario, _, example = exchange.by.rpartition("/")
        reply = paid.get(number)
        usage = reply and reply.usage
        used: dict[str, Any] = {name: getattr(usage, name, None) for name in _USED}
        row = ExchangeRow(
            **place,
            **attributes_of(exchange, *_OF_EXCHANGE),
            **used,
            scenario=scenario,
            example=example,
            reply=exchange.raw_reply,
            replied=reply is not None,
            fault=record.fault(number),
            time=exchange.now,
            seconds=timed.get(number),
            cost_usd=reply.cost_usd if reply else None,
            hypothetical=reply is not None and reply.hypothetical,
            retrieved=None if exchange.retrieved is None else len(exchange.retrieved),
        )
        speaker = {**place, "scenario": scenario, "example": example}
        rows += [row, *_call_rows(exchange, speaker)]
    return rows, problem


def _call_rows(exchange: Exchange, place: Mapping[str, Any]) -> Iterator[CallRow]:
    for number, call in enumerate(exchange.calls, start=1):
        yield CallRow(
            **place,
            **{name: getattr(call, name) for name in _OF_CALL},
            exchange=exchange.number,
            place=number,
            arguments=json.dumps(call.arguments, ensure_ascii=False),
        )


def seconds_of(folder: Path) -> dict[int, float]:
    """Return reply times in seconds by exchange; for a resent message, that of the last attempt."""
    seconds: dict[int, float] = {}
    for timing in load_timings(folder / TIMINGS)[0]:
        if isinstance(timing, (ReplyTime, TellTime)):
            seconds[timing.exchange] = timing.seconds
    return seconds


# Columns that have the same names as fields.
_OF_EXCHANGE = (
    "number",
    "kind",
    "told",
    "message",
    "start",
    "message_tokens",
    "reply_tokens",
)
_OF_CALL = ("name", "result", "refused", "tokens", "result_tokens")
_USED = ("input_tokens", "output_tokens", "cached_tokens", "calls")
