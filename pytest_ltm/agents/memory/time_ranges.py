"""Range: the stretch of time that somebody speaks of, seen from the moment at which it is said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from pytest_ltm._language.dates import DAYS, DateRange, dated_stretches, yearless_dates
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.history_qa import split_date
from pytest_ltm.agents.reader.notes import SMALL_NUMBERS


@dataclass(frozen=True, slots=True)
class Range:
    """From one moment to another, both aware."""

    start: datetime
    end: datetime

    def contains_moment(self, at: datetime) -> bool:
        """Return whether a moment is in it."""
        return self.start <= at <= self.end


_UNITS = {
    "second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1),
    "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30.4), "year": timedelta(days=365),
}  # fmt: skip
_COUNT = rf"(\d+|{'|'.join(SMALL_NUMBERS)})"
_LENGTH = lazy_pattern(rf"\b{_COUNT} ({'|'.join(_UNITS)})s?\b", re.IGNORECASE)
_AGO = lazy_pattern(rf"((?:\b{_COUNT} (?:{'|'.join(_UNITS)})s?(?:,| and|, and)? ?)+)(?:ago|earlier)\b", re.IGNORECASE)
_LAST = lazy_pattern(rf"\b(last|this|past) (week|weekend|month|year|{'|'.join(DAYS)})\b", re.IGNORECASE)
_DAY = lazy_pattern(r"\b(the day before yesterday|yesterday|last night)\b", re.IGNORECASE)
_BACK = {"the day before yesterday": 2, "yesterday": 1, "last night": 1}
# The share of a length by which people are off, at least.
_SLACK = 0.1


def spoken_of(text: str, now: datetime) -> Range | None:
    """Return the stretch of time that a text speaks of, by rules; None if it speaks of none.

    The date of a message, in brackets before it, is not among what it speaks of.
    """
    _, rest = split_date(text)
    return next(
        (result for read in (_range_ago, _range_of_day, _range_of_last, _named_range) if (result := read(rest, now))),
        None,
    )


def _range_ago(text: str, now: datetime) -> Range | None:
    match = _AGO.search(text)
    if match is None:
        return None
    parts = [(_small_number(count), _UNITS[unit.lower()]) for count, unit in _LENGTH.findall(match[1])]
    if not parts:
        return None
    length = sum((count * unit for count, unit in parts), timedelta(0))
    slack = max(length * _SLACK, min(unit for _, unit in parts))
    return Range(now - length - slack, now - length + slack)


def _small_number(text: str) -> int:
    return int(text) if text.isdecimal() else SMALL_NUMBERS[text.lower()]


def _range_of_day(text: str, now: datetime) -> Range | None:
    match = _DAY.search(text)
    return None if match is None else _day_range(now, _BACK[match[1].lower()], 1)


def _range_of_last(text: str, now: datetime) -> Range | None:
    match = _LAST.search(text)
    if match is None:
        return None
    which, unit = match[1].lower(), match[2].lower()
    back = 0 if which == "this" else 1
    if unit in {"week", "weekend"}:
        monday = now.weekday() + 7 * back
        return _day_range(now, monday, 7) if unit == "week" else _day_range(now, monday - 5, 2)
    if unit in {"month", "year"}:
        days = 31 if unit == "month" else 366
        return Range(now - days * (1 + back) * _UNITS["day"], now - days * back * _UNITS["day"])
    ago = (now.weekday() - [day.lower() for day in DAYS].index(unit)) % 7 or 7
    return _day_range(now, ago, 1)


def _day_range(now: datetime, ago: int, length: int) -> Range:
    """Return whole days, the first of which was so many days ago."""
    start = datetime.combine(now.date() - timedelta(days=ago), time(), now.tzinfo)
    return Range(start, start + timedelta(days=length))


def _named_range(text: str, now: datetime) -> Range | None:
    date_ranges = dated_stretches(text) or [_last_passed(one, now.date()) for one in yearless_dates(text, now.year)]
    if not date_ranges:
        return None
    start = datetime.combine(date_ranges[0].first, time(), now.tzinfo)
    return Range(start, datetime.combine(date_ranges[-1].last, time(), now.tzinfo) + timedelta(days=1))


def _last_passed(stretch: DateRange, today: date) -> DateRange:
    """Return a stretch without a year as the last one that has begun."""
    if stretch.first <= today:
        return stretch
    back = [moment.replace(year=moment.year - 1, day=min(moment.day, 28)) for moment in (stretch.first, stretch.last)]
    return type(stretch)(*back)
