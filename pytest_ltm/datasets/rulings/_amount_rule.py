"""Answers that should name an amount: a number, a length of time, a date, a sum of money."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._quantities import MINUTES, Quantity, quantities
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_NAMED = Ruling("yes", "names the amount")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_COUNT = r"(?:\d[\d.]*|one|two|three|four|five|six|seven|eight|nine|ten)"
_RANGE = re.compile(rf"\b{_COUNT}\s{{0,2}}(?:-|\u2013|to|or|and)\s{{0,2}}{_COUNT}\b", re.IGNORECASE)


def amount_ruling(gold: Gold, end: str, *, refused: bool, forgiving: bool) -> Ruling:
    """Return the ruling on an answer that should name an amount; `forgiving`: an error of one day is none."""
    said = quantities(end)
    hit = holds(gold, said)
    if refused:
        return Ruling("unscored", "names the amount and refuses") if hit else CANNOT_TELL
    pool = _pool(gold, end, said)
    if not pool:
        return Ruling("unscored", "names no amount of this kind")
    if holds(gold, pool):
        doubt = _RANGE.search(end) or HEDGED.search(end)
        return Ruling("unscored", "names the amount within a range, or hedged") if doubt else _NAMED
    return _near_miss(gold, pool, ambiguous=hit or bool(_RANGE.search(end)), forgiving=forgiving)


def _near_miss(gold: Gold, pool: Sequence[Quantity], *, ambiguous: bool, forgiving: bool) -> Ruling:
    if forgiving and any(abs(one.value - said.value) <= 1 for (one, *_) in gold.amounts for said in pool):
        return Ruling("yes", "is one day off, which is forgiven")
    if ambiguous or _adds_up(gold, pool):
        return Ruling("unscored", "names the amount among others")
    return Ruling("no", "names another amount")


def _pool(gold: Gold, end: str, said: Sequence[Quantity]) -> list[Quantity]:
    """Return the amounts that are the answer: those in bold, else of the gold's unit, else bare numbers."""
    units = {one.unit for alternative in gold.amounts for one in alternative}
    bold = [one for part in _BOLD.findall(end) for one in quantities(part) if one.unit in units or not one.unit]
    same = [one for one in said if one.unit in units or "" in units or _comparable(one.unit, units)]
    return bold or same or [one for one in said if not one.unit]


def _comparable(unit: str, units: set[str]) -> bool:
    lengths = {*MINUTES, "minutes"}
    return unit in lengths and bool(units & lengths)


def holds(gold: Gold, said: Sequence[Quantity]) -> bool:
    """Return whether all quantities of one of the accepted amounts are there."""
    return any(all(any(_equal(one, other) for other in said) for one in wanted) for wanted in gold.amounts)


def _equal(one: Quantity, other: Quantity) -> bool:
    first, second = _in_minutes(one), _in_minutes(other)
    if first is not None and second is not None:
        return abs(first - second) < 1
    return (one.unit == other.unit or not one.unit or not other.unit) and abs(one.value - other.value) < 1e-6  # noqa: PLR2004


def _in_minutes(one: Quantity) -> float | None:
    if one.unit == "minutes":
        return one.value
    return one.value * MINUTES[one.unit] if one.unit in MINUTES else None


def _adds_up(gold: Gold, pool: Sequence[Quantity]) -> bool:
    return len(pool) > 1 and any(abs(sum(one.value for one in pool) - wanted[0].value) < 1 for wanted in gold.amounts)
