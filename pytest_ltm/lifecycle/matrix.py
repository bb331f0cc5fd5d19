"""The matrix: a row per test, a cell per check, no percentages; and the durations of store calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from operator import attrgetter
from textwrap import wrap
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.memory.pace import lag_sentence, pace_of_run, percentiles
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lifecycle.row import SIGNS, Cell
from pytest_ltm.lifecycle.subject import Usage

MOST_SECONDS = 2_000
"""The most call durations kept per method and test: a million would fill every report."""


class Line(Struct, frozen=True):
    """A row of the matrix as reported by any process."""

    agent: str
    group: str
    test: str
    cells: tuple[Cell, ...]
    usage: Mapping[str, Any]


def usage_record(usage: Usage) -> dict[str, Any]:
    """Return call counts, and an even sample of durations in seconds, as JSON values."""
    return {
        "calls": {name: len(values) for name, values in usage.seconds.items()},
        "seconds": {name: _thin(values) for name, values in usage.seconds.items()},
        "lags": list(usage.lags),
        "missed": usage.missed,
    }


def _thin(values: Sequence[float]) -> list[float]:
    """Return an even sample of at most about a thousand values."""
    step = ceil(len(values) / MOST_SECONDS)
    return list(values[::step])


def matrix_lines(lines: Sequence[Line], width: int) -> Iterator[str]:
    """Yield the matrix of one agent, and the durations of its calls."""
    for group, group_lines in group_by(lines, attrgetter("group")).items():
        yield f"{group}:"
        for line in group_lines:
            cells = " · ".join(map(_cell_text, line.cells))
            if len(line.cells) == 1 and line.cells[0].state == "lacks":
                cells = f"{SIGNS['lacks']} {line.cells[0].evidence}"
            yield from wrap(
                f"  {line.test:<15}{cells}", width, subsequent_indent=" " * 17
            )
    yield from usage_lines(lines)


def _cell_text(cell: Cell) -> str:
    if cell.state == "note":
        return f"{cell.look}: {cell.evidence}"
    return f"{cell.look} {SIGNS[cell.state]}"


def usage_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield call durations of a store, and the lag until writes could be found."""
    for name in ("add", "search"):
        values: list[float] = []
        for line in lines:
            values += line.usage["seconds"].get(name, ())
        calls = sum(line.usage["calls"].get(name, 0) for line in lines)
        if values:
            yield f"{name} in s, p50/p95/p99: {percentiles(values)} ({calls:,} calls)"
    lags = list(chain.from_iterable(line.usage["lags"] for line in lines))
    missed = sum(line.usage["missed"] for line in lines)
    pace = pace_of_run()
    if sentence := lag_sentence(lags, missed, pace.limit if pace.polls else 0):
        yield sentence
