"""What people around the user have: what it is called, where it comes from, and what was never said of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


# With a name, where several have one relation, or one name.
_OWNER = r"(?P<owner>\w+(?: (?-i:[A-Z])\w+)?)"
_TOLD = lazy_pattern(
    rf"\bmy {_OWNER}(?:'s| has an?| owns an?) (?P<thing>\w+) (?P<how>[a-z ]+) (?P<value>(?-i:[A-Z])\w+)",
    re.IGNORECASE,
)
_ASKED = lazy_pattern(rf"\bmy {_OWNER}(?:'s| get the) (?P<thing>\w+)[^?]*\?\s*$", re.IGNORECASE)
_NAME = lazy_pattern(r"\b(?:names?|named|call|called)\b", re.IGNORECASE)
_PLACE = lazy_pattern(r"\b(?:where|place|town|from|bought)\b", re.IGNORECASE)


class Belongings(Topic):
    """Keeps what is said of somebody's thing, and says so where it was never told."""

    kinds = ("belonging",)
    forgets = lazy_pattern(r"\bforget whom I know and what they have\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, which others may note as well, or answer a question if anything of the kind was told."""
        if asked := _ASKED.search(turn.text):
            return _answer_belonging(turn.text, asked, notes)
        match = _TOLD.search(turn.text)
        if match and (_NAME.search(match["how"]) or _PLACE.search(match["how"])):
            kind = _belonging_kind(match["how"])
            notes.add(turn, "belonging", [match["owner"].lower(), match["thing"].lower(), kind, match["value"]])
        return None


def _answer_belonging(question: str, asked: re.Match[str], notes: ReaderNotebook) -> str | None:
    known = [note.content for note in notes.visible("belonging")]
    if not known or not (_NAME.search(question) or _PLACE.search(question)):
        return None
    wanted = [asked["owner"].lower(), asked["thing"].lower(), _belonging_kind(question)]
    return next((f"{value}." for *what, value in known if what == wanted), "You have not told me that.")


def _belonging_kind(text: str) -> str:
    return "name" if _NAME.search(text) else "place"
