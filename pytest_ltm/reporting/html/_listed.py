"""What of a large run stands in the file: all of it counts, but a page of a hundred thousand examples opens nowhere."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.reporting.html._material import Held, Material, Row

MOST = 10_000
"""So many examples are listed, if each scenario has one: chromium opens them in about a second."""
LINES = 12_000_000
"""So many bytes of time lines are in the file, and at least the first of them."""


def listed(found: Material, most: int = MOST) -> frozenset[int]:
    """Return the keys of the examples that are listed.

    Where they are too many: of each scenario equally many, those that went worst in any column, in all columns, so
    that columns can be compared.
    """
    if len(found.rows) <= most:
        return frozenset(row.key for row in found.rows)
    scenarios = _scenarios(found)
    fewest, limit = 1, max(map(len, scenarios))
    while fewest < limit:
        middle = (fewest + limit + 1) // 2
        fits = sum(len(rows) for examples in scenarios for rows in examples[:middle]) <= most
        fewest, limit = (middle, limit) if fits else (fewest, middle - 1)
    return frozenset(row.key for examples in scenarios for rows in examples[:fewest] for row in rows)


def _scenarios(found: Material) -> list[list[list[Row]]]:
    """Return the examples of each scenario, worst first; an example is its rows in all columns."""
    examples: dict[str, dict[tuple[str, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in found.rows:
        examples[row.result.scenario][row.result.trial, row.result.example].append(row)
    return [sorted(of.values(), key=_worst) for of in examples.values()]


def _worst(rows: Sequence[Row]) -> float:
    return min((row.result.score for row in rows if row.result.score is not None), default=0.0)


def in_turn(found: Material) -> Iterator[Held]:
    """Yield the conversations in the order in which they are packed: the first of each column, then the second."""
    columns: dict[int, list[Held]] = defaultdict(list)
    for held in found.conversations:
        columns[held.series].append(held)
    for row in zip_longest(*columns.values()):
        yield from (held for held in row if held is not None)
