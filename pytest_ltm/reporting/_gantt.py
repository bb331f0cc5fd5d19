"""The schedule of one conversation as text: a line for each scenario, from its first token to its last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.reporting._text import amount, clip, counted, left, right

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._costs._forecast import Bar

MOST_LINES = 24
SPEAKS, WAITS = "#", "-"
_LABEL = 26


def gantt(bars: Sequence[Bar], tokens: int, width: int) -> list[str]:
    """Return the schedule: a line an example where they are few, else a line a scenario, at most `MOST_LINES`.

    `#`: it speaks within this stretch of the conversation, `-`: it waits.
    """
    rows = _rows(bars)
    label = min(_LABEL, max(len(name) for name, _ in rows) if rows else 0)
    room = max(width - label - 1, 10)
    lines = [f"{left(clip(name, label), label)} {_line(own, tokens, room)}".rstrip() for name, own in rows[:MOST_LINES]]
    more = len(rows) - MOST_LINES
    lines += [f"… and {counted(more, 'more scenario')}"] * (more > 0)
    return [*lines, _axis(label, room, tokens)]


def _rows(bars: Sequence[Bar]) -> list[tuple[str, list[Bar]]]:
    found: dict[str, list[Bar]] = {}
    single = len(bars) <= MOST_LINES
    several = len({bar.scenario for bar in bars}) < len(bars)
    for bar in sorted(bars, key=lambda bar: bar.start):
        name = f"{bar.scenario}/{bar.example}" if single and several else bar.scenario
        found.setdefault(name, []).append(bar)
    return list(found.items())


def _line(bars: Sequence[Bar], tokens: int, room: int) -> str:
    cells = [" "] * room
    for bar in bars:
        first, last = _at(bar.start, tokens, room), _at(max(bar.end - 1, bar.start), tokens, room)
        for cell in range(first, last + 1):
            cells[cell] = WAITS if cells[cell] == " " else cells[cell]
    for bar in bars:
        for position in bar.speaks:
            cells[_at(position, tokens, room)] = SPEAKS
    return "".join(cells)


def _at(position: int, tokens: int, room: int) -> int:
    return min(position * room // max(tokens, 1), room - 1)


def _axis(label: int, room: int, tokens: int) -> str:
    end = f"{amount(tokens)} tokens"
    middle = amount(tokens // 2)
    half = room // 2
    line = left(left("0", half) + middle, room - len(end)) if room > len(end) + half + len(middle) else left("0", room)
    return " " * (label + 1) + (line + end if room > len(end) + half + len(middle) else right(end, room))
