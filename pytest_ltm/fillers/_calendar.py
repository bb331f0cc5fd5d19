"""Facts about the Gregorian calendar."""

from __future__ import annotations

from calendar import isleap
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pytest_ltm.fillers._numbers import ordinal

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS = """
    January February March April May June July August September October November December
""".split()  # noqa: SIM905 - reads better than a column of strings
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_COMMON = date(2023, 1, 1)
"""The first day of a year that is no leap year."""


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    for i, month in enumerate(_MONTHS):
        yield f"How many days has {month} in a common year?", _LENGTHS[i]
        yield f"Which number has {month} among the months of the year?", i + 1
        yield f"What is the {ordinal(i + 1)} month of the year?", month
    for i, day in enumerate(_DAYS):
        for later in range(8, 48):
            yield f"Which day of the week is it {later} days after a {day}?", _DAYS[(i + later) % 7]
    for year in range(1801, 2101):
        yield f"Is {year} a leap year in the Gregorian calendar?", "yes" if isleap(year) else "no"
    for nth in range(1, 366, 2):
        when = _COMMON + timedelta(days=nth - 1)
        yield f"Which date is the {ordinal(nth)} day of a common year?", _short(when)
        yield f"Which day of a common year, counted from 1, is {_short(when + timedelta(days=1))}?", nth + 1
    for number in range(date(1901, 1, 5).toordinal(), date(2100, 1, 1).toordinal(), 97):
        when = date.fromordinal(number)
        yield f"On which day of the week falls {_short(when)} {when.year}?", _DAYS[when.weekday()]


def _short(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]}"
