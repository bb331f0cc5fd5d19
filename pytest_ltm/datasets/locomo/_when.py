"""Times in words as stretches of days: `7 May 2023`, `the week before 9 June 2023`, `fall of 2023`, `2022`."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._dates import MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTH = "|".join(sorted({form for name in MONTHS for form in (name.lower(), name[:3].lower())}, key=len, reverse=True))
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "fall": (9, 11), "autumn": (9, 11), "winter": (12, 14)}
_PARTS = {"early": (0, 1), "beginning": (0, 1), "start": (0, 1), "mid": (1, 2), "middle": (1, 2), "late": (2, 3),
          "end": (2, 3)}  # fmt: skip
"""Part of a stretch -> from which third of it to which."""
_TO = r"\s*(?:-|\u2013|to|and|through|until)\s*"
_NAMED = re.compile(
    rf"\b(?:(?P<month6>{_MONTH})[a-z]*\W{{1,2}}(?P<day6>\d{{1,2}})(?:st|nd|rd|th)?{_TO}(?P<end6>\d{{1,2}})(?:st|nd|rd|th)?"
    r"\W{1,3}(?P<year6>\d{4})"
    rf"|(?P<day7>\d{{1,2}})(?:st|nd|rd|th)?{_TO}(?P<end7>\d{{1,2}})(?:st|nd|rd|th)?\s+"
    rf"(?:of )?(?P<month7>{_MONTH})[a-z]*\W{{1,3}}(?P<year7>\d{{4}})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\W{{0,2}}(?:of )?(?P<month>{_MONTH})[a-z]*\W{{1,3}}(?P<year>\d{{4}})"
    rf"|(?P<month2>{_MONTH})[a-z]*\W{{1,2}}(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\W{{1,3}}(?P<year2>\d{{4}})"
    r"|(?P<year5>\d{4})-(?P<month5>\d{2})-(?P<day5>\d{2})"
    rf"|(?P<month3>{_MONTH})[a-z]*\W{{1,3}}(?:of )?(?P<year3>\d{{4}})"
    rf"|(?P<season>{'|'.join(_SEASONS)})\W{{1,3}}(?:of )?(?P<year4>\d{{4}})"
    r"|(?P<only>(?:19|20)\d\d))\b"
)
_MOVED = re.compile(
    r"\b(?P<unit>weekend|week|few days|" + "|".join(_DAYS) + r")s?\s+(?P<way>before|after|of|prior to)\s+(?:the\s+)?$"
)
_LOOSE = re.compile(
    rf"(?:\b(?:day|night|week|weekend|month|year)s?\s+(?:before|after|prior to|from)\s+(?:the\s+)?"
    rf"|(?:\d|\b(?:{_MONTH})[a-z]*)[^.;]{{0,20}}\b(?:to|and|or|until)\s+(?:early |mid |late )?(?:the )?)$"
)
"""What makes a date after it the end of a stretch, or its distance: neither can be told exactly."""
_MANY = re.compile(r"\b(?:two|three|four|several|couple of|\d+)\s+$")
_PART = re.compile(rf"\b(?P<part>{'|'.join(_PARTS)})(?:[- ]|\s+of\s+|\s+to\s+)?(?:in\s+)?(?:the\s+)?$")
_WEEK_OF = re.compile(r"\b(?P<which>first|second|third|last)\s+week(?P<end>end)?\s+(?:of|in)\s+$")
_YEARS = ("year", "year2", "year3", "year4", "year5", "year6", "year7", "only")
_ORDER = {"first": 0, "second": 7, "third": 14}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Days from the first to the last, both in it."""

    first: date
    last: date

    def within(self, other: Stretch) -> bool:
        """Return whether all of it lies in the other."""
        return other.first <= self.first and self.last <= other.last

    def meets(self, other: Stretch) -> bool:
        """Return whether they share a day."""
        return self.first <= other.last and other.first <= self.last


def stretches(text: str) -> list[Stretch]:
    """Return the times that a text names with their year, in its order; what it says in other ways is left out."""
    return list(_found(text.lower()))


def _found(text: str) -> Iterator[Stretch]:
    end = 0
    for named in _NAMED.finditer(text):
        stretch, before = _stretch(named), text[end : named.start()]
        moved = _MOVED.search(before)
        sure = moved is not None and not _MANY.search(before[: moved.start()])
        if stretch is not None and (sure or not _LOOSE.search(before)):
            yield _placed(stretch, before)
        end = named.end()


def _stretch(named: re.Match[str]) -> Stretch | None:
    part = named.groupdict()
    year = int(next(part[name] for name in _YEARS if part[name]))
    try:
        if part["season"]:
            first, last = _SEASONS[part["season"]]
            over = last > len(MONTHS)
            return Stretch(date(year, first, 1), _end_of(year + over, last - over * len(MONTHS)))
        for one in "67":
            if part[f"day{one}"]:
                month = _number(part[f"month{one}"])
                return Stretch(date(year, month, int(part[f"day{one}"])), date(year, month, int(part[f"end{one}"])))
        if part["only"]:
            return Stretch(date(year, 1, 1), date(year, 12, 31))
        month = int(part["month5"] or 0) or _number(part["month"] or part["month2"] or part["month3"])
        day = part["day"] or part["day2"] or part["day5"]
        if day is None:
            return Stretch(date(year, month, 1), _end_of(year, month))
        return Stretch(date(year, month, int(day)), date(year, month, int(day)))
    except ValueError:  # such as 31 June
        return None


def _number(month: str) -> int:
    return next(i for i, name in enumerate(MONTHS, start=1) if name.lower().startswith(month[:3]))


def _end_of(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _placed(stretch: Stretch, before: str) -> Stretch:
    """Return the stretch that the words before a date make of it: the week before it, the Friday after it, ..."""
    if found := _WEEK_OF.search(before):
        return _week_of(stretch, found["which"], is_weekend=bool(found["end"]))
    if found := _MOVED.search(before):
        return _moved(stretch, found["unit"], found["way"])
    if found := _PART.search(before):
        days = (stretch.last - stretch.first).days + 1
        start, end = _PARTS[found["part"]]
        return Stretch(
            stretch.first + timedelta(days * start // 3), stretch.first + timedelta(max(days * end // 3 - 1, 0))
        )
    return stretch


def _week_of(stretch: Stretch, which: str, *, is_weekend: bool) -> Stretch:
    first = stretch.last - timedelta(6) if which == "last" else stretch.first + timedelta(_ORDER[which])
    week = Stretch(first, first + timedelta(6))
    return _weekend(week) if is_weekend else week


def _weekend(week: Stretch) -> Stretch:
    saturday = week.first + timedelta((5 - week.first.weekday()) % 7)
    return Stretch(saturday, saturday + timedelta(1))


def _moved(stretch: Stretch, unit: str, way: str) -> Stretch:
    day = timedelta(1)
    if way == "of":
        monday = stretch.first - stretch.first.weekday() * day
        week = Stretch(monday, monday + 6 * day)
        return stretch if unit not in ("week", "weekend") else _weekend(week) if unit == "weekend" else week
    week = Stretch(stretch.first - 7 * day, stretch.first - day)
    if way == "after":
        week = Stretch(stretch.last + day, stretch.last + 7 * day)
    if unit in _DAYS:
        only = week.first + ((_DAYS.index(unit) - week.first.weekday()) % 7) * day
        return Stretch(only, only)
    if unit == "weekend":
        weekend = _weekend(week)
        return Stretch(weekend.first, weekend.first + day)
    return week
