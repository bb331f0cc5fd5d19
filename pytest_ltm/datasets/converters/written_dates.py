"""Parses dates written for people: numeric in any order and calendar, or with the name of a month."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from pytest_ltm.api.storage import load_packaged_yaml
from pytest_ltm.language.values.cldr import month_names

ORDERS = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}
"""The indices of year, month and day among a date's three numbers."""
# The syntax in any language: three numbers, perhaps after an era, then hours and
# minutes, with words around them.
DATE_AND_TIME = (
    r"(?P<era>[^\W\d_]{1,4}\.?\s?)?"
    r"(?P<one>\d{1,4})\s?(?P<sign>[-./\u5e74\ub144])\s?(?P<two>\d{1,2})\s?[-./\u6708\uc6d4]\s?(?P<three>\d{1,4})[.\u65e5\uc77c]?"
    r"(?P<before>[^\d\[\]\n:]{1,24}?)(?P<hour>\d{1,2})(?:[:.\u2236\uff1a]|\s?[hH\u6642\u65f6]\s?)(?P<minute>\d\d)"
    r"(?:[:.\u2236\uff1a](?P<second>\d\d))?(?P<after>\s?[^\W\d_]{1,3}\.?\s?(?:[^\W\d_]\.?)?)?"
)
_NOON = 12
# The plausible years: chats of phones and of models are not older, and none are from
# the future.
_FIRST_YEAR = 2009
_LAST_YEAR = 2060


@lru_cache(maxsize=1)
def half_of_day_words() -> Mapping[str, re.Pattern[str]]:
    """Return the words that phones write, as patterns by meaning."""
    lists = load_packaged_yaml(__file__, "whatsapp.yml")
    patterns = {}
    for name, forms in lists.items():
        patterns[name] = re.compile("|".join(forms), re.IGNORECASE)
    return patterns


# --- Calendars: the year identifies the calendar, as all chats are from the same few
# decades.


def _from_persian(year: int, month: int, day: int) -> date:
    """Convert a date of the Solar Hijri calendar, by its cycle of 33 years with eight leap years."""
    if not (1 <= month <= 12 and 1 <= day <= (31 if month <= 6 else 30)):
        raise ValueError(f"no day of that calendar: {year}-{month}-{day}")
    passed = year - 979
    days = 365 * passed + passed // 33 * 8 + (passed % 33 + 3) // 4
    days += (month - 1) * 31 - max(0, month - 7) + day - 1
    return date.fromordinal(date(1600, 3, 20).toordinal() + days)


def _from_islamic(year: int, month: int, day: int) -> date:
    """Convert a date of the tabular Islamic calendar, which may differ by a day from observation."""
    if not (1 <= month <= 12 and 1 <= day <= 30):
        raise ValueError(f"no day of that calendar: {year}-{month}-{day}")
    days = day + -(-59 * (month - 1) // 2) + (year - 1) * 354 + (3 + 11 * year) // 30
    return date.fromordinal(days + 227_014)


def _shifted(years: int) -> Callable[[int, int, int], date]:
    return lambda year, month, day: date(year + years, month, day)


class Calendar(NamedTuple):
    """Conversion of year, month and day to a date."""

    name: str
    date_of: Callable[[int, int, int], date]
    century: int
    """The number added to a year of two digits; 0 if there are none."""
    eras: tuple[str, ...] = ()
    """The eras written before its years; if given, one of them is required."""


CALENDARS = (
    Calendar("Gregorian", date, 2000),
    Calendar("Buddhist", _shifted(-543), 2500),
    Calendar("Persian", _from_persian, 1400),
    Calendar("Islamic", _from_islamic, 1400),
    Calendar("Minguo", _shifted(1911), 0),
    Calendar("Reiwa", _shifted(2018), 0, ("r", "\u4ee4\u548c")),
    Calendar("Heisei", _shifted(1988), 0, ("h", "\u5e73\u6210")),
)

ERAS = frozenset(mark for calendar in CALENDARS for mark in calendar.eras)
"""The era marks that identify a calendar."""


def date_in(
    calendar: Calendar, numbers: tuple[int, int, int], era: str = ""
) -> date | None:
    """Return the date of year, month and day in a calendar; None if it is outside these decades."""
    year, month, day = numbers
    mark = era.strip(" .").lower()
    # a known era identifies the calendar
    if (mark in calendar.eras) != (mark in ERAS or bool(calendar.eras)):
        return None
    if year < 100:
        year += calendar.century
    try:
        found = calendar.date_of(year, month, day)
    except (ValueError, OverflowError):
        return None
    return found if _FIRST_YEAR <= found.year <= _LAST_YEAR else None


# --- All dates of a file share one order and one calendar.


class DateForm(NamedTuple):
    """An order of day, month and year, and a calendar."""

    order: str
    calendar: Calendar


def read_date(match: re.Match[str], form: DateForm) -> datetime | None:
    """Return the naive time of a DATE_AND_TIME match; None if it does not fit the form."""
    parts = [int(match[name]) for name in ("one", "two", "three")]
    year, month, day = (parts[place] for place in ORDERS[form.order])
    found = date_in(form.calendar, (year, month, day), match["era"] or "")
    hour = _hour_of(match)
    if found is None or hour is None:
        return None
    minute = int(match["minute"])
    second = int(match["second"] or 0)
    try:
        return datetime(found.year, found.month, found.day, hour, minute, second)  # noqa: DTZ001 - a telephone's own time
    except ValueError:
        return None


def _hour_of(match: re.Match[str]) -> int | None:
    hour = int(match["hour"])
    beside = f"{match['before'].strip(' ,')}|{(match['after'] or '').strip()}"
    words = half_of_day_words()
    late = words["afternoon"].search(beside) is not None
    if not late and words["morning"].search(beside) is None:
        return hour
    if 0 <= hour <= _NOON:
        return hour % _NOON + _NOON * late
    return None


def fitting_forms(
    matches: Sequence[re.Match[str]], orders: Sequence[str] = tuple(ORDERS)
) -> Iterator[tuple[DateForm, list[datetime]]]:
    """Yield each order that fits all dates, in the first calendar that fits, with the times."""
    for order in orders:
        for calendar in CALENDARS:
            form = DateForm(order, calendar)
            times = [read_date(match, form) for match in matches]
            found = [moment for moment in times if moment is not None]
            if len(found) == len(times):
                yield form, found
                break


# --- Dates with the name of a month.

_CLOCK = re.compile(
    r"(?:(?<=[\s,])|^)(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?![.\d])\s?([ap]\.?\s?m\.?)?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+\.?")


def named_time(text: str) -> datetime | None:
    """Parse a line such as `Jun 14, 2023, 6:12:00 AM UTC` or `14.06.2023, 06:12:00`; None for others.

    UTC is the only known zone: with any other the time is naive.
    """
    line = " ".join(text.split())
    clock = _CLOCK.search(line)
    if clock is None or len(line) > 60:
        return None
    day = _day_of(line[: clock.start()])
    if day is None:
        return None
    hour = int(clock[1])
    if clock[4]:
        hour = hour % _NOON + _NOON * (clock[4][0].lower() == "p")
    zone = timezone.utc if line[clock.end() :].strip() in ("UTC", "GMT", "Z") else None
    try:
        return datetime(
            day.year,
            day.month,
            day.day,
            hour,
            int(clock[2]),
            int(clock[3] or 0),
            tzinfo=zone,
        )
    except ValueError:
        return None


def _day_of(text: str) -> date | None:
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    months = month_names()
    found = [months.get(word.rstrip(".").lower()) for word in _WORD.findall(text)]
    named_months = [month for month in found if month]
    if len(numbers) == 2 and len(named_months) == 1:
        year = max(numbers)
        day = min(numbers)
        return date_in(CALENDARS[0], (year, named_months[0], day))
    if len(numbers) != 3:
        return None
    if numbers[0] > 31:
        order = "ymd"
    elif "." in text:
        order = "dmy"
    else:
        order = "mdy"
    parts = [numbers[place] for place in ORDERS[order]]
    return date_in(CALENDARS[0], (parts[0], parts[1], parts[2]))
