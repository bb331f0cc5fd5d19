"""Quantities in a text: amounts, times of day and days of a year, each with its position. Linear time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, permutations, product, starmap

from pytest_ltm.language.values.amounts import (
    COUNTED,
    TIMES,
    Amount,
    compare_amounts,
    single_amounts_at,
)
from pytest_ltm.language.values.comparison import value_windows
from pytest_ltm.language.values.moments import (
    Moment,
    compare_moments,
    may_end_value,
    moments_at,
)
from pytest_ltm.language.values.sameness import Sameness
from pytest_ltm.language.values.writing import Token

CLOCK = "clock"
DAY = "day of a year"
_CLOCK_FIELDS = ("hour", "minute")
_DAY_FIELDS = ("month", "day")
_OTHER_FIELDS = frozenset(("second", "weekday", "year"))
_SPACE_IN_FIGURES = re.compile(r"(?<=\d) (?=\d)")
_SIGNS = frozenset(("+", "-", "plus", "minus"))
BARE = ""
"""The kind of a number without a unit."""
_TIMES_OF_DAYS = frozenset((CLOCK, DAY))


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, a time of day or a day of a year."""

    start: int
    end: int
    value: Fraction
    """The number; the minutes of a time of day, and 100 x month + day of a day."""
    kinds: frozenset[str]
    """What it may measure: CLDR's kinds of units, `money`, `times`, `clock`, `day of a year`; "" for a bare number."""
    amounts: tuple[Amount, ...] = field(default=(), compare=False)
    """Its readings as an amount."""
    moments: tuple[Moment, ...] = field(default=(), compare=False)
    """Its readings as a time of day or a day."""
    period: str = field(default="", compare=False)
    """The unit of its period, if it is a rate: `duration-week`."""
    stop: int = field(default=0, compare=False)
    """Its end with its period."""

    @property
    def is_bare(self) -> bool:
        """Whether it may be a number without a unit."""
        return BARE in self.kinds

    @property
    def is_time(self) -> bool:
        """Whether it is a time of day or a day."""
        return not _TIMES_OF_DAYS.isdisjoint(self.kinds)

    @property
    def is_count(self) -> bool:
        """Whether it may count things: three, or three times."""
        return not self.kinds.isdisjoint((BARE, TIMES))

    def with_units(self, units: frozenset[str]) -> Quantity:
        """Return a bare number as an amount in one of the units."""
        if not units or self.kinds != {BARE}:
            return self
        amounts = tuple(replace(amount, units=units) for amount in self.amounts)
        return replace(self, kinds=_kinds_of(amounts), amounts=amounts)


def bare_quantity(value: int, start: int, end: int) -> Quantity:
    """Return a number without a unit at a position."""
    amount = Amount(Fraction(value), Fraction(value))
    return Quantity(start, end, Fraction(value), frozenset((BARE,)), (amount,))


@lru_cache(maxsize=64)
def find_quantities(text: str) -> Sequence[Quantity]:
    """Return the quantities of a normalized text, in order; a bare "one" rarely counts anything."""
    return list(_iter_quantities(text))


def _iter_quantities(text: str) -> Iterator[Quantity]:
    # a space between figures is no separator of thousands in prose
    text = _SPACE_IN_FIGURES.sub("\n", text)
    end = -1
    for window in value_windows(text):
        start = window[0].start
        is_operator = window[0].key in _SIGNS and (
            start == end or not _touches(window) or text[end:start].isspace()
        )
        # the hyphen of "three-four" and "covid-19" is no minus
        is_hyphen = window[0].key == "-" and text[start - 1 : start].isalnum()
        if start < end or is_operator or is_hyphen:
            continue
        quantity = _time_at(text, window) or _amount_at(window)
        if quantity:
            yield quantity
            # "a month" behind an amount is its period
            end = quantity.stop


def _touches(window: Sequence[Token]) -> bool:
    return len(window) > 1 and window[0].end == window[1].start


def _time_at(text: str, window: Sequence[Token]) -> Quantity | None:
    """Return the time of day or the day at a token; a time may also be a length: 18:20."""
    # "nine to twelve" is a range
    is_range = len(window) > 1 and window[1].key == "to" and window[0].key != "quarter"
    if is_range or not may_end_value(window[0]):
        return None
    by_size: dict[int, list[Moment]] = defaultdict(list)
    for moment, size in moments_at(text, window):
        is_bare = size == 1 and window[0].is_number
        if is_bare or moment.relation or not may_end_value(window[size - 1]):
            continue
        names = _CLOCK_FIELDS if "hour" in moment.fields else _DAY_FIELDS
        if moment.likely and moment.fields.keys() - _OTHER_FIELDS == set(names):
            fields = {name: moment.fields[name] for name in names}
            by_size[size].append(replace(moment, fields=fields, relation=""))
    if not by_size:
        return None
    size = max(by_size)
    moments = tuple(by_size[size])
    high, low = moments[0].fields.values()
    if "hour" in moments[0].fields:
        kind = CLOCK
        value = Fraction(high * 60 + low)
    else:
        kind = DAY
        value = Fraction(high * 100 + low)
    lengths = []
    for amount, amount_size in single_amounts_at(window):
        is_length = any(unit.startswith("duration-") for unit in amount.units)
        if amount_size == size and is_length:
            lengths.append(amount)
    kinds = _kinds_of(lengths) | {kind}
    end = window[size - 1].end
    return Quantity(
        window[0].start, end, value, kinds, tuple(lengths), moments, stop=end
    )


def _amount_at(window: Sequence[Token]) -> Quantity | None:
    """Return the amount at a token, without the noun that it counts."""
    plain: dict[int, list[Amount]] = defaultdict(list)
    frequencies: dict[int, list[Amount]] = defaultdict(list)
    periods: dict[int, str] = {}
    for amount, size in single_amounts_at(window):
        # the "in" of "260 in all" is no inch
        ends_here = amount.likely and may_end_value(window[size - 1])
        is_telling = ends_here and _is_telling(amount, window[0])
        if not is_telling or _is_designation(amount, window, size):
            continue
        if amount.per:
            frequencies[size].append(replace(amount, per=None))
            _, periods[size] = amount.per
        else:
            plain[size].append(amount)
    # a frequency is only its period: weekly
    by_size = plain or frequencies
    if not by_size:
        return None
    size = max(by_size)
    amounts = tuple(by_size[size])
    stop = max((size, *periods))
    return Quantity(
        window[0].start,
        window[size - 1].end,
        amounts[0].low or Fraction(0),
        _kinds_of(amounts),
        amounts,
        period=periods.get(stop, ""),
        stop=window[stop - 1].end,
    )


def _is_designation(amount: Amount, window: Sequence[Token], size: int) -> bool:
    """Return whether a letter touches a bare number: seat 14a."""
    if amount.units or size == len(window):
        return False
    return window[size].is_word and window[size].start == window[size - 1].end


_VAGUE_STARTS = frozenset(("a", "an", "half", "quarter"))


def _is_telling(amount: Amount, first: Token) -> bool:
    """Return whether a reading is an amount wherever it stands, which few bare numbers in words are."""
    if amount.units:
        return not any(unit.startswith(COUNTED) for unit in amount.units)
    if not first.is_word:
        return True
    if amount.ordinal or amount.low is None:
        return False
    # "a third" may be another one, and "half" a part of a word
    is_fraction = 0 < amount.low < 1 and first.key not in _VAGUE_STARTS
    is_fraction = is_fraction and not amount.per
    return amount.low > 1 or is_fraction or first.key == "zero"


def _kinds_of(amounts: Iterable[Amount]) -> frozenset[str]:
    units = chain.from_iterable(amount.units or (BARE,) for amount in amounts)
    return frozenset(unit.split("-")[0].split(":")[0] for unit in units)


# --- Comparing.


def is_equal(first: Quantity, second: Quantity) -> bool:
    """Return whether two quantities are equal, perhaps in other units; a bare number may have any unit."""
    amounts = product(first.amounts, second.amounts)
    times = product(first.moments, second.moments)
    results = (starmap(compare_amounts, amounts), starmap(compare_moments, times))
    if Sameness.SAME in chain.from_iterable(results):
        return True
    # "at seven" is an hour if one is expected
    is_hour = CLOCK in first.kinds and second.is_bare
    return is_hour and second.value * 60 in (first.value, first.value - 12 * 60)


def is_in_same_unit(first: Quantity, second: Quantity) -> bool:
    """Return whether two quantities have the same unit, so that their values can be compared."""
    return first.kinds == second.kinds and _units_of(first) == _units_of(second)


def _units_of(quantity: Quantity) -> frozenset[str]:
    return frozenset().union(*(amount.units for amount in quantity.amounts))


def is_close(first: Quantity, second: Quantity) -> bool:
    """Return whether two quantities may mean the same: four weeks and a month, 10 km and 6.2 miles."""
    for amount, other in product(first.amounts, second.amounts):
        # three times is not three of anything else
        is_comparable = TIMES not in amount.units ^ other.units
        if is_comparable and compare_amounts(amount, other) is Sameness.UNKNOWN:
            return True
    return False


def are_present(
    accepted: Iterable[Iterable[Quantity]], quantities: Sequence[Quantity]
) -> bool:
    """Return whether all quantities of one accepted amount are among others."""

    def is_present(part: Quantity) -> bool:
        return any(is_equal(part, quantity) for quantity in quantities)

    return any(all(map(is_present, parts)) for parts in accepted)


def distinct_quantities(quantities: Iterable[Quantity]) -> list[Quantity]:
    """Return the quantities without repeated amounts."""
    distinct: list[Quantity] = []
    for quantity in quantities:
        if not any(is_equal(quantity, other) for other in distinct):
            distinct.append(quantity)
    return distinct


def is_sum(accepted: Iterable[Sequence[Quantity]], parts: Sequence[Quantity]) -> bool:
    """Return whether the parts, all in one unit, add up to an accepted amount."""
    if len(parts) < 2 or not all(is_in_same_unit(parts[0], part) for part in parts):
        return False
    total = sum(part.value for part in parts)
    return total in _values_of(accepted)


def _values_of(accepted: Iterable[Sequence[Quantity]]) -> set[Fraction]:
    return {parts[0].value for parts in accepted}


def is_result(
    accepted: Iterable[Sequence[Quantity]], parts: Sequence[Quantity]
) -> bool:
    """Return whether an accepted amount is the sum of the parts, or the difference of two of them."""
    accepted = list(accepted)
    if is_sum(accepted, parts):
        return True
    values = _values_of(accepted)
    return any(
        first.value - second.value in values for first, second in permutations(parts, 2)
    )
