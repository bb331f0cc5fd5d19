"""Quantities in free text: amounts with units, clock times, calendar days. Linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._numerals import digits
from pytest_ltm.evaluators._words import NUMBERS, ONES, TENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
UNITS = {
    "second": "second", "sec": "second", "minute": "minute", "min": "minute", "hour": "hour", "hr": "hour", "h": "hour",
    "day": "day", "night": "night", "week": "week", "month": "month", "year": "year", "yr": "year",
    "mile": "mile", "kilometer": "kilometer", "kilometre": "kilometer", "km": "kilometer", "meter": "meter",
    "metre": "meter", "cm": "cm", "mm": "mm", "foot": "foot", "feet": "foot", "ft": "foot", "inch": "inch",
    "inches": "inch", "yard": "yard", "acre": "acre", "mph": "mph",
    "kb": "kb", "mb": "mb", "gb": "gb", "tb": "tb", "mbps": "mbps", "gbps": "gbps",
    "pound": "pound", "lb": "pound", "ounce": "ounce", "oz": "ounce", "kg": "kg", "kilo": "kg", "kilogram": "kg",
    "gram": "gram", "ton": "ton", "liter": "liter", "litre": "liter", "ml": "ml", "gallon": "gallon", "cup": "cup",
    "tablespoon": "tablespoon", "tbsp": "tablespoon", "teaspoon": "teaspoon", "tsp": "teaspoon",
    "calorie": "calorie", "degree": "degree", "celsius": "celsius", "fahrenheit": "fahrenheit",
    "watt": "watt", "volt": "volt",
    "percent": "%", "dollar": "$", "usd": "$", "buck": "$", "euro": "€", "eur": "€", "cent": "cent",
    "time": "time", "page": "page", "point": "point",
}  # fmt: skip
"""Word -> unit; plurals are known, too."""
MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1440, "week": 10080}
"""What a unit of time is in minutes, where that is always the same."""
MULTIPLES = {"once": 1, "twice": 2, "thrice": 3}
CLOCKS = ("clock", "clock?")
_SIGNS = {"$": "$", "£": "pound", "€": "€"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount.

    `unit` is "" for a bare number (also a year), `$` for money, `clock` (minutes of the day; `clock?` where morning or
    evening is not said), `date` (100 x month + day), `minutes` for a length of time made of several amounts.
    """

    value: float
    unit: str
    start: int = 0
    """Where it stands in the text, written with digits."""
    end: int = 0


_SMALL = "|".join([*MULTIPLES, *ONES, *TENS, "couple", "dozen", "half", "an", "a"])
_WORDED = re.compile(
    rf"\b(?:({'|'.join(TENS)})[- ]({'|'.join(ONES[1:10])})|({_SMALL}))\b(?:(?=(?: of)?[\s-]{{0,3}}([a-z]+)))?"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b")
_CLOCK_24 = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)(?!:?\d|\s*[ap]\.?m\b)")
_LAP = re.compile(r"\b(2[4-9]|[3-9]\d):([0-5]\d)(?!:?\d)")
_DAY_OF = re.compile(
    rf"\b({_MONTH})\.?\s+(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)"
    rf"|\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b"
)
_ISO_DAY = re.compile(r"\b\d{4}[-/](\d{1,2})[-/](\d{1,2})\b")
_YEAR_AFTER = re.compile(r",?\s+(?:of )?(?:19|20)\d\d\b")
_AMOUNT = re.compile(
    rf"(?P<money>[$£€]\s?)?(?<![\w.])(?P<number>{_NUMBER})(?P<thousand>k\b|\s?thousand\b|\s?million\b)?(?P<percent>\s?%)?"
    r"(?:st\b|nd\b|rd\b|th\b)?(?:(?: u\.?s\.?)?[\s-]{0,3}(?P<unit>[a-z]+))?"
)
_THOUSANDS = {"k": 1_000, "thousand": 1_000, "million": 1_000_000}
_APART = 24
"""Amounts of time so near each other, the larger unit first, are one length: 1 hour and 30 minutes."""


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in the order in which they stand there; lengths of several parts come last."""
    plain = digits(text)
    found = [*_clocks(plain), *_days(plain)]
    amounts = [
        one
        for one in (*_amounts(plain), *_worded(plain))
        if not any(other.start <= one.start < other.end for other in found)
    ]
    ordered = sorted([*found, *amounts], key=lambda one: one.start)
    return [*ordered, *_lengths(ordered)]


def _clocks(plain: str) -> Iterator[Quantity]:
    for found in _CLOCK.finditer(plain):
        hour = int(found[1]) % 12 + 12 * (found[3] == "p")
        yield Quantity(hour * 60 + int(found[2] or 0), "clock", *found.span())
    for found in _CLOCK_24.finditer(plain):
        open_half = 1 <= int(found[1]) <= 12 and not found[1].startswith("0")  # noqa: PLR2004 - hours of half a day
        yield Quantity(int(found[1]) * 60 + int(found[2]), "clock?" if open_half else "clock", *found.span())
    for found in _LAP.finditer(plain):
        yield Quantity(int(found[1]) + int(found[2]) / 60, "minutes", *found.span())


def _days(plain: str) -> Iterator[Quantity]:
    for found in _DAY_OF.finditer(plain):
        month, day = (found[1], found[2]) if found[1] else (found[4], found[3])
        number = next(i for i, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
        year = _YEAR_AFTER.match(plain, found.end())
        yield Quantity(number * 100 + int(day), "date", found.start(), year.end() if year else found.end())
    for found in _ISO_DAY.finditer(plain):
        yield Quantity(int(found[1]) * 100 + int(found[2]), "date", *found.span())


def _amounts(plain: str) -> Iterator[Quantity]:
    for found in _AMOUNT.finditer(plain):
        value = float(found["number"].replace(",", ""))
        value *= _THOUSANDS.get((found["thousand"] or "").strip(), 1)
        sign = _SIGNS.get((found["money"] or "").strip())
        unit = sign or ("%" if found["percent"] else unit_of(found["unit"]))
        end = found.end() if unit else found.end("number")
        yield Quantity(value, unit, found.start("number"), end)


def _worded(plain: str) -> Iterator[Quantity]:
    for found in _WORDED.finditer(plain):
        word, unit = found[3], unit_of(found[4])
        if word in MULTIPLES:
            yield Quantity(float(MULTIPLES[word]), "time", *found.span(3))
        elif unit or word not in {"a", "an", "one"}:  # a bare "one" rarely counts anything
            tens = NUMBERS[found[1]] + NUMBERS[found[2]] if found[1] else 0
            value = 0.5 if word == "half" else float(NUMBERS[word] if word else tens)
            yield Quantity(value, unit, found.start(), found.end(4) if unit else found.end())


def _lengths(ordered: Sequence[Quantity]) -> Iterator[Quantity]:
    run: list[Quantity] = []
    for one in ordered:
        scale = MINUTES.get(one.unit)
        near = bool(run) and one.start - run[-1].start < _APART
        if scale is not None and near and scale < MINUTES[run[-1].unit]:
            run.append(one)
            yield Quantity(sum(part.value * MINUTES[part.unit] for part in run), "minutes", run[0].start, one.end)
        else:
            run = [one] if scale is not None else []


def unit_of(word: str | None) -> str:
    """Return the unit that a word names, "" if none."""
    return UNITS.get(word or "") or UNITS.get((word or "").removesuffix("s")) or ""
