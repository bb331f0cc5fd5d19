"""A table of agents and memory spans, split into several if the terminal is too narrow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct

from pytest_ltm.api.storage import one_line
from pytest_ltm.figures.text import columns_of, pad_left, pad_right, shorten_text

Style: TypeAlias = Literal["", "good", "part", "bad", "strong", "dim"]

_CODES = {"good": "32", "part": "33", "bad": "31", "strong": "1", "dim": "2"}
# Blanks between the spans of one agent.
_GAP = 2
# Blanks between agents.
_GROUP_GAP = 3


class TableRow(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    label: str
    cells: tuple[tuple[str, Style], ...]
    """One cell per column of the table."""
    above: bool = False
    """Whether there is a rule above the row."""


class TextTable(Struct, frozen=True, kw_only=True):
    """The content of a table, independent of its width."""

    heads: tuple[tuple[str, str], ...]
    """Agent and memory span of each column; the columns of an agent are adjacent."""
    rows: tuple[TableRow, ...]
    label: str
    """Heading of the column of labels, level with the spans."""
    corner: str = ""
    """The cell above it, level with the agents."""


class _Layout(Struct, frozen=True, kw_only=True):
    """The widths of a table's parts."""

    label: int
    slot: int
    room: int
    """Columns available for everything but the labels."""

    def group(self, agent: str, columns: int) -> int:
        """Return the width of an agent's part of the table."""
        return max(
            columns * (self.slot + _GAP) - _GAP, min(columns_of(agent), self.room)
        )


# An agent's label and the indices of its columns in one table.
_Part: TypeAlias = "tuple[str, tuple[int, ...]]"


def render_table(table: TextTable, width: int, *, color: bool) -> list[str]:
    """Return the lines of the table, none wider than `width`; blank lines separate its parts."""
    layout = _table_layout(table, width)
    lines: list[str] = []
    for page in _table_pages(table, layout):
        if lines:
            lines.append("")
        lines += _page_lines(table, layout, page, color=color)
    return [line.rstrip() for line in lines]


def fits_width(table: TextTable, width: int) -> bool:
    """Return whether all agents fit side by side into this width."""
    return len(_table_pages(table, _table_layout(table, width))) == 1


def paint_text(text: str, style: Style, *, color: bool) -> str:
    """Return the text in the colours of its style, if enabled; surrounding blanks stay plain."""
    inner = text.strip(" ")
    if not (color and style and inner):
        return text
    # Blanks stay plain: a coloured background or underline would show them.
    return text.replace(inner, f"\x1b[{_CODES[style]}m{inner}\x1b[0m", 1)


def _table_layout(table: TextTable, width: int) -> _Layout:
    labels = [one_line(row.label) for row in table.rows]
    label = min(
        max(map(columns_of, [table.label, one_line(table.corner), *labels])),
        max(17, width // 3),
    )
    texts = [span for _, span in table.heads]
    for row in table.rows:
        texts += [text for text, _ in row.cells]
    return _Layout(
        label=label, slot=max(map(columns_of, texts)), room=width - label - _GROUP_GAP
    )


def _table_pages(table: TextTable, layout: _Layout) -> list[list[_Part]]:
    """Return the parts that are shown side by side: agents stay whole if they fit into a table at all."""
    # At least one column, even if it is wider than the terminal: nothing is dropped.
    column_count = max((layout.room + _GAP) // (layout.slot + _GAP), 1)
    pages: list[list[_Part]] = [[]]
    used = 0
    for agent, group in groupby(
        range(len(table.heads)), key=lambda place: table.heads[place][0]
    ):
        places = tuple(group)
        label = shorten_text(one_line(agent), layout.room, mark="…")
        for start in range(0, len(places), column_count):
            part = places[start : start + column_count]
            needed = layout.group(label, len(part))
            if pages[-1] and used + _GROUP_GAP + needed > layout.room:
                pages.append([])
            used = needed + (used + _GROUP_GAP if pages[-1] else 0)
            pages[-1].append((label, part))
    return pages


def _page_lines(
    table: TextTable, layout: _Layout, page: Sequence[_Part], *, color: bool
) -> list[str]:
    agents = []
    for agent, places in page:
        width = layout.group(agent, len(places))
        line_width = width - columns_of(agent) - 1
        if len(places) > 1 and line_width > 0:
            agents.append(f"{agent} {'─' * line_width}")
        else:
            agents.append(pad_left(agent, width))
    heads: list[tuple[str, Style]] = [(span, "strong") for _, span in table.heads]
    corner = shorten_text(one_line(table.corner), layout.label, mark="…")
    lines = [
        _format_line(
            corner,
            [paint_text(agent, "strong", color=color) for agent in agents],
            layout,
        ),
        _format_line(table.label, _row_cells(heads, layout, page, color=color), layout),
    ]
    rule = paint_text(
        "─" * columns_of(_format_line("", agents, layout)), "dim", color=color
    )
    for number, row in enumerate(table.rows):
        if row.above or not number:
            lines.append(rule)
        label = shorten_text(one_line(row.label), layout.label, mark="…")
        lines.append(
            _format_line(
                label, _row_cells(row.cells, layout, page, color=color), layout
            )
        )
    return lines


def _format_line(label: str, parts: Sequence[str], layout: _Layout) -> str:
    gap = " " * _GROUP_GAP
    return pad_right(label, layout.label) + "".join(gap + part for part in parts)


def _row_cells(
    row: Sequence[tuple[str, Style]],
    layout: _Layout,
    page: Sequence[_Part],
    *,
    color: bool,
) -> list[str]:
    """Return the cells of one line, a text for each agent."""
    parts = []
    for agent, places in page:
        texts = [pad_left(row[i][0], layout.slot) for i in places]
        spare = (
            layout.group(agent, len(places)) - len(places) * (layout.slot + _GAP) + _GAP
        )
        painted: list[str] = []
        for text, i in zip(texts, places, strict=True):
            painted.append(paint_text(text, row[i][1], color=color))
        parts.append(" " * spare + (" " * _GAP).join(painted))
    return parts
