"""Quantities in free text: amounts with units, clock times, calendar days. Linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._words import NUMBERS, ONES, TENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
UNITS = {
    "second": "second", "sec": "second", "minute": "minute", "min": "minute", "hour": "hour", "hr": "hour",
    "day": "day", "night": "night", "week": "week", "month": "month", "year": "year", "yr": "year",
    "mile": "mile", "kilometer": "kilometer", "km": "kilometer", "foot": "foot", "feet": "foot", "inch": "inch",
    "gb": "gb", "mbps": "mbps", "gbps": "gbps", "percent": "%", "pound": "pound", "lb": "pound", "time": "time",
    "page": "page", "dollar": "$", "point": "point", "mph": "mph", "kg": "kg", "gram": "gram", "cup": "cup",
}  # fmt: skip
"""Word -> unit; plurals are known, too."""
MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1440, "week": 10080}
"""What a unit of time is in minutes, where that is always the same."""
MULTIPLES = {"once": 1, "twice": 2, "thrice": 3}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount.

    `unit` is "" for a bare number (also a year), `$` for money, `clock` (minutes of the day), `date`
    (100 x month + day), `minutes` for a length of time made of several amounts.
    """

    value: float
    unit: str
    start: int = 0
    """Where it stands in the text."""


_SMALL = "|".join([*MULTIPLES, *ONES, *TENS, "couple", "dozen", "half", "an", "a"])
_WORDED = re.compile(rf"\b(?:({'|'.join(TENS)})[- ]({'|'.join(ONES[1:10])})|({_SMALL}))\b(?:[\s-]{{0,3}}([a-z]+))?")
_AND_A_HALF = re.compile(
    r"\b(an?|one|two|three|four|five|six|\d{1,4}) (second|minute|hour|day|week|month|year)s? and a half\b"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b")
_CLOCK_24 = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)(?!\s*[ap]\.?m)\b")
_DAY_OF = re.compile(
    rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)|\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b"
)
_ISO_DAY = re.compile(r"\b\d{4}[-/](\d{1,2})[-/](\d{1,2})\b")
_AMOUNT = re.compile(
    rf"(?P<money>[$£€]\s?)?(?<![\w.])(?P<number>{_NUMBER})(?P<thousand>k\b|\s?million\b)?(?P<percent>\s?%)?"
    r"(?:st\b|nd\b|rd\b|th\b)?(?:[\s-]{0,3}(?P<unit>[a-z]+))?"
)
_LENGTH = 12
"""So many characters after its beginning belong to a clock time or a day at most."""
_APART = 24
"""Amounts of time so near each other, the larger unit first, are one length: 1 hour and 30 minutes."""


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in the order in which they stand there."""
    plain = _AND_A_HALF.sub(_half_more, text.lower().replace("**", ""))
    found = [*_clocks(plain), *_days(plain)]
    taken = [one.start for one in found]
    amounts = [
        one for one in (*_amounts(plain), *_worded(plain)) if not any(0 <= one.start - at < _LENGTH for at in taken)
    ]
    ordered = sorted([*found, *amounts], key=lambda one: one.start)
    return [*ordered, *_lengths(ordered)]


def _half_more(found: re.Match[str]) -> str:
    whole = float(found[1]) if found[1].isdigit() else NUMBERS[found[1]]
    return f"{whole + 0.5:g} {found[2]}s"


def _clocks(plain: str) -> Iterator[Quantity]:
    for found in _CLOCK.finditer(plain):
        hour = int(found[1]) % 12 + 12 * (found[3] == "p")
        yield Quantity(hour * 60 + int(found[2] or 0), "clock", found.start())
    for found in _CLOCK_24.finditer(plain):
        yield Quantity(int(found[1]) * 60 + int(found[2]), "clock", found.start())


def _days(plain: str) -> Iterator[Quantity]:
    for found in _DAY_OF.finditer(plain):
        month, day = (found[1], found[2]) if found[1] else (found[4], found[3])
        number = next(i for i, name in enumerate(MONTHS, start=1) if name.startswith(month[:3]))
        yield Quantity(number * 100 + int(day), "date", found.start())
    for found in _ISO_DAY.finditer(plain):
        yield Quantity(int(found[1]) * 100 + int(found[2]), "date", found.start())


def _amounts(plain: str) -> Iterator[Quantity]:
    for found in _AMOUNT.finditer(plain):
        value = float(found["number"].replace(",", ""))
        if found["thousand"]:
            value *= 1_000 if found["thousand"] == "k" else 1_000_000
        unit = "$" if found["money"] else "%" if found["percent"] else unit_of(found["unit"])
        yield Quantity(value, unit, found.start("number"))


def _worded(plain: str) -> Iterator[Quantity]:
    for found in _WORDED.finditer(plain):
        word, unit = found[3], unit_of(found[4])
        if word in MULTIPLES:
            yield Quantity(float(MULTIPLES[word]), "time", found.start())
        elif unit or word not in {"a", "an", "one"}:  # a bare "one" rarely counts anything
            tens = NUMBERS[found[1]] + NUMBERS[found[2]] if found[1] else 0
            yield Quantity(0.5 if word == "half" else float(NUMBERS[word] if word else tens), unit, found.start())


def _lengths(ordered: Sequence[Quantity]) -> Iterator[Quantity]:
    run: list[Quantity] = []
    for one in ordered:
        scale = MINUTES.get(one.unit)
        near = bool(run) and one.start - run[-1].start < _APART
        if scale is not None and near and scale < MINUTES[run[-1].unit]:
            run.append(one)
            yield Quantity(sum(part.value * MINUTES[part.unit] for part in run), "minutes", run[0].start)
        else:
            run = [one] if scale is not None else []


def unit_of(word: str | None) -> str:
    """Return the unit that a word names, "" if none."""
    return UNITS.get(word or "") or UNITS.get((word or "").removesuffix("s")) or ""
