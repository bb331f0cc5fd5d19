"""Entries of a register: which code holds which, followed to the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_REGISTER = re.compile(r"\bregister\b")
_ENTRY = re.compile(r"\b(\w+) holds (\w+)\.")
_ASKED = re.compile(r"\b(?:[Ll]ook up|does) (\w+) (?:hold )?in the register\b")
_FORGET = re.compile(r"\bforget the register\b", re.IGNORECASE)


class KeyValuePairs:
    """Notes entries and looks them up, on and on."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note an entry, or follow the entries that can still be seen."""
        if not turn.brief or not _REGISTER.search(turn.text):
            return None
        if _FORGET.search(turn.text):
            notes.drop("entry")
            return "Forgotten."
        if entry := _ENTRY.search(turn.text):
            notes.add(turn, "entry", entry.groups())
            return "Noted."
        asked = _ASKED.search(turn.text)
        return _followed(asked[1], notes) if asked else None


def _followed(key: str, notes: Notebook) -> str:
    """Return the code at which the way from a key ends; every entry is followed once at most."""
    entries: dict[str, str] = {}
    for note in notes.visible("entry"):
        entries.setdefault(*note.content)
    code = entries.pop(key, None)
    while code in entries:
        code = entries.pop(code)
    return code or "I do not know."
