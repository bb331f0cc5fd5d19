"""Which columns show memory: the test behind every claim about an agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_ltm.figures.columns import Column
from pytest_ltm.figures.statistics.guessing import (
    GuessingTest,
    compare_with_guessing,
)


def guessing_test(column: Column) -> GuessingTest:
    """Compare a column with guessing; without any score it shows no memory."""
    share = column.accuracy_lower_bound
    return compare_with_guessing(share or 0.0, column.cells.values())


def only_guesses(columns: Iterable[Column]) -> bool:
    """Return whether something has a score, but nothing is significantly better than guessing."""
    scored = [column for column in columns if column.out_of]
    return bool(scored) and not columns_with_memory(scored)


def columns_with_memory(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that are significantly better than guessing, tested jointly."""
    return [
        column
        for column in columns
        if guessing_test(column).shows_memory(claims=len(columns))
    ]
