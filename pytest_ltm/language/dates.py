"""English times as ranges of days: `7 May 2023`, `the week before 9 June 2023`, `fall of 2023`, `2022`."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from msgspec import Struct

from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import NUMBERS, ONES

MONTHS, DAYS = LEXICON.table("calendar").values()
# A regular expression for a month in lower case, in full or its first three letters.
MONTH_PATTERN = "|".join(f"{name}|{name[:3]}" for name in MONTHS).lower()
_NUMBERS = {name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)}


def month_number(name: str) -> int | None:
    """Return the number (from 1) of the month with the same first three letters; None if there is none."""
    return _NUMBERS.get(name[:3].lower())


class DateRange(Struct, frozen=True):
    """A range of days, first and last included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    def lies_within(self, other: DateRange) -> bool:
        """Return whether the range lies within the other."""
        return other.first <= self.first and self.last <= other.last

    def shared(self, other: DateRange) -> int:
        """Return the number of days that both ranges share."""
        return max(
            0, (min(self.last, other.last) - max(self.first, other.first)).days + 1
        )

    def days_apart(self, other: DateRange) -> int:
        """Return the number of days between the nearest days of both ranges, 0 if they overlap."""
        apart = max(self.first - other.last, other.first - self.last)
        return max(0, apart.days)


# --- Times with a year.

_DAYS = tuple(map(str.lower, DAYS))
_SEASONS = {
    "spring": (3, 5),
    "summer": (6, 8),
    "fall": (9, 11),
    "autumn": (9, 11),
    "winter": (12, 14),
}
# Part of a range -> index of its third.
_THIRDS = {
    "early": 0,
    "beginning": 0,
    "start": 0,
    "mid": 1,
    "middle": 1,
    "late": 2,
    "end": 2,
}
_ORDER = {"first": 0, "1st": 0, "second": 7, "2nd": 7, "third": 14, "3rd": 14}
# A number above this in a numeric date is the day.
_MIDDLE = 12


def dated_stretches(text: str) -> list[DateRange]:
    """Return the times with a year in a text, in order; other time expressions are ignored.

    An ambiguous time has its first reading.
    """
    return [readings[0] for readings, _ in dated_readings(text)]


def dated_readings(text: str) -> Iterator[tuple[tuple[DateRange, ...], int]]:
    """Yield the times with a year in a text, each as its possible readings and its position.

    05/06/2022 and the weekend before a Sunday have two readings.
    """
    text = text.lower()
    end = 0
    for match in RE.named.finditer(text):
        before = text[end : match.start()]
        moved = RE.moved.search(before)
        sure = RE.counted.search(before) or (
            moved is not None and not RE.many.search(before[: moved.start()])
        )
        readings = tuple(_iter_readings(match, before))
        if readings and (sure or not RE.unsure.search(before)):
            yield readings, match.start()
        end = match.end()


def _iter_readings(named: re.Match[str], before: str) -> Iterator[DateRange]:
    """Yield the readings of a date with the words before it; none outside the years 1 to 9999."""
    part = _parts_of(named)
    year = int(part["year"]) + 2000 * (len(part["year"]) == 2)
    month = part.get("month", "")
    readings = [(month, part.get("day", ""))]
    if "mark" in part and int(month) > _MIDDLE:
        readings = [(part["day"], month)]
    elif (
        part.get("mark") == "/" and int(part["day"]) <= _MIDDLE and month != part["day"]
    ):
        readings.append((part["day"], month))
    for month, day in readings:
        # Such as 31 June, or the week before 1 January of the year 1.
        with suppress(ValueError, OverflowError):
            yield from _place_stretch(_stretch_of(year, month, day, part), before)


def _parts_of(match: re.Match[str]) -> dict[str, str]:
    """Return the matched groups, named without their trailing numbers."""
    groups = match.groupdict().items()
    return {name.rstrip("0123456789"): text for name, text in groups if text}


def _stretch_of(year: int, month: str, day: str, part: dict[str, str]) -> DateRange:
    if "season" in part:
        first, last = _SEASONS[part["season"]]
        over = last > len(MONTHS)
        return DateRange(
            date(year, first, 1), _end_of(year + over, last - over * len(MONTHS))
        )
    if not month:
        return DateRange(date(year, 1, 1), date(year, 12, 31))
    number = int(month) if month.isdecimal() else month_number(month) or 0
    if not day:
        return DateRange(date(year, number, 1), _end_of(year, number))
    begin = date(year, number, int(day))
    until = (month_number(part["until"]) or 0) if "until" in part else number
    end = date(year, until, int(part.get("end", day)))
    if end < begin:
        raise ValueError("it ends before it begins")
    return DateRange(begin, end)


def _end_of(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _place_stretch(stretch: DateRange, before: str) -> tuple[DateRange, ...]:
    """Return the ranges that the words before a date turn it into: the week before it, the Friday after it, ..."""
    if match := RE.week_of.search(before):
        first = stretch.last - timedelta(6)
        if match["which"] != "last":
            first = stretch.first + timedelta(_ORDER[match["which"]])
        week = DateRange(first, first + timedelta(6))
        return (_weekend_of(week) if match["end"] else week,)
    if match := RE.counted.search(before):
        if match["count"].isdigit():
            count = int(match["count"])
        else:
            count = NUMBERS[match["count"]]
        count *= (1 if match["way"] == "after" else -1) * (
            12 if match["unit"] == "year" else 1
        )
        year, month = divmod(
            stretch.first.year * 12 + stretch.first.month - 1 + count, 12
        )
        # two years before 2023 is a (nearly whole) year, two years before May 2023 is a
        # month
        whole = match["unit"] == "year" and stretch.days > 360
        return (_stretch_of(year, "" if whole else str(month + 1), "", {}),)
    if match := RE.moved.search(before):
        return _move_stretch(stretch, match["unit"], match["way"])
    match = RE.part.search(before)
    if match and stretch.days not in range(89, 93):
        # "late summer" means no definite days
        days = stretch.days
        third = _THIRDS[match["part"]]
        last = max(days * (third + 1) // 3 - 1, 0)
        return (
            DateRange(
                stretch.first + timedelta(days * third // 3),
                stretch.first + timedelta(last),
            ),
        )
    return (stretch,)


def _weekend_of(week: DateRange) -> DateRange:
    saturday = week.first + timedelta((5 - week.first.weekday()) % 7)
    return DateRange(saturday, saturday + timedelta(1))


def _move_stretch(stretch: DateRange, unit: str, way: str) -> tuple[DateRange, ...]:
    day = timedelta(1)
    if way == "of":
        if stretch.days > 1 and unit == "week":
            return (stretch,)
        monday = stretch.first - stretch.first.weekday() * day
        week = DateRange(monday, monday + 6 * day)
        return (
            _weekend_of(week)
            if unit == "weekend"
            else week
            if unit == "week"
            else stretch,
        )
    if way in ("after", "following"):
        first = stretch.last + day
    else:
        first = stretch.first - 7 * day
    week = DateRange(first, first + 6 * day)
    if unit in _DAYS:
        only = week.first + ((_DAYS.index(unit) - week.first.weekday()) % 7) * day
        return (DateRange(only, only),)
    if unit != "weekend":
        return (week,)
    weekend = _weekend_of(week)
    earlier = DateRange(weekend.first - 7 * day, weekend.last - 7 * day)
    if weekend.last >= stretch.first > weekend.first:
        return (weekend, earlier)
    return (weekend,)


# --- Times without a year.

RE = LEXICON.expressions(
    "dates",
    month=MONTH_PATTERN,
    seasons="|".join(_SEASONS),
    weekdays="|".join(_DAYS),
    ones="|".join(ONES),
    thirds="|".join(_THIRDS),
    months="|".join(MONTHS),
)


def yearless_dates(text: str, year: int) -> list[DateRange]:
    """Return the days and months without a year in a text, as those of `year`; months must be capitalised."""
    date_ranges = []
    for match in RE.yearless.finditer(text):
        part = _parts_of(match)
        number = month_number(part["month"]) or 0
        days = monthrange(year, number)[1]
        day = int(part.get("day", 0))
        if day <= days:
            date_ranges.append(
                DateRange(date(year, number, day or 1), date(year, number, day or days))
            )
    return date_ranges
