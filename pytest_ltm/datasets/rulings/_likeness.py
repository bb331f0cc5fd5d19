"""When two quantities are the same amount, about the same, or could be compared at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._quantities import CLOCKS, MINUTES, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_LENGTHS = {**MINUTES, "minutes": 1}
_MONTHS = {"month": 1, "year": 12}
_SCALES = (
    _LENGTHS, _MONTHS, {"gram": 1, "kg": 1_000}, {"ounce": 1, "pound": 16}, {"ml": 1, "liter": 1_000},
    {"mm": 1, "cm": 10, "meter": 1_000, "kilometer": 1_000_000}, {"inch": 1, "foot": 12, "yard": 36, "mile": 63_360},
)  # fmt: skip
_MONTH_MINUTES = 30.44 * 1440
_HALF_A_DAY = 720
_ROUGHLY = 0.15
"""A month is 28 to 31 days: lengths that differ by less than this share may be meant alike."""


def holds(gold: Gold, said: Sequence[Quantity]) -> bool:
    """Return whether all quantities of one of the accepted amounts are there."""
    return any(all(any(equal(one, other) for other in said) for one in wanted) for wanted in gold.amounts)


def equal(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities are the same amount, maybe in other units; a bare number equals any unit's."""
    if one.unit in CLOCKS and other.unit in CLOCKS:
        apart = abs(one.value - other.value)
        return apart == 0 or (apart == _HALF_A_DAY and "clock?" in (one.unit, other.unit))
    if {one.unit, other.unit} & set(CLOCKS) and "minutes" in (one.unit, other.unit):  # 18:20 may be minutes and seconds
        clock, length = (one, other) if one.unit in CLOCKS else (other, one)
        return _same(clock.value / 60, length.value) or _same(clock.value, length.value)
    for scale in _SCALES:
        if one.unit in scale and other.unit in scale:
            return _same(one.value * scale[one.unit], other.value * scale[other.unit])
    return (one.unit == other.unit or not one.unit or not other.unit) and _same(one.value, other.value)


def distinct(some: Iterable[Quantity]) -> list[Quantity]:
    """Return the quantities, each amount once."""
    found: list[Quantity] = []
    for one in some:
        if not any(equal(one, other) for other in found):
            found.append(one)
    return found


def comparable(unit: str, wanted: str) -> bool:
    """Return whether an amount in a unit may answer where one in another is wanted."""
    lengths = {*_LENGTHS, *_MONTHS}
    if unit in CLOCKS:
        return wanted in CLOCKS or wanted == "minutes"
    alike = any(unit in scale and wanted in scale for scale in (lengths, *_SCALES))
    return unit == wanted or alike


def is_rough(one: Quantity, other: Quantity) -> bool:
    """Return whether two lengths of time in different units may be meant alike: four weeks and a month."""
    first, second = _about_minutes(one), _about_minutes(other)
    return bool(first and second) and one.unit != other.unit and abs(first - second) <= _ROUGHLY * max(first, second)


def is_sum(gold: Gold, parts: Sequence[Quantity]) -> bool:
    """Return whether the amounts, of one unit, make up the expected one."""
    if len(parts) < 2 or len({one.unit for one in parts}) > 1:  # noqa: PLR2004 - a sum has two parts
        return False
    return any(_same(sum(one.value for one in parts), wanted[0].value) for wanted in gold.amounts)


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1)


def _about_minutes(one: Quantity) -> float:
    if one.unit in _MONTHS:
        return one.value * _MONTHS[one.unit] * _MONTH_MINUTES
    return one.value * _LENGTHS.get(one.unit, 0)
