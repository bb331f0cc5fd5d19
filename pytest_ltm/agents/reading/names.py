"""The names that the user goes by: the one told last, and the list of all of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_ABOUT = re.compile(
    r"\bmy name\b|\bmy new name\b|\bnames?\b.*\b(?:I|me|my)\b|\b(?:I|me)\b.*\bnames?\b|\bcall(?:ing|ed)?\b"
    r"|\brefer to me\b|\bknown me\b",
    re.IGNORECASE | re.DOTALL,
)
_NAME = r"((?-i:[A-Z])[\w’'-]*)"  # noqa: RUF001 - names hold curly apostrophes
_TOLD = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bmy (?:new )?name (?:which )?(?:is|has changed to) {_NAME}",
        rf"\bmy name to {_NAME}",
        rf"\b(?:refer to me as|calls? me) {_NAME}",
        rf"\bby the name of {_NAME}",
        rf"\bI am {_NAME}(?= (?:now|from)\b)",
        rf"^{_NAME} is (?:my name|what I am called)",
    )
)
_ASKED = re.compile(r"\?|^\s*(?:please )?(?:list|tell|give|name)\b", re.IGNORECASE)
_MINE = re.compile(r"\b(?:I|me|my|myself)\b", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:names|every name|each name)\b.{0,60}\b(?:gone by|known me by|given (?:you|myself)|told you|used|had)\b",
    re.IGNORECASE | re.DOTALL,
)
_ONE = re.compile(r"\bname\b|\bcalled\b|\bcall me\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"\b(?:my|our) (?!names?\b)[\w' -]{1,40}? (?:called|named)\b(?! me\b)|\bnames? of (?:my|our|the)\b"
    r"|\b(?:my|our) [\w-]{1,30}(?:'s|s') names?\b",
    re.IGNORECASE,
)
"""A question after what somebody or something else is called."""
_FORGET = re.compile(r"\b(?:forget|disregard)\b.*\bnames?\b", re.IGNORECASE | re.DOTALL)


class Names:
    """Keeps every name that the user tells as the own one."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a name, list all or tell the newest, forget on request."""
        if not (turn.brief and _MINE.search(turn.text) and _ABOUT.search(turn.text)):
            return None
        if _FORGET.search(turn.text):
            notes.drop("name")
            return "Forgotten."
        if _ASKED.search(turn.text):
            return None if _OF_ANOTHER.search(turn.text) else _answer(turn.text, notes)
        told = next((found for pattern in _TOLD if (found := pattern.search(turn.text))), None)
        if told is None:
            return None
        notes.add(turn, "name", told.group(1))
        return "Noted."


def _answer(question: str, notes: Notebook) -> str | None:
    names = [note.content for note in notes.visible("name")]
    if _ALL.search(question):
        return json.dumps(names[::-1], ensure_ascii=False)
    if not _ONE.search(question):
        return None
    return f"Your name is {names[0]}." if names else "You have not told me your name."
