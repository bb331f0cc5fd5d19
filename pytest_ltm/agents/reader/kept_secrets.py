"""What several people tell in confidence, or openly: each may hear what is not kept from them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook

_NAME = r"(?-i:[A-Z]\w+)"
_DATE = r"\d{1,2} (?-i:[A-Z][a-z]+)"
_GREETING = lazy_pattern(
    rf"(?:^|(?<=\] ))(?:(?:it's|this is|hi,) )?(?P<who>{_NAME})(?: (?:here|speaking|again|now))?"
    rf"(?:, (?:on|it is) (?P<day>{_DATE}))?: ",
    re.IGNORECASE,
)
_KEPT = lazy_pattern(
    r"\b(?:in confidence|between you and me|your ears only|trusting you with this|confidentially|privately):",
    re.IGNORECASE,
)
_UNTIL = lazy_pattern(rf"\b(?:before|until|from) ({_DATE})", re.IGNORECASE)
_FRIEND = lazy_pattern(rf"\b(?:only|but|with|except) ({_NAME})", re.IGNORECASE)
_FORGET = lazy_pattern(r"\bforget what each of us told you, and who may know\b", re.IGNORECASE)
# How it is told, and how it is asked for.
_THINGS = [tuple(lazy_pattern(one, re.IGNORECASE) for one in said_and_asked) for said_and_asked in WORDS["secrets"]]
_TOLD = "confidence"


class Secrets:
    """Notes whose something is and who may know it, and tells it to nobody else."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what somebody says that is theirs, or answer somebody who says which day it is."""
        if not turn.is_brief:
            return None
        text = turn.said or turn.text
        if _FORGET.search(text):
            notes.drop(_TOLD)
            return "Forgotten."
        greeting = _GREETING.search(text)
        if greeting is None:
            return None
        rest = text[greeting.end() :]
        if greeting["day"]:
            return _answer_secret(greeting["who"], _day_of_year(greeting["day"]), rest, notes)
        return "Noted." if _note_secret(greeting["who"], rest, turn, notes) else None


def _note_secret(who: str, text: str, turn: IncomingTurn, notes: ReaderNotebook) -> bool:
    for number, (told, _) in enumerate(_THINGS):
        if match := told.search(text):
            until, friend = _UNTIL.search(text), _FRIEND.search(text, match.end())
            notes.add(
                turn,
                _TOLD,
                {
                    "thing": number,
                    "owner": who,
                    "value": match[1],
                    "open": _KEPT.search(text) is None,
                    "friend": friend[1] if friend else "",
                    "until": _day_of_year(until[1]) if until else 0,
                },
            )
            return True
    return False


def _answer_secret(who: str, day: int, text: str, notes: ReaderNotebook) -> str | None:
    """Return what somebody asks for on a day, or that they may not know it; None if it is about nothing of the kind."""
    number = next((number for number, (_, asked) in enumerate(_THINGS) if asked.search(text)), None)
    if number is None:
        return None
    facts = [note.content for note in notes.visible(_TOLD) if note.content["thing"] == number]
    named = [fact for fact in facts if re.search(rf"\b{fact['owner']}\b", text)]
    own = [fact for fact in facts if fact["owner"] == who]
    fact = next(iter(named or own), None)
    if fact is None:
        return "You have not told me that."
    allowed = fact["open"] or who in (fact["owner"], fact["friend"]) or 0 < fact["until"] <= day
    return f"It is {fact['value']}." if allowed else "I can't tell you that; I was told in confidence."


def _day_of_year(text: str) -> int:
    """Return the place of a day in its year, for comparing; 0 for what is none."""
    try:
        return datetime.strptime(f"{text} 2000", "%d %B %Y").timetuple().tm_yday  # noqa: DTZ007 - it has no time
    except ValueError:
        return 0
