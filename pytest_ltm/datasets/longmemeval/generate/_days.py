"""Dates of a user's life: sessions by day, questions late, all in 2023."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

FIRST = datetime(2023, 5, 1, tzinfo=timezone.utc)
"""Where nothing else gives a date, sessions are dated from here to the end of the month (Wu et al., 2025)."""
LAST = datetime(2023, 5, 30, tzinfo=timezone.utc)
WORDS = ("today", "yesterday", "two days ago", "three days ago")
"""How a user says, on the day of a session, when something happened: as many days ago as the word's place."""


def some_time(rng: Random, day: datetime) -> datetime:
    """Return a time of a day at which people are awake."""
    return day.replace(hour=rng.randint(7, 21), minute=rng.randint(0, 59))


def days_of_may(rng: Random, count: int) -> list[datetime]:
    """Return so many sessions' dates in May 2023, on different days where there are enough, in order."""
    days = rng.sample(range(1, 28), count)
    return sorted(some_time(rng, FIRST + timedelta(days=day)) for day in days)


def end_of_may(rng: Random) -> datetime:
    """Return when a question is asked that no date of its evidence binds."""
    return some_time(rng, LAST)


def late_in_year(rng: Random) -> datetime:
    """Return when a question about dated events is asked."""
    return some_time(rng, datetime(2023, 6, 1, tzinfo=timezone.utc) + timedelta(days=rng.randint(0, 180)))


def months_before(at: datetime, months: int) -> datetime:
    """Return the same day so many months earlier; the day must be at most the 28th."""
    whole = at.year * 12 + at.month - 1 - months
    return at.replace(year=whole // 12, month=whole % 12 + 1)
