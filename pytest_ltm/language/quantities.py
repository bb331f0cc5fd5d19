"""Quantities in free text: amounts with units, clock times, calendar days; and one form for values. Linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_ltm.api.model import plain_words
from pytest_ltm.language.dates import MONTH_PATTERN, month_number
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import (
    NUMBERS,
    ONES,
    TENS,
    words_with_digits,
    write_digits,
)

# Word -> unit; plurals are known, too.
UNITS = {word: unit for unit, words in LEXICON.table("units").items() for word in words}
# What a unit of time is in minutes, where that is always the same.
MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1440, "week": 10080}
MULTIPLES = {"once": 1, "twice": 2, "thrice": 3}
CLOCKS = ("clock", "clock?")
_SIGNS = {
    "$": "$",
    "£": "pound",
    "€": "€",
    "¥": "yen",
    "₹": "rupee",
    "chf": "chf",
    "sfr": "chf",
    "usd": "$",
    "eur": "€",
    "gbp": "pound",
    "us$": "$",
}
CURRENCIES = LEXICON.words("quantities currencies")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount.

    `unit` is "" for a bare number (also a year), `$` for money, `clock` (minutes of the
    day; `clock?` where morning or evening is not said), `date` (100 x month + day),
    `minutes` for a length of time made of several amounts.
    """

    value: float
    unit: str
    start: int = 0
    """Where it stands in the text, written with digits."""
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
    """Return the quantities of a text, in the order in which they stand there; lengths of several parts come last."""
    plain = write_digits(text)
    times = list(_iter_times(plain))
    # the figures of a time are no amounts of their own
    apart = [
        amount
        for amount in _iter_amounts(plain)
        if not any(time.start <= amount.start < time.end for time in times)
    ]
    ordered = sorted([*times, *apart], key=lambda one: one.start)
    lengths: list[Quantity] = []
    run: list[Quantity] = []
    for one in ordered:
        scale = MINUTES.get(one.unit)
        # near each other, the larger unit first, amounts of time are one length: 1 hour
        # and 30 minutes
        near = bool(run) and one.start - run[-1].start < 24
        if scale is not None and near and scale < MINUTES[run[-1].unit]:
            run.append(one)
            minutes = sum(part.value * MINUTES[part.unit] for part in run)
            lengths.append(Quantity(minutes, "minutes", run[0].start, one.end))
        else:
            run = [one] if scale is not None else []
    return (*ordered, *lengths)


def _iter_times(plain: str) -> Iterator[Quantity]:
    """Yield the times of day, the laps (`4:07`) and the days of a text with digits."""
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
    """Yield the amounts of a text with digits: first those in digits, then those in words."""
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
        elif unit or word not in {
            "a",
            "an",
            "one",
        }:
            # a bare "one" rarely counts anything
            tens = NUMBERS[match[1]] + NUMBERS[match[2]] if match[1] else 0
            value = 0.5 if word == "half" else float(NUMBERS[word] if word else tens)
            yield Quantity(
                value, unit, match.start(), match.end(4) if unit else match.end()
            )


def unit_of(word: str | None) -> str:
    """Return the unit that a word names, "" if none."""
    return UNITS.get(word or "") or UNITS.get((word or "").removesuffix("s")) or ""


# --- When two quantities are the same amount, about the same, or could be compared at
# all.

_LENGTHS = {**MINUTES, "minutes": 1}
_MONTHS = {"month": 1, "year": 12}
_SCALES = (
    _LENGTHS,
    _MONTHS,
    {"gram": 1, "kg": 1_000, "ounce": 28.35, "pound": 453.6},
    {"ml": 1, "liter": 1_000, "gallon": 3_785},
    {
        "mm": 1,
        "cm": 10,
        "meter": 1_000,
        "kilometer": 1_000_000,
        "inch": 25.4,
        "foot": 304.8,
        "yard": 914.4,
        "mile": 1_609_344,
    },
    {"kb": 1, "mb": 1_000, "gb": 1_000_000, "tb": 1_000_000_000},
    {"mbps": 1, "gbps": 1_000},
)


def holds_amounts(
    accepted: Iterable[Iterable[Quantity]], quantities: Sequence[Quantity]
) -> bool:
    """Return whether all quantities of one of the accepted amounts are there."""
    return any(
        all(any(is_equal_amount(one, other) for other in quantities) for one in wanted)
        for wanted in accepted
    )


def is_equal_amount(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities are the same amount, maybe in other units; a bare number equals any unit's."""
    if one.unit in CLOCKS and other.unit in CLOCKS:
        apart = abs(one.value - other.value)
        # half a day apart, where one of them leaves open which half it means
        return apart == 0 or (apart == 720 and "clock?" in (one.unit, other.unit))
    if {one.unit, other.unit} & set(CLOCKS) and "minutes" in (
        one.unit,
        other.unit,
    ):
        # 18:20 may be minutes and seconds
        clock, length = (one, other) if one.unit in CLOCKS else (other, one)
        return _is_same_number(clock.value / 60, length.value) or _is_same_number(
            clock.value, length.value
        )
    for scale in _SCALES:
        if one.unit in scale and other.unit in scale:
            return _is_same_number(
                one.value * scale[one.unit], other.value * scale[other.unit]
            )
    return (
        one.unit == other.unit or not one.unit or not other.unit
    ) and _is_same_number(one.value, other.value)


def same_amounts(one: str, other: str) -> bool:
    """Return whether two texts name the same amounts in the same units and currencies, in the same order."""
    mine, theirs = (
        [(amount.value, amount.unit) for amount in read_quantities(text)]
        for text in (one, other)
    )
    return mine == theirs


def distinct_amounts(some: Iterable[Quantity]) -> list[Quantity]:
    """Return the quantities, each amount once."""
    quantities: list[Quantity] = []
    for one in some:
        if not any(is_equal_amount(one, other) for other in quantities):
            quantities.append(one)
    return quantities


def is_comparable(unit: str, wanted: str) -> bool:
    """Return whether an amount in a unit may answer where one in another is wanted."""
    lengths = {*_LENGTHS, *_MONTHS}
    if unit in CLOCKS:
        return wanted in CLOCKS or wanted == "minutes"
    alike = any(
        unit in scale and wanted in scale for scale in (lengths, CURRENCIES, *_SCALES)
    )
    return unit == wanted or alike


def is_rough(one: Quantity, other: Quantity) -> bool:
    """Return whether two amounts in different units may be meant alike: four weeks and a month, 10 km and 6.2 miles."""
    if one.unit == other.unit or (one.unit in _LENGTHS and other.unit in _LENGTHS):
        return False
    scale = next(
        (scale for scale in _SCALES[2:] if one.unit in scale and other.unit in scale),
        None,
    )
    if scale is not None:
        first = one.value * scale[one.unit]
        second = other.value * scale[other.unit]
    else:
        first = _about_minutes(one)
        second = _about_minutes(other)
    # a month is 28 to 31 days, and people round: lengths that differ by less may be
    # meant alike
    return bool(first and second) and abs(first - second) <= 0.15 * max(first, second)


def is_sum(accepted: Iterable[Sequence[Quantity]], parts: Sequence[Quantity]) -> bool:
    """Return whether the parts, all of one unit, make up one of the accepted amounts."""
    if len(parts) < 2 or len({part.unit for part in parts}) > 1:
        return False
    return any(
        _is_same_number(sum(part.value for part in parts), wanted[0].value)
        for wanted in accepted
    )


def _is_same_number(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1)


def _about_minutes(one: Quantity) -> float:
    if one.unit in _MONTHS:
        return one.value * _MONTHS[one.unit] * (30.44 * 1440)
    return one.value * _LENGTHS.get(one.unit, 0)


# --- One form for values that are written in several: numbers, units, times, names; a
# sign that distinguishes stays.

_FRACTIONS = {
    "\u00bd": ".5",
    "\u00bc": ".25",
    "\u00be": ".75",
    "\u2153": ".33",
    "\u2154": ".67",
    "\u215b": ".125",
}


def canonical_values(text: str, *, like: str = "") -> str:
    """Return a text with its numbers, units and times in one form; `like`: a text whose units settle short ones."""

    def ratio(match: re.Match[str]) -> str:
        # a larger number before the stroke is no fraction: 24/7
        if match[2] < match[3]:
            return f"{int(match[1] or 0) + int(match[2]) / int(match[3]):g}"
        return match[0]

    def lap_time(match: re.Match[str]) -> str:
        minutes, seconds = (
            "".join(words_with_digits(plain_words(part.replace("-", " "))))
            for part in match.groups()
        )
        if minutes.isdecimal() and seconds.isdecimal():
            return f"{minutes}:{int(seconds):02}"
        return match[0]

    text = RE.instant.sub(r"\1" if ":" not in like else r"\1 \2", text)
    text = RE.comma.sub(
        lambda match: (
            f"{(match[1] or match[3]).replace('.', '')}.{match[2] or match[4]}"
        ),
        text,
    )
    text = RE.fraction.sub(lambda match: f"{match[1] or 0}{_FRACTIONS[match[2]]}", text)
    text = RE.ratio.sub(ratio, text)
    text = RE.times.sub(r"\1 times", text)
    text = RE.hour.sub(lambda match: str(ONES.index(match[0].lower())), text)
    text = RE.compound.sub(
        lambda match: str(
            sum(NUMBERS[word.lower()] for word in filter(None, match.groups()))
        ),
        text,
    )
    if re.search(r"\bk(?:m|ilomet)", like):
        text = RE.short_kilometers.sub(r"\1 km", text)
    if RE.value_lap.fullmatch(like):
        text = RE.long_time.sub(lap_time, text)
    return text
