"""How a told history is written: dated lines, speakers in front of what they say, the two sides of a chat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

USER, ASSISTANT = "I", "you"
"""The speakers of a chat, as the user names them."""
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)}
_BRACKET = re.compile(r"\s*\[([^\[\]\n]{6,40})\]\s*")
_YEAR_FIRST = re.compile(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?!\d)")
_DAY_FIRST = re.compile(r"(\d{1,2})\s+([A-Za-z]{3,9}),?\s+(\d{4})\b")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\s+(\d{1,2}),?\s+(\d{4})\b")
_SPEAKER = re.compile(r"([A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){0,3}): ")  # noqa: RUF001 - names hold curly apostrophes
_SIDES = re.compile(r"I said: (?P<user>.*?)(?:\nYou said: (?P<assistant>.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Saying:
    """What somebody said at a time."""

    speaker: str
    text: str


def read_date(text: str) -> date | None:
    """Return the day that a text names, None if it names none; the month in letters or the year first."""
    if found := _YEAR_FIRST.search(text):
        year, month, day = (int(part) for part in found.groups())
    elif found := _DAY_FIRST.search(text):
        day, month, year = int(found[1]), _MONTH.get(found[2][:3].lower(), 0), int(found[3])
    elif found := _MONTH_FIRST.search(text):
        day, month, year = int(found[2]), _MONTH.get(found[1][:3].lower(), 0), int(found[3])
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def dated(text: str) -> tuple[date | None, str]:
    """Return the date in brackets at the beginning of a message, None if there is none, and the rest."""
    found = _BRACKET.match(text)
    when = read_date(found[1]) if found else None
    return (None, text) if found is None or when is None else (when, text[found.end() :])


def is_told(rest: str) -> bool:
    """Return whether what stands after a date tells what was said then; else it is a question asked at that date."""
    return _SPEAKER.match(rest) is not None or _SIDES.match(rest) is not None


def sayings(rest: str, reply: str) -> Iterator[Saying]:
    """Yield who said what; a told message without speakers is the user's, and its reply the assistant's."""
    if sides := _SIDES.match(rest):
        yield Saying(USER, sides["user"])
        yield Saying(ASSISTANT, sides["assistant"] or "")
    elif _SPEAKER.match(rest):
        yield from _lines(rest)
    else:
        yield Saying(USER, rest)
        yield Saying(ASSISTANT, reply)


def _lines(rest: str) -> Iterator[Saying]:
    speaker, said = "", ""
    for line in rest.split("\n"):
        found = _SPEAKER.match(line)
        if found is None:
            said += f"\n{line}"
            continue
        if speaker:
            yield Saying(speaker, said)
        speaker, said = found[1], line[found.end() :]
    yield Saying(speaker, said)
