"""What people around the user have: what it is called, where it comes from, and what was never said of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import later
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_TOLD = later(
    r"\bmy (?P<owner>\w+)(?:'s| has an?| owns an?) (?P<thing>\w+) (?P<how>[a-z ]+) (?P<value>(?-i:[A-Z])\w+)",
    re.IGNORECASE,
)
_ASKED = later(r"\bmy (?P<owner>\w+)(?:'s| get the) (?P<thing>\w+)[^?]*\?\s*$", re.IGNORECASE)
_NAME = later(r"\b(?:names?|named|call|called)\b", re.IGNORECASE)
_PLACE = later(r"\b(?:where|place|town|from|bought)\b", re.IGNORECASE)


class Belongings(Topic):
    """Keeps what is said of somebody's thing, and says so where it was never told."""

    kinds = ("belonging",)
    forgets = later(r"\bforget whom I know and what they have\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, which others may note as well, or answer a question if anything of the kind was told."""
        if asked := _ASKED.search(turn.text):
            return _answer(turn.text, asked, notes)
        told = _TOLD.search(turn.text)
        if told and (_NAME.search(told["how"]) or _PLACE.search(told["how"])):
            kind = _kind(told["how"])
            notes.add(turn, "belonging", [told["owner"].lower(), told["thing"].lower(), kind, told["value"]])
        return None


def _answer(question: str, asked: re.Match[str], notes: ReaderNotebook) -> str | None:
    known = [note.content for note in notes.visible("belonging")]
    if not known or not (_NAME.search(question) or _PLACE.search(question)):
        return None
    wanted = [asked["owner"].lower(), asked["thing"].lower(), _kind(question)]
    return next((f"{value}." for *what, value in known if what == wanted), "You have not told me that.")


def _kind(text: str) -> str:
    return "name" if _NAME.search(text) else "place"
