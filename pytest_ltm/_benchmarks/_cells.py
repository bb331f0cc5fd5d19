"""Cells and lines of the tables that `benchmark gate` prints."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TRIALS = (1, 3, 5, 10)
"""The columns."""


def share(hits: int, of: int) -> str:
    """Return `0.048 ±0.007`, with the Monte Carlo standard error; `cannot tell` of nothing."""
    if not of:
        return "cannot tell"
    rate = hits / of
    return f"{rate:.3f} ±{sqrt(max(rate * (1 - rate), 1 / of) / of):.3f}"


def line(name: str, cells: Sequence[str]) -> str:
    """Return one line of a table."""
    return f"{name:54}" + "".join(f"{cell:>14}" for cell in cells)


def header(title: str) -> Iterator[str]:
    """Yield an empty line, the title of a table and its columns."""
    yield ""
    yield title
    yield line("", [f"{trials} trial{'s' if trials > 1 else ''}" for trials in TRIALS])
