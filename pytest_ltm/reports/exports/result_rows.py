"""Rows: what a run holds as flat structs, one class for each table; every cell is a text, a number, a flag or a time.

Structs, not dictionaries: a wrong name is an error, editors know the columns, and each
is described where it is declared. Units are in the names or in the descriptions.
"""

# Annotations are evaluated here, because they say what the columns of frames and files
# hold.

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
    """The run's id: the name of its folder; its path where two runs have the same."""
    conversation: str
    """The name of the conversation's folder, as in `full~32k~0`: unique in a run."""
    agent: str
    """The agent's label."""
    span_label: str
    """The memory span as in node ids: `32k`, `isolated`."""
    span: int | None
    """The memory span in tokens; None where examples are isolated."""
    trial: str
    """The trial, or `<trial>.<thread>` where a trial has several conversations."""


class ExampleRow(PlacedRow, frozen=True, kw_only=True):
    """How one example of a scenario went: one pytest item."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    nodeid: str
    """The pytest item; "" in a conversation that was not finished."""
    agent_spec: str
    """What was given to `--ltm-agent`."""
    role: Literal["agent", "yardstick", "control"]
    """Whether the agent is one under test, an embedded one to compare with, or a control that is never ranked."""
    skills: str
    """The letters of the memory skills that it needs, joined by commas."""
    outcome: Outcome
    """`passed`, `failed`, `error` or `skipped`."""
    score: float | None
    """The share of full marks, 0 to 1; None if there is none, which is not a zero."""
    upper: float | None
    """The same if what is open passed; None where nothing is."""
    threshold: float
    """The lowest score that passes."""
    floor: float
    """The score that an agent without memory may earn."""
    cause: Cause
    """Why there is no score, in a word; "" where there is one."""
    reason: str
    """One sentence: why this score, or why there is none."""
    amended: bool
    """A person has corrected the verdict."""
    questions: int
    """Questions asked for credit."""
    gap: int | None
    """Tokens from the nearest needle to the last question; None if that depends on none."""
    told_gap: int | None
    """Of the gap, the tokens that were told: all but what the agent itself generated."""
    measured_span: int | None
    """Tokens from its start to the start of its last question."""
    overrun: bool
    """It was stretched over more than its memory span."""
    tokens: int
    """Tokens of its own exchanges."""
    cost_usd: float | None
    """Dollars for the agent's replies in its own exchanges; None where unknown."""
    estimated: bool
    """Some of that cost was not reported: it is an estimate."""
    judge_calls: int
    """Calls of the judge, votes and cached replies included."""
    judge_tokens: int
    """Tokens of those, by the provider's count."""
    judge_cost_usd: float | None
    """Dollars for those; None where unknown."""
    judge_estimated: bool
    """Some of the judge's tokens were not reported."""
    user_calls: int
    """Calls of the models of simulated users."""
    user_tokens: int
    """Tokens of those, by the provider's count."""
    user_cost_usd: float | None
    """Dollars for those; None where unknown."""
    user_estimated: bool
    """Some of the users' tokens were not reported."""
    acted: float | None
    """The share of the checks of calls and files that passed; None without any."""
    metrics: Mapping[str, float]
    """Figures beside the score, by name; in frames and files a column `metric_NAME` each."""


class QuestionRow(PlacedRow, frozen=True, kw_only=True):
    """One question asked for credit, with the nearest of the needles that its answer depends on."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    number: int
    """Its exchange in the conversation."""
    text: str
    """What was asked."""
    answer: str
    """What the agent replied."""
    needles: int
    """Needles that the answer depends on."""
    needle_number: int | None
    """The exchange of the nearest needle; None if there is none, as in the columns below."""
    needle: str | None
    """What was said there."""
    gap: int | None
    """Tokens from the end of the nearest needle's message to the start of the question's."""
    told_gap: int | None
    """Of the gap, the tokens that were told: all but what the agent itself generated."""
    seconds_passed: float | None
    """Seconds of the conversation's time from the nearest needle to the question."""
    retrieved: int | None
    """Texts that the agent says it retrieved for the answer; None where it does not say."""
    needles_retrieved: int | None
    """The needles that are in those texts; None where that is not known."""
    rank: int | None
    """The best place of a needle among those texts, from 1; None if none is there, or it is not known."""


class ExchangeRow(PlacedRow, frozen=True, kw_only=True):
    """One message to the agent and its reply, from the journal."""

    number: int
    """Its number in the conversation, from 0; a message without a reply has one, too."""
    scenario: str
    """The scenario that spoke; "" for opening, filler and history."""
    example: str
    """The example that spoke; "" for opening, filler and history."""
    kind: Kind
    """`opening`, `say`, `ask`, `reset`, `filler` or `history`."""
    told: bool
    """The agent was told this exchange: the reply is not its own."""
    message: str
    """What the agent was sent or told."""
    reply: str
    """What it replied, or was told that it replied; "" if there is no reply."""
    replied: bool
    """Whether there is a reply; a message without one is in none of a run's totals."""
    fault: str
    """What the agent did instead of replying; "" if it did not fail."""
    start: int
    """Tokens of the conversation before the message."""
    message_tokens: int
    """Tokens of the message, by the run's tokenizer."""
    reply_tokens: int
    """Tokens of the reply, by the run's tokenizer."""
    time: datetime
    """The conversation's time when the message was sent."""
    seconds: float | None
    """Seconds on the wall until the reply had come; None where it was not timed."""
    input_tokens: int | None
    """Tokens that the agent's provider counted as sent for it; None where the agent does not report it."""
    output_tokens: int | None
    """Tokens that the provider counted as generated."""
    cached_tokens: int | None
    """Of the input tokens, those from the provider's cache."""
    calls: int | None
    """Requests to models that it took; 0: the agent does not say."""
    cost_usd: float | None
    """Dollars for the reply; None where unknown."""
    hypothetical: bool
    """Nothing was spent: usage and dollars are what it would be."""
    retrieved: int | None
    """Texts that the agent says it retrieved for the reply; None where it does not say."""


class CallRow(PlacedRow, frozen=True, kw_only=True):
    """One call of a tool that a scenario offered, from the journal."""

    scenario: str
    """The scenario that offered it."""
    example: str
    """The example that offered it."""
    exchange: int
    """Number of the exchange in which it was called."""
    place: int
    """Its place among the calls of that exchange, from 1."""
    name: str
    """The tool's name."""
    arguments: str
    """Its arguments, as a JSON object."""
    result: str
    """The result that the agent was told."""
    refused: bool
    """There is no such tool, or the arguments are not what it takes: no check counts it."""
    tokens: int
    """Tokens of name and arguments, by the run's tokenizer."""
    result_tokens: int
    """Tokens of the result, by the run's tokenizer."""


class VerdictRow(PlacedRow, frozen=True, kw_only=True):
    """What was decided about an example, and by whom: two rows where a person has corrected the first."""

    scenario: str
    """The scenario's name."""
    example: str
    """The example's name within its scenario."""
    nodeid: str
    """The pytest item; "" in a conversation that was not finished."""
    by: Literal["rules", "judge", "person"]
    """Who decided: rules alone, rules that asked the judge, or a person who amended it."""
    counts: bool
    """Whether it is the verdict that reports show; False for one that was amended."""
    score: float | None
    """The share of full marks, 0 to 1; None if there is none."""
    upper: float | None
    """The same if what is open passed; None where nothing is."""
    outcome: Outcome
    """`passed`, `failed`, `error` or `skipped`."""
    reason: str
    """One sentence."""
    rule: str
    """Name and version of the rule, as in `colours/1`; "" for a person, and for checks in the scenario itself."""
    evidence: str
    """The part of an answer that decided; "" where the rule names none, and for a person."""
    checks: int
    """Parts of the score; 0 if it has none, and for a person."""
    checks_passed: int
    """Those that passed."""
    failed_checks: str
    """The sentences of those that failed, joined by `; `."""
    open_checks: str
    """The sentences of those that are open."""


TABLES: Mapping[str, type[PlacedRow]] = {
    "examples": ExampleRow,
    "questions": QuestionRow,
    "exchanges": ExchangeRow,
    "verdicts": VerdictRow,
    "calls": CallRow,
}


def of_results(
    conversation: ConversationResult, run: str, folder: str
) -> Iterator[PlacedRow]:
    """Yield the examples, questions and verdicts of one conversation."""
    # Where both have a field of one name, it means the same; what differs follows.
    shared = {*ExampleRow.__struct_fields__} & {
        field.name for field in fields(ScenarioResult)
    }
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
        values: dict[str, Any] = {
            name: getattr(result, name) for name in shared - place.keys()
        }
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
    # Rank 0: the agent says what it retrieved, and the needle is not in it; None: it
    # does not say.
    ranks = [needle.rank for needle in question.needles if needle.rank is not None]
    near: dict[str, Any] = {
        name: getattr(nearest, name, None) for name in ("told_gap", "seconds_passed")
    }
    return QuestionRow(
        **place,
        **{
            name: getattr(question, name)
            for name in ("number", "text", "answer", "gap")
        },
        **near,
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
    decided = {
        name: getattr(result.automatic or result, name)
        for name in ("score", "upper", "outcome", "reason")
    }
    row = VerdictRow(
        **place,
        **decided,
        **{name: getattr(result, name) for name in ("nodeid", "rule", "evidence")},
        by="judge" if result.judge_calls else "rules",
        counts=result.automatic is None,
        checks=len(result.checks),
        checks_passed=sum(check.ok for check in result.checks),
        failed_checks="; ".join(
            check.label for check in result.checks if not check.ok and not check.open
        ),
        open_checks="; ".join(check.label for check in result.checks if check.open),
    )
    if result.automatic is not None:
        # A person goes by no rule and no checks, so the amended row must not carry
        # those of the first.
        nothing = {
            "rule": "",
            "evidence": "",
            "checks": 0,
            "checks_passed": 0,
            "failed_checks": "",
            "open_checks": "",
        }
        amended = {
            name: getattr(result, name) for name in ("score", "outcome", "reason")
        }
        yield structs.replace(
            row, **nothing, **amended, by="person", counts=True, upper=None
        )
    yield row


def of_journal(
    folder: Path, place: Mapping[str, Any]
) -> tuple[list[ExchangeRow | CallRow], str]:
    """Return the exchanges and calls of a conversation, and why those after the last are missing; "" if none is.

    A conversation without a journal has none.
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
        # What stands before a damaged line is sound: it is kept, and the caller says
        # what is missing.
        problem = str(error)
    timed = seconds_of(folder)
    exchanges = {
        told_exchange.number: told_exchange
        for told_exchange in (*record.transcript, *record.unanswered.values())
    }
    rows: list[ExchangeRow | CallRow] = []
    for number, exchange in sorted(exchanges.items()):
        scenario, _, example = exchange.by.rpartition("/")
        reply = paid.get(number)
        used: dict[str, Any] = {
            name: getattr(reply and reply.usage, name, None) for name in _USED
        }
        row = ExchangeRow(
            **place,
            **{name: getattr(exchange, name) for name in _OF_EXCHANGE},
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
    result = load_timings(folder / TIMINGS)[0]
    return {
        timing.exchange: timing.seconds
        for timing in result
        if isinstance(timing, (ReplyTime, TellTime))
    }


# What columns and fields have the same names for.
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
