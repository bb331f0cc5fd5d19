"""Tables of texts, the first row their head: for the terminal, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def aligned_lines(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def markdown_lines(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table as Markdown."""
    for number, row in enumerate(table):
        yield f"| {' | '.join(row)} |"
        if not number:
            yield "|---" * len(row) + "|"
