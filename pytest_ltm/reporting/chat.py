"""One example as a chat to read: what was said, what lies between, the verdict and the text that decided it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._journal.result import at_span
from pytest_ltm._results.table import paint_text
from pytest_ltm._results.text import (
    NOTHING,
    clip_text,
    format_distance,
    one_line,
    pluralize,
    text_of,
    verdict_text,
    wrap_text,
)
from pytest_ltm._storage.sanitize import for_screen
from pytest_ltm._storage.schema import fields_of
from pytest_ltm.reporting.failure import (
    asker_of,
    check_lines,
    distance_lines,
    failure_headline,
    shown_message,
    speech_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._journal.fold import ConversationRecord
    from pytest_ltm._journal.result import NeedleRef, ScenarioResult
    from pytest_ltm._model.transcript import Exchange
    from pytest_ltm._results.table import Style


# Characters of a text that are shown unless all are asked for.
LONGEST = 4_000


class ExampleChat(Struct, frozen=True, kw_only=True):
    """What is shown of an example."""

    result: ScenarioResult
    record: ConversationRecord | None
    """None where there is no readable journal."""
    expected: object = None
    """What its definition says of right answers; None where it says nothing."""
    damage: str = ""
    """What is wrong with the journal."""


def chat_lines(chat: ExampleChat, width: int, *, color: bool, full: bool = False) -> list[str]:
    """Return the example as lines.

    `full`: texts of any length, and what others said from its first message to its last.
    """
    result = chat.result
    where = f"{at_span(result.agent, result.span_label)}, trial {result.trial}"
    lines = [paint_text(line, "strong", color=color) for line in wrap_text(one_line(result.nodeid), width)]
    lines += [clip_text(one_line(where), width), ""]
    shown = _shown_exchanges(chat, full=full)
    before: Exchange | None = None
    for exchange in shown:
        if before is not None and chat.record is not None and not full:
            lines += [
                paint_text(line, "dim", color=color)
                for line in distance_lines(result, before, exchange, chat.record.transcript)
            ]
        lines += _exchange_lines(chat, exchange, width, color=color, full=full)
        before = exchange
    if chat.record is None:
        lines += wrap_text(
            f"The transcript is missing: the run has no readable journal. {chat.damage}".rstrip(), width, "  "
        )
    elif not shown:
        lines.append("The journal has none of its exchanges.")
    return [line.rstrip() for line in [*lines, "", *_verdict_lines(chat, width, color=color)]]


def _shown_exchanges(chat: ExampleChat, *, full: bool) -> list[Exchange]:
    """Return its own exchanges, its needles wherever they stand, and the one whose reply holds what decided."""
    record, result = chat.record, chat.result
    if record is None:
        return []
    said = sorted((*record.transcript, *record.unanswered.values()), key=lambda each: each.number)
    asked = {question.number for question in result.questions}
    asked |= {needle.number for question in result.questions for needle in question.needles}
    own = [each for each in said if each.by == result.id or each.number in asked]
    if own and result.evidence and not any(result.evidence in each.reply for each in own):
        own += [each for each in said if each.number > own[-1].number and result.evidence in each.reply][-1:]
    return [each for each in said if own[0].number <= each.number <= own[-1].number] if own and full else own


def _exchange_lines(chat: ExampleChat, exchange: Exchange, width: int, *, color: bool, full: bool) -> Iterator[str]:
    questions = [each for each in chat.result.questions if each.number == exchange.number]
    kind = _exchange_kind(chat.result, exchange)
    at = f"#{exchange.number}  {kind}, at {pluralize(exchange.start, 'token')}, {exchange.now:%Y-%m-%d %H:%M}"
    yield paint_text(clip_text(at, width), "strong" if exchange.by == chat.result.id else "dim", color=color)
    for needle in (needle for question in questions for needle in question.needles):
        yield from (
            paint_text(line, "dim", color=color) for line in wrap_text(f"    {_gap_line(needle)}", width, "      ")
        )
    yield from speech_lines(asker_of(exchange), _shorten_message(exchange.message, "", full=full), width)
    fault = chat.record.fault(exchange.number) if chat.record else ""
    if fault:
        yield from speech_lines("fault:", one_line(fault), width)
    else:
        yield from speech_lines("agent:", _shorten_message(exchange.reply, chat.result.evidence, full=full), width)


def _exchange_kind(result: ScenarioResult, exchange: Exchange) -> str:
    if any(question.number == exchange.number for question in result.questions):
        return "question"
    if any(needle.number == exchange.number for question in result.questions for needle in question.needles):
        return "needle"
    said = {"say": "message", "ask": "question"}.get(exchange.kind, exchange.kind)
    return said if exchange.by == result.id else f"{one_line(exchange.by)}: {said}" if exchange.by else said


def _gap_line(needle: NeedleRef) -> str:
    told = (
        f", {pluralize(needle.told_gap, 'token')} without the agent's replies" if needle.told_gap < needle.gap else ""
    )
    rank = "" if needle.rank is None else f"; retrieved at rank {needle.rank}" if needle.rank else "; not retrieved"
    distance = format_distance(needle.gap, timedelta(seconds=needle.seconds_passed))
    return f"needle #{needle.number}: {distance} before{told}{rank}"


def _shorten_message(text: str, keep: str, *, full: bool) -> str:
    """Return a text, of a long one its beginning and what decided."""
    if full or len(text) <= LONGEST:
        return shown_message(text)
    at, rest = text.find(keep) if keep else -1, len(text) - LONGEST
    decided = f"\n… {for_screen(text[at : at + LONGEST])}" if at >= LONGEST else ""
    return f"{shown_message(text[:LONGEST])}\n[{rest:,} characters more: --full shows them]{decided}"


def _verdict_lines(chat: ExampleChat, width: int, *, color: bool) -> Iterator[str]:
    result = chat.result
    lines = wrap_text(failure_headline(result), width, "  ")
    yield from (paint_text(line, style_of(result), color=color) for line in lines)
    yield from check_lines(result)
    facts = {
        "decided by": result.evidence,
        "expected": "" if chat.expected is None else text_of(chat.expected),
        "rule": result.rule,
        "before it was amended": _automatic_verdict(result),
    }
    for name, text in facts.items():
        if text:
            yield from wrap_text(f"  {name}: {clip_text(one_line(text), LONGEST)}", width, "    ")
    if result.overrun and result.span is not None:
        yield f"  overran its memory span of {result.span:,} tokens"


def _automatic_verdict(result: ScenarioResult) -> str:
    if result.automatic is None:
        return ""
    return f"{verdict_text(result.automatic)}: {result.automatic.reason}"


def style_of(result: ScenarioResult) -> Style:
    """Return the colours of a score."""
    if result.score is None or result.outcome == "skipped":
        return "dim"
    return "good" if result.outcome == "passed" else "part" if result.score > 0 else "bad"


def example_json(row: ScenarioResult) -> dict[str, Any]:
    """Return an example and its verdict as JSON values."""
    own = fields_of(row, "scenario", "example", "agent", "trial", "outcome", "score", "upper", "reason")
    return {"item": row.nodeid, **own, "span": row.span_label}


def chat_json(chat: ExampleChat, *, full: bool = False) -> dict[str, Any]:
    """Return the example as JSON values: its verdict, what decided it, and the exchanges that are shown of it.

    `full`: as for `chat_lines`.
    """
    result, record = chat.result, chat.record
    longest = None if full else LONGEST
    return {
        **example_json(result),
        **fields_of(result, "threshold", "gap", "rule"),
        "decided_by": result.evidence,
        "expected": chat.expected,
        "checks": [{"label": check.label, "state": check.state} for check in result.checks],
        "needles": [
            {"question": question.number, "needle": needle.number, "retrieved_rank": needle.rank}
            | {"gap_tokens": needle.gap, "gap_seconds": needle.seconds_passed}
            for question in result.questions
            for needle in question.needles
        ],
        "exchanges": [
            {
                "number": each.number,
                "kind": _exchange_kind(result, each),
                "by": each.by,
                "tokens_before": each.start,
                "now": each.now.isoformat(),
                "message": each.message[:longest],
                "reply": each.reply[:longest],
                "fault": record.fault(each.number) if record else "",
            }
            for each in _shown_exchanges(chat, full=full)
        ],
    }


def example_lines(rows: Sequence[ScenarioResult], width: int, *, color: bool) -> Iterator[str]:
    """Yield a line for each example: score, name, and why it has not more."""
    room = max((len(one_line(row.id)) for row in rows), default=0)
    for row in rows:
        score = verdict_text(row, NOTHING)
        why = "" if row.outcome == "passed" else one_line(row.reason)
        line = clip_text(f"  {score:>4}  {one_line(row.id):{min(room, 40)}}  {why}", width).rstrip()
        yield paint_text(line, style_of(row), color=color)
