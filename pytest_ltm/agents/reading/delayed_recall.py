"""Facts about a fictional world, one a line, and questions about them: the line nearest in words answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._nearest import nearest

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_WORLD = re.compile(r"\bfictional world\b", re.IGNORECASE)
_NAMED = re.compile(r"\bthe fictional world(?: of \w+)?(?:[.:, ]+|$)", re.IGNORECASE)
_FORGET = re.compile(r"\bforget\b.{0,60}\bfictional world\b|\bforget all of the facts\b", re.IGNORECASE)
_FEWEST = 2
_LONGEST = 20_000


class DelayedRecall:
    """Keeps the facts of the newest world and answers each question with the one that it is about."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note facts, answer a question, forget on request."""
        if len(turn.text) > _LONGEST or not _WORLD.search(turn.text):
            return None
        if _FORGET.search(turn.text):
            notes.drop("world")
            return "Forgotten."
        lines = [line.strip() for line in turn.text.split("\n") if line.strip()]
        if len(lines) > _FEWEST:
            notes.add(turn, "world", lines[1:] if lines[0].endswith(":") else lines)
            return "Noted."
        if not turn.brief:
            return None
        world = notes.newest("world")
        return nearest(_NAMED.sub(" ", turn.text), world.content) if world else "I do not know that world."
