"""Dates as people tell them, and what they mean on the day they are told."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._dates import MONTHS

if TYPE_CHECKING:
    import random

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WEEK = 7
_SATURDAY = 5
_FEW_DAYS = 10


def phrase(on: date, told: date, rng: random.Random) -> str:
    """Return a way to say on the day `told` when something was that happened `on` an earlier day."""
    return rng.choice(_phrases(on, told, (told - on).days))


def meaning(words: str, told: date) -> str:  # noqa: PLR0911 - one rule, one line
    """Return the date that the words mean when they are said on the day `told`, as a gold answer has it."""
    if words == "yesterday":
        return day(told - timedelta(1))
    if words == "last week":
        return f"The week before {day(told)}"
    if words == "last weekend":
        return f"The weekend before {day(told)}"
    if words == "last month":
        return month(told.replace(day=1) - timedelta(1))
    if words == "next month":
        return month(told.replace(day=28) + timedelta(4))
    if found := re.fullmatch(r"last (\w+)", words):
        return day(told - timedelta((told.weekday() - _DAYS.index(found[1])) % _WEEK or _WEEK))
    if found := re.fullmatch(r"(\w+) days ago", words):
        return day(told - timedelta(_NUMBERS.index(found[1]) + 2))
    return _dated(words, told)


def day(on: date) -> str:
    """Return the day as gold answers have it: `7 May 2023`."""
    return f"{on.day} {month(on)}"


def month(on: date) -> str:
    """Return the month of the day: `May 2023`."""
    return f"{MONTHS[on.month - 1]} {on.year}"


def _phrases(on: date, told: date, ago: int) -> list[str]:
    found = [f"on {on.day} {MONTHS[on.month - 1]}"]
    if ago == 1:
        found += ["yesterday"] * 2
    elif ago <= _FEW_DAYS:
        found.append(f"{_NUMBERS[ago - 2]} days ago")
    if 1 < ago <= _WEEK:
        found += [f"last {_DAYS[on.weekday()]}"] * 2
    monday = told - timedelta(told.weekday())
    if monday - timedelta(_WEEK) <= on < monday:
        found += ["last week", *(["last weekend"] * 2 if on.weekday() >= _SATURDAY else [])]
    if (on.year, on.month) == _month_before(told):
        found.append("last month")
    return found


def _month_before(told: date) -> tuple[int, int]:
    last = told.replace(day=1) - timedelta(1)
    return last.year, last.month


def _dated(words: str, told: date) -> str:
    """Return the latest day of that name before the day `told`."""
    found = re.fullmatch(r"on (\d+) (\w+)", words)
    if found is None:
        raise ValueError(f"no date: {words!r}")
    at = date(told.year, MONTHS.index(found[2]) + 1, int(found[1]))
    return day(at if at <= told else at.replace(year=told.year - 1))
