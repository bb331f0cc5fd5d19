"""A conversation as a time line: a lane for each example, marks at their tokens, needles joined to questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._clock import describe
from pytest_ltm.reporting.html._shades import shade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._transcript import Exchange
    from pytest_ltm.reporting._journal_log import Jump, Log
    from pytest_ltm.reporting.html._material import Row

FILLER_SHOWN = 600
"""So many characters of a filler's message stand in the report; all of it stands in the journal."""
OTHERS = -1
"""The lane of opening message and filler."""


def timeline(rows: Sequence[Row], log: Log) -> dict[str, Any]:
    """Return JSON values for the page; lanes in the order in which their examples began."""
    ordered = sorted(rows, key=lambda row: _begin(row, log))
    lanes = {row.result.id: number for number, row in enumerate(ordered)}
    asked = {(row.result.id, question.number) for row in rows for question in row.result.questions}
    said = sorted((*log.exchanges, *log.unanswered), key=lambda each: each.number)
    return {
        "tokens": log.exchanges[-1].end if log.exchanges else 0,
        "lanes": [_lane(row, log) for row in ordered],
        "marks": [_mark(each, lanes, asked) for each in said],
        "jumps": [_jump(each) for each in _joined(log.jumps)],
        "links": [
            [needle.number, question.number]
            for row in ordered
            for question in row.result.questions
            for needle in question.needles
        ],
        "texts": {
            str(each.number): [_short(each), each.reply, log.faults.get(each.number, "")]
            for each in said
            if each.by not in lanes
        },
    }


def _begin(row: Row, log: Log) -> tuple[float, int]:
    stretch = log.stretches.get(row.result.id)
    return (float("inf") if stretch is None else stretch.begin, row.key)


def _lane(row: Row, log: Log) -> dict[str, Any]:
    stretch = log.stretches.get(row.result.id)
    return {
        "k": row.key,
        "name": row.result.id,
        "score": row.result.score,
        "shade": shade(row.result.score),
        "outcome": row.result.outcome,
        "from": stretch.begin if stretch else None,
        "to": stretch.end if stretch else None,
    }


def _mark(exchange: Exchange, lanes: dict[str, int], asked: set[tuple[str, int]]) -> list[Any]:
    kind = "question" if (exchange.by, exchange.number) in asked else exchange.kind
    return [
        exchange.number,
        lanes.get(exchange.by, OTHERS),
        kind,
        exchange.start,
        exchange.message_tokens,
        exchange.reply_tokens,
        f"{exchange.now:%Y-%m-%d %H:%M}",
    ]


def _joined(jumps: Sequence[Jump]) -> list[Jump]:
    """Return jumps with no token between them as one."""
    joined: list[Jump] = []
    for jump in jumps:
        if joined and joined[-1].position == jump.position:
            joined[-1] = replace(joined[-1], to=jump.to)
        else:
            joined.append(jump)
    return joined


def _jump(jump: Jump) -> list[Any]:
    return [jump.position, f"+{describe(jump.to - jump.before)}", f"{jump.to:%Y-%m-%d %H:%M}"]


def _short(exchange: Exchange) -> str:
    text = exchange.message
    if exchange.kind != "filler" or len(text) <= FILLER_SHOWN:
        return text
    return f"{text[:FILLER_SHOWN]}\n… and {len(text) - FILLER_SHOWN:,} more characters, in journal.jsonl"
