"""When that was which somebody told of on a day (yesterday, last week, two months ago); how far days lie apart."""

from __future__ import annotations

import re
from datetime import date, timedelta

from pytest_ltm.agents.reading._history_lines import MONTHS

NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}  # fmt: skip
UNITS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
"""Days of each."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBER = r"\d{1,3}|a couple of|a few|couple of|few|" + "|".join(NUMBERS)
_AGO = re.compile(rf"\b({_NUMBER})\s+(day|week|month|year)s?\s+(?:ago|back|before)\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(last|this past|past|on|this|next)\s+({'|'.join(_DAYS)})\b", re.IGNORECASE)
_STEP = re.compile(
    r"\b(last|past|this|next|this past|coming)\s+(week|weekend|month|year|summer|winter|fall|spring)\b", re.IGNORECASE
)
_NAMED = re.compile(rf"\b(?:in|on|since|until|of)\s+((?:{'|'.join(MONTHS)})(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?)\b")
_YEAR = re.compile(r"\b(?:in|since|back in|of)\s+((?:19|20)\d\d)\b")
_NEAR = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "tomorrow": 1}
_NEARBY = re.compile(rf"\b({'|'.join(_NEAR)})\b", re.IGNORECASE)


def written(day: date) -> str:
    """Return a day as people write it."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def when(text: str, told: date) -> str | None:
    """Return when that was which a text told on a day tells of; None if the text does not say."""
    for resolve in (_ago, _nearby, _on_weekday, _by_step, _named):
        found = resolve(text, told)
        if found:
            return found
    return None


def _ago(text: str, told: date) -> str | None:
    found = _AGO.search(text)
    if found is None:
        return None
    count, unit = _count(found[1]), found[2].lower()
    match unit:
        case "day":
            return written(told - timedelta(days=count))
        case "week":
            return f"{found[1]} week{'s' * (count > 1)} before {written(told)}"
        case "month":
            return _month(told, -count)
        case _:
            return str(told.year - count)


def _nearby(text: str, told: date) -> str | None:
    found = _NEARBY.search(text)
    return written(told + timedelta(days=_NEAR[found[1].lower()])) if found else None


def _on_weekday(text: str, told: date) -> str | None:
    found = _WEEKDAY.search(text)
    if found is None:
        return None
    side = "after" if found[1].lower() in {"this", "next"} else "before"
    return f"the {found[2].capitalize()} {side} {written(told)}"


def _by_step(text: str, told: date) -> str | None:
    found = _STEP.search(text)
    if found is None:
        return None
    way, unit = found[1].lower(), found[2].lower()
    step = {"last": -1, "past": -1, "this past": -1, "this": 0, "next": 1, "coming": 1}[way]
    if unit in {"week", "weekend"}:
        return f"the {unit} {('of', 'after', 'before')[step]} {written(told)}"
    if unit == "month":
        return _month(told, step)
    return str(told.year + step) if unit == "year" else f"{unit} {told.year + min(step, 0)}"


def _named(text: str, told: date) -> str | None:
    if found := _YEAR.search(text):
        return found[1]
    found = _NAMED.search(text)
    if found is None or found[1] == "May":
        return None
    month = MONTHS.index(found[1].split()[0]) + 1
    return f"{found[1]} {told.year - (month > told.month)}"


def _month(day: date, step: int) -> str:
    years, month = divmod(day.month - 1 + step, 12)
    return f"{MONTHS[month]} {day.year + years}"


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else NUMBERS[text.lower()]


def apart(earlier: date, later: date, unit: str) -> str:
    """Return how far two days lie apart in days, weeks, months or years, rounded."""
    count = round(abs((later - earlier).days) / UNITS[unit])
    return f"{count} {unit}{'s' * (count != 1)}"
