"""The message that begins a conversation and only says what it is going to be like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_COMING = re.compile(r"\bgoing to\b.*\b(?:later|afterwards)\b[^.!?]*\bask\b", re.IGNORECASE | re.DOTALL)


class Announcement:
    """Claims the first message if it announces: nothing in it is an answer to anything."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Keep nothing of it."""
        if turn.position or not announces(turn.text):
            return None
        notes.overlook()
        return "Noted."


def announces(message: str) -> bool:
    """Return whether a first message says what is going to come, and that there will be questions."""
    return _COMING.search(message) is not None
