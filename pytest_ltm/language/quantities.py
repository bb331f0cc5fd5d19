"""Quantities in free text: amounts with units, clock times, calendar days. Linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from pytest_ltm.language.dates import MONTH_PATTERN, month_number
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import NUMBERS, ONES, TENS, write_digits
from pytest_ltm.language.values.amounts import conversion_factor

# Word -> unit, by its CLDR id if it has one; plurals are recognised, too.
UNITS = LEXICON.keys_by_word("units")
# Minutes of each unit of time with a fixed length.
MINUTES = {
    "duration-second": 1 / 60,
    "duration-minute": 1,
    "duration-hour": 60,
    "duration-day": 1440,
    "duration-week": 10080,
}
MULTIPLES = {"once": 1, "twice": 2, "thrice": 3}
CLOCKS = ("clock", "clock?")
_SIGNS = LEXICON.keys_by_word("currency signs")
CURRENCIES = LEXICON.words("quantities currencies")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount.

    `unit` is "" for a bare number (also a year), `$` for money, `clock` (minutes of the
    day; `clock?` if morning or evening is unclear), `date` (100 x month + day),
    `minutes` for a length of time made of several amounts.
    """

    value: float
    unit: str
    start: int = 0
    """Its position in the text written with digits."""
    end: int = 0


_SMALL = "|".join([*MULTIPLES, *ONES, *TENS, "couple", "dozen", "half", "an", "a"])
RE = LEXICON.expressions(
    "quantities",
    tens="|".join(TENS),
    units="|".join(ONES[1:10]),
    small=_SMALL,
    month=MONTH_PATTERN,
    hours="|".join(ONES[1:13]),
)
_THOUSANDS = {"k": 1_000, "thousand": 1_000, "million": 1_000_000}


@lru_cache(maxsize=64)
def read_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities in a text, in order; lengths of several parts come last."""
    plain = write_digits(text)
    times = list(_iter_times(plain))
    # the digits of a time are not separate amounts
    apart = [
        amount
        for amount in _iter_amounts(plain)
        if not any(time.start <= amount.start < time.end for time in times)
    ]
    ordered = sorted([*times, *apart], key=lambda amount: amount.start)
    lengths: list[Quantity] = []
    run: list[Quantity] = []
    for amount in ordered:
        scale = MINUTES.get(amount.unit)
        # adjacent amounts of time, larger unit first, are one length: 1 hour and 30
        # minutes
        near = bool(run) and amount.start - run[-1].start < 24
        if scale is not None and near and scale < MINUTES[run[-1].unit]:
            run.append(amount)
            minutes = sum(part.value * MINUTES[part.unit] for part in run)
            lengths.append(Quantity(minutes, "minutes", run[0].start, amount.end))
        else:
            run = [amount] if scale is not None else []
    return (*ordered, *lengths)


def _iter_times(plain: str) -> Iterator[Quantity]:
    """Yield the times of day, laps (`4:07`) and days in a text with digits."""
    for match in RE.clock.finditer(plain):
        hour = int(match[1]) % 12 + 12 * (match[3] == "p")
        yield Quantity(hour * 60 + int(match[2] or 0), "clock", *match.span())
    for match in RE.clock_of_day.finditer(plain):
        open_half = 1 <= int(match[1]) <= 12 and not match[1].startswith("0")
        yield Quantity(
            int(match[1]) * 60 + int(match[2]),
            "clock?" if open_half else "clock",
            *match.span(),
        )
    for match in RE.lap.finditer(plain):
        yield Quantity(int(match[1]) + int(match[2]) / 60, "minutes", *match.span())
    for match in RE.day_of.finditer(plain):
        month, day = (match[1], match[2]) if match[1] else (match[4], match[3])
        year = RE.year_after.match(plain, match.end())
        number = (month_number(month) or 0) * 100 + int(day)
        yield Quantity(
            number, "date", match.start(), year.end() if year else match.end()
        )
    for match in RE.iso_day.finditer(plain):
        yield Quantity(int(match[1]) * 100 + int(match[2]), "date", *match.span())


def _iter_amounts(plain: str) -> Iterator[Quantity]:
    """Yield the amounts in a text with digits: those in digits, then those in words."""
    for match in RE.amount.finditer(plain):
        value = float(match["number"].replace(",", ""))
        value *= _THOUSANDS.get((match["thousand"] or "").strip(), 1)
        sign = _SIGNS.get((match["money"] or match["sign"] or "").strip())
        named = unit_of(match["unit"])
        unit = sign or ("%" if match["percent"] else named)
        if named:
            end = match.end()
        else:
            end = max(map(match.end, ("number", "thousand", "percent", "sign")))
        yield Quantity(value, unit, match.start("number"), end)
    for match in RE.worded.finditer(plain):
        word = match[3]
        unit = unit_of(match[4])
        if word in MULTIPLES:
            yield Quantity(float(MULTIPLES[word]), "time", *match.span(3))
        elif unit or word not in {"a", "an", "one"}:
            # a bare "one" rarely counts anything
            tens = NUMBERS[match[1]] + NUMBERS[match[2]] if match[1] else 0
            value = 0.5 if word == "half" else float(NUMBERS[word] if word else tens)
            yield Quantity(
                value, unit, match.start(), match.end(4) if unit else match.end()
            )


def unit_of(word: str | None) -> str:
    """Return the unit that a word names, or ""."""
    return UNITS.get(word or "") or UNITS.get((word or "").removesuffix("s")) or ""


# --- Comparing quantities: equal, roughly equal, or comparable at all.

_FIXED_LENGTHS = frozenset((*MINUTES, "minutes"))
# A month has 28 to 31 days, and people round: a smaller difference may be the same
# amount.
_ROUGHLY = 0.15


def _factor_between(unit: str, other: str) -> float | None:
    """Return the conversion factor between two units; None if they measure different things."""
    ids = ["duration-minute" if name == "minutes" else name for name in (unit, other)]
    if not all("-" in name for name in ids):
        return None
    return conversion_factor(*ids)


def holds_amounts(
    accepted: Iterable[Iterable[Quantity]], quantities: Sequence[Quantity]
) -> bool:
    """Return whether all quantities of one accepted amount are present."""
    return any(
        all(
            any(is_equal_amount(part, other) for other in quantities) for part in wanted
        )
        for wanted in accepted
    )


def is_equal_amount(first: Quantity, second: Quantity) -> bool:
    """Return whether two quantities are equal, perhaps in other units; a bare number may have any unit."""
    if first.unit in CLOCKS and second.unit in CLOCKS:
        apart = abs(first.value - second.value)
        # half a day apart is equal if one of them leaves the half of the day open
        return apart == 0 or (apart == 720 and "clock?" in (first.unit, second.unit))
    if {first.unit, second.unit} & set(CLOCKS) and "minutes" in (
        first.unit,
        second.unit,
    ):
        # 18:20 may be minutes and seconds
        clock, length = (first, second) if first.unit in CLOCKS else (second, first)
        return _is_same_number(clock.value / 60, length.value) or _is_same_number(
            clock.value, length.value
        )
    if first.unit in CLOCKS and not second.unit:
        # "at seven" is an hour if one is expected
        return second.value * 60 in (first.value, first.value - 720)
    factor = _factor_between(first.unit, second.unit)
    if factor is not None:
        return _is_same_number(first.value * factor, second.value)
    return (
        first.unit == second.unit or not first.unit or not second.unit
    ) and _is_same_number(first.value, second.value)


def same_amounts(first: str, second: str) -> bool:
    """Return whether two texts have the same amounts in the same units and currencies, in the same order."""
    mine, theirs = (
        [(amount.value, amount.unit) for amount in read_quantities(text)]
        for text in (first, second)
    )
    return mine == theirs


def distinct_amounts(amounts: Iterable[Quantity]) -> list[Quantity]:
    """Return the quantities without repeated amounts."""
    quantities: list[Quantity] = []
    for amount in amounts:
        if not any(is_equal_amount(amount, other) for other in quantities):
            quantities.append(amount)
    return quantities


def is_comparable(unit: str, wanted: str) -> bool:
    """Return whether an amount in `unit` may answer where one in `wanted` is expected."""
    if unit in CLOCKS:
        return wanted in CLOCKS or wanted == "minutes"
    are_moneys = unit in CURRENCIES and wanted in CURRENCIES
    return unit == wanted or are_moneys or _factor_between(unit, wanted) is not None


def is_rough(amount: Quantity, other: Quantity) -> bool:
    """Return whether two amounts in different units may mean the same: four weeks and a month, 10 km and 6.2 miles."""
    units = {amount.unit, other.unit}
    factor = _factor_between(amount.unit, other.unit)
    if factor is None or len(units) == 1 or units <= _FIXED_LENGTHS:
        return False
    size = amount.value * factor
    return abs(size - other.value) <= _ROUGHLY * max(size, other.value)


def is_sum(accepted: Iterable[Sequence[Quantity]], parts: Sequence[Quantity]) -> bool:
    """Return whether the parts, all in one unit, add up to an accepted amount."""
    if len(parts) < 2 or len({part.unit for part in parts}) > 1:
        return False
    return any(
        _is_same_number(sum(part.value for part in parts), wanted[0].value)
        for wanted in accepted
    )


def is_result(
    accepted: Iterable[Sequence[Quantity]], parts: Sequence[Quantity]
) -> bool:
    """Return whether an accepted amount is the sum of the parts, or the difference of two of them."""
    golds = list(accepted)
    pairs = permutations(parts, 2)
    return is_sum(golds, parts) or any(
        _is_same_number(first.value - second.value, wanted[0].value)
        for first, second in pairs
        for wanted in golds
    )


def _is_same_number(first: float, second: float) -> bool:
    return abs(first - second) <= 1e-6 * max(abs(first), abs(second), 1)
