"""Reminders for a moment or for every week, added to the first reply once they are due."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_WANTED = lazy_pattern(
    r"\b(?:remind me|give me a nudge|tell me)(?P<when> [^.!?]*?)? to (?P<task>[a-z]+ the (?P<thing>[a-z]+))",
    re.IGNORECASE,
)
_ABOUT = lazy_pattern(r"\bthe reminder about the (\w+)", re.IGNORECASE)
_OFF = lazy_pattern(r"\b(?:cancel|drop|forget|scrap) the reminder\b", re.IGNORECASE)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = lazy_pattern(rf"\b(?:every|each) ({'|'.join(_DAYS)})\b")
_EVERY = lazy_pattern(r"\bevery (\d+) minutes\b|\beach time (\d+) minutes\b")
_CLOCK = lazy_pattern(
    r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: (?P<half>[ap]m))?"
    r"|\b(?P<past>half past )?(?P<word>[a-z]+) in the (?P<part>morning|evening)"
)
_LENGTHS = {
    "three quarters of an hour": 45,
    "an hour and a half": 90,
    "two and a half hours": 150,
    "a day and two hours": 1560,
}
_LENGTH = lazy_pattern(r"\b(\w+) (minutes?|hours?)\b")


class Reminders(Topic):
    """Keeps what it is to remind of and when, and adds to a reply what has become due since it replied last."""

    kinds = ("reminder", "reminded")
    about = lazy_pattern(r"\b(?:remind|reminders?|nudge|tell me)\b", re.IGNORECASE)
    forgets = lazy_pattern(r"\bforget all reminders\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a reminder that is wanted, moved or called off."""
        if turn.now is None:
            return None
        about, wanted = _ABOUT.search(turn.text), _WANTED.search(turn.text)
        if about is not None:
            when = {} if _OFF.search(turn.text) else _named_moment(turn.text.lower(), turn.now)
            notes.add(turn, "reminder", {"thing": about[1], "when": when})
            return "As you wish."
        when = _named_moment(turn.text.lower(), turn.now) if wanted else {}
        if wanted is None or not when:
            return None
        notes.add(turn, "reminder", {"thing": wanted["thing"], "task": wanted["task"], "when": when})
        return "I will."

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return what is due, if it can still be seen and no reply since has told it."""
        if turn.now is None:
            return None
        values: dict[str, float] = {note.content: note.time or 0.0 for note in reversed([*notes.visible("reminded")])}
        due = []
        for thing, task, when, since in _pending_reminders(notes):
            if _falls_between(when, max(since, values.get(thing, since)), turn.now):
                notes.add(turn, "reminded", thing)
                due.append(f"It is time to {task}.")
        return " ".join(due) or None


def _pending_reminders(notes: ReaderNotebook) -> Iterator[tuple[str, str, Mapping[str, Any], float]]:
    """Yield the things that a reminder is still wanted of, with the task, its moments, and since when."""
    newest: dict[str, tuple[Mapping[str, Any], float]] = {}
    tasks: dict[str, str] = {}
    for note in reversed(list(notes.visible("reminder"))):
        newest[note.content["thing"]] = note.content["when"], note.time or 0.0
        if "task" in note.content:
            tasks[note.content["thing"]] = note.content["task"]
    return (
        (thing, tasks.get(thing, f"see to the {thing}"), when, since) for thing, (when, since) in newest.items() if when
    )


def _falls_between(when: Mapping[str, Any], since: float, now: float) -> bool:
    """Return whether a moment of it falls after one time and not after another."""
    first, every = when["first"], when["every"]
    return bool(
        since < first <= now if not every else first <= now and (now - first) // every > (since - first) // every
    )


def _named_moment(text: str, now: float) -> dict[str, float]:
    """Return the first moment that a text names, and after how many seconds it comes again, 0: never."""
    often, weekly = _EVERY.search(text), _DAY.search(text)
    if often:
        every = 60.0 * int(often[1] or often[2])
        return {"first": now + every, "every": every}
    clock = _CLOCK.search(text)
    if clock is None:
        minutes = _minutes_in(text)
        return {"first": now + 60.0 * minutes, "every": 0.0} if minutes else {}
    today = datetime.fromtimestamp(now, timezone.utc)
    first = today.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(minutes=_of_day(clock))
    if weekly:
        first += timedelta(days=(_DAYS.index(weekly[1]) - first.weekday()) % 7)
    elif "tomorrow" in text:
        first += timedelta(days=1)
    if first <= today:
        first += timedelta(days=7 if weekly else 1)
    return {"first": first.timestamp(), "every": 7 * 86400.0 if weekly else 0.0}


def _of_day(clock: re.Match[str]) -> int:
    """Return the minutes since midnight that a time of day says."""
    if clock["word"]:
        return NUMBERS[clock["word"]] * 60 + (30 if clock["past"] else 0) + (720 if clock["part"] == "evening" else 0)
    hour = int(clock["hour"]) % 12 + (12 if clock["half"] == "pm" else 0) if clock["half"] else int(clock["hour"])
    return hour * 60 + int(clock["minute"])


def _minutes_in(text: str) -> int:
    known = next((minutes for said, minutes in _LENGTHS.items() if said in text), 0)
    if known:
        return known
    for number, unit in _LENGTH.findall(text):
        if number.isdecimal() or number in NUMBERS:
            return int(NUMBERS.get(number, 0) or number) * (60 if unit.startswith("hour") else 1)
    return 0
