"""One example as a chat, with its exchanges, distances and verdict; as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

from msgspec import Struct

from pytest_ltm.api.journal import (
    ConversationRecord,
    NeedleRef,
    ScenarioResult,
    at_span,
)
from pytest_ltm.api.model import Exchange
from pytest_ltm.api.storage import fields_of, for_screen, one_line, pluralize
from pytest_ltm.figures.table import Style, paint_text
from pytest_ltm.figures.text import (
    clip_text,
    format_distance,
    text_of,
    verdict_text,
    wrap_text,
)
from pytest_ltm.reports.failure import (
    asker_of,
    check_lines,
    distance_lines,
    failure_headline,
    shown_message,
    speech_lines,
)

# Characters shown of a text, unless the full text is requested.
LONGEST = 4_000


class ExampleChat(Struct, frozen=True, kw_only=True):
    """The displayed data of an example."""

    result: ScenarioResult
    record: ConversationRecord | None
    """None without a readable journal."""
    expected: object = None
    """The right answers by its definition; None if it has none."""
    damage: str = ""
    """The damage of the journal."""


def style_of(result: ScenarioResult) -> Style:
    """Return the style of a score."""
    if result.score is None or result.outcome == "skipped":
        return "dim"
    if result.outcome == "passed":
        return "good"
    return "part" if result.score > 0 else "bad"


# --- As lines


def chat_lines(
    chat: ExampleChat, width: int, *, color: bool, full: bool = False
) -> list[str]:
    """Return the example as lines.

    `full`: without shortening, including others' exchanges between its first and last message.
    """
    lines = [
        *_title_lines(chat.result, width, color=color),
        "",
        *_speech_lines(chat, width, color=color, full=full),
        "",
        *_verdict_lines(chat, width, color=color),
    ]
    return [line.rstrip() for line in lines]


def _title_lines(result: ScenarioResult, width: int, *, color: bool) -> Iterator[str]:
    for line in wrap_text(one_line(result.nodeid), width):
        yield paint_text(line, "strong", color=color)
    place = f"{at_span(result.agent, result.span_label)}, trial {result.trial}"
    yield clip_text(one_line(place), width)


def _speech_lines(
    chat: ExampleChat, width: int, *, color: bool, full: bool
) -> Iterator[str]:
    """Yield the exchanges, and the distances between them."""
    if chat.record is None:
        reason = (
            f"The transcript is missing: the run has no readable journal. {chat.damage}"
        )
        yield from wrap_text(reason.rstrip(), width, "  ")
        return
    exchanges = _shown_exchanges(chat, full=full)
    if not exchanges:
        yield "The journal has none of its exchanges."
    former: Exchange | None = None
    for exchange in exchanges:
        if former is not None and not full:
            transcript = chat.record.transcript
            for line in distance_lines(chat.result, former, exchange, transcript):
                yield paint_text(line, "dim", color=color)
        yield from _exchange_lines(chat, exchange, width, color=color, full=full)
        former = exchange


def _exchange_lines(
    chat: ExampleChat, exchange: Exchange, width: int, *, color: bool, full: bool
) -> Iterator[str]:
    kind = _exchange_kind(chat.result, exchange)
    tokens = pluralize(exchange.start, "token")
    title = f"#{exchange.number}  {kind}, at {tokens}, {exchange.now:%Y-%m-%d %H:%M}"
    style: Style = "strong" if exchange.by == chat.result.id else "dim"
    yield paint_text(clip_text(title, width), style, color=color)
    for needle in _needles_of(chat.result, exchange):
        for line in wrap_text(_needle_text(needle), width, "      "):
            yield paint_text(line, "dim", color=color)
    message = _shorten_message(exchange.message, "", full=full)
    yield from speech_lines(asker_of(exchange), message, width)
    fault = chat.record.fault(exchange.number) if chat.record else ""
    if fault:
        yield from speech_lines("fault:", one_line(fault), width)
        return
    evidence = chat.result.evidence
    reply = _shorten_message(exchange.acted_reply, evidence, full=full)
    yield from speech_lines("agent:", reply, width)


def _needle_text(needle: NeedleRef) -> str:
    """Return a needle's distance from its question, and whether it was retrieved."""
    passed = timedelta(seconds=needle.seconds_passed)
    distance = format_distance(needle.gap, passed)
    text = f"    needle #{needle.number}: {distance} before"
    if needle.told_gap < needle.gap:
        tokens = pluralize(needle.told_gap, "token")
        text += f", {tokens} without the agent's replies"
    if needle.rank is None:
        return text
    if not needle.rank:
        return f"{text}; not retrieved"
    return f"{text}; retrieved at rank {needle.rank}"


def _shorten_message(text: str, keep: str, *, full: bool) -> str:
    """Return a text, shortened to its beginning and the deciding part."""
    if full or len(text) <= LONGEST:
        return shown_message(text)
    left_out = len(text) - LONGEST
    shortened = f"{shown_message(text[:LONGEST])}\n[{left_out:,} characters more: --full shows them]"
    start = text.find(keep) if keep else -1
    if start < LONGEST:
        return shortened
    return f"{shortened}\n… {for_screen(text[start : start + LONGEST])}"


def _verdict_lines(chat: ExampleChat, width: int, *, color: bool) -> Iterator[str]:
    result = chat.result
    for line in wrap_text(failure_headline(result), width, "  "):
        yield paint_text(line, style_of(result), color=color)
    yield from check_lines(result)
    for label, text in _verdict_notes(chat):
        note = f"  {label}: {clip_text(one_line(text), LONGEST)}"
        yield from wrap_text(note, width, "    ")
    if result.overrun and result.span is not None:
        yield f"  overran its memory span of {result.span:,} tokens"


def _verdict_notes(chat: ExampleChat) -> Iterator[tuple[str, str]]:
    """Yield labelled notes on a verdict."""
    result = chat.result
    if result.evidence:
        yield "decided by", result.evidence
    if chat.expected is not None:
        yield "expected", text_of(chat.expected)
    if result.rule:
        yield "rule", result.rule
    automatic = result.automatic
    if automatic:
        text = f"{verdict_text(automatic)}: {automatic.reason}"
        yield "before it was amended", text


# --- Selection of exchanges


def _shown_exchanges(chat: ExampleChat, *, full: bool) -> list[Exchange]:
    """Return the example's exchanges, its needles, and the exchange whose reply decided.

    `full`: all exchanges from the first to the last of these.
    """
    record = chat.record
    result = chat.result
    if record is None:
        return []
    exchanges = sorted(
        (*record.transcript, *record.unanswered.values()),
        key=lambda exchange: exchange.number,
    )
    numbers = {question.number for question in result.questions}
    numbers |= {needle.number for needle in _all_needles(result)}
    chosen: list[Exchange] = []
    for exchange in exchanges:
        if exchange.by == result.id or exchange.number in numbers:
            chosen.append(exchange)
    if not chosen:
        return []
    if result.evidence and not _has_evidence(chosen, result.evidence):
        later = exchanges[exchanges.index(chosen[-1]) + 1 :]
        holding = [exchange for exchange in later if result.evidence in exchange.reply]
        chosen += holding[-1:]
    if not full:
        return chosen
    first = chosen[0].number
    last = chosen[-1].number
    return [exchange for exchange in exchanges if first <= exchange.number <= last]


def _has_evidence(exchanges: Sequence[Exchange], evidence: str) -> bool:
    return any(evidence in exchange.reply for exchange in exchanges)


def _all_needles(result: ScenarioResult) -> list[NeedleRef]:
    return list(chain.from_iterable(question.needles for question in result.questions))


def _needles_of(result: ScenarioResult, exchange: Exchange) -> list[NeedleRef]:
    """Return the needles of the questions in an exchange."""
    needles: list[NeedleRef] = []
    for question in result.questions:
        if question.number == exchange.number:
            needles += question.needles
    return needles


def _exchange_kind(result: ScenarioResult, exchange: Exchange) -> str:
    if any(question.number == exchange.number for question in result.questions):
        return "question"
    if any(needle.number == exchange.number for needle in _all_needles(result)):
        return "needle"
    kind = {"say": "message", "ask": "question"}.get(exchange.kind, exchange.kind)
    if exchange.by in ("", result.id):
        return kind
    return f"{one_line(exchange.by)}: {kind}"


# --- As JSON


def example_json(row: ScenarioResult) -> dict[str, Any]:
    """Return an example and its verdict as JSON values."""
    fields = fields_of(
        row,
        "scenario",
        "example",
        "agent",
        "trial",
        "outcome",
        "score",
        "upper",
        "reason",
    )
    return {"item": row.nodeid, **fields, "span": row.span_label}


def chat_json(chat: ExampleChat, *, full: bool) -> dict[str, Any]:
    """Return the example as JSON values: its verdict, the deciding part, and the displayed exchanges.

    `full`: as for `chat_lines`.
    """
    result = chat.result
    checks = [{"label": check.label, "state": check.state} for check in result.checks]
    exchanges: list[dict[str, Any]] = []
    for exchange in _shown_exchanges(chat, full=full):
        exchanges.append(_exchange_json(chat, exchange, full=full))
    return {
        **example_json(result),
        **fields_of(result, "threshold", "gap", "rule"),
        "decided_by": result.evidence,
        "expected": chat.expected,
        "checks": checks,
        "needles": _needles_json(result),
        "exchanges": exchanges,
    }


def _needles_json(result: ScenarioResult) -> list[dict[str, Any]]:
    entries = []
    for question in result.questions:
        for needle in question.needles:
            entry = {
                "question": question.number,
                "needle": needle.number,
                "retrieved_rank": needle.rank,
                "gap_tokens": needle.gap,
                "gap_seconds": needle.seconds_passed,
            }
            entries.append(entry)
    return entries


def _exchange_json(
    chat: ExampleChat, exchange: Exchange, *, full: bool
) -> dict[str, Any]:
    longest = None if full else LONGEST
    record = chat.record
    entry: dict[str, Any] = {
        "number": exchange.number,
        "kind": _exchange_kind(chat.result, exchange),
        "by": exchange.by,
        "tokens_before": exchange.start,
        "now": exchange.now.isoformat(),
        "message": exchange.message[:longest],
        "reply": exchange.reply[:longest],
        "fault": record.fault(exchange.number) if record else "",
    }
    if exchange.calls:
        names = ("name", "arguments", "result", "refused")
        entry["calls"] = [fields_of(call, *names) for call in exchange.calls]
    return entry
