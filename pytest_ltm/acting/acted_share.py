"""Figures of agents' actions."""

from __future__ import annotations

from pytest_ltm.figures.columns import Column
from pytest_ltm.figures.statistics.totals import mean_or_none


def acted_share(column: Column) -> float | None:
    """Return the mean share of passed checks on calls and files over examples; None without any."""
    return mean_or_none(row.acted for row in column.rows)
