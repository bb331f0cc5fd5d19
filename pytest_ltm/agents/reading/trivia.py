"""Trivia that only keeps the reader busy: questions with their answers, to be returned as JSON or just remarked on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_HEAD = 400
"""Characters within which such a message says what it wants and begins with its first pair."""
_WANTED = re.compile(r"\b(?:trivia|answers?)\b.*\bjson\b", re.IGNORECASE | re.DOTALL)
_FIRST = re.compile(r"^Q: ", re.MULTILINE)
_MARK = " A: "
_REMARK = re.compile(r"[^\n?:]*\bquiz\b[^\n?:]*:[ \n][^\n?]+\? [^\n?]{1,80}\.(?:\n|$)", re.IGNORECASE)
"""What was asked in a quiz, and the answer."""


class Trivia:
    """Returns the answers of `Q: ..., A: ...` lines; there is nothing in them, or in remarks on a quiz, to remember."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:  # noqa: ARG002 - the protocol's signature
        """Return the answers as a JSON list, where they are wanted."""
        head = turn.text[:_HEAD]
        if _REMARK.match(head):
            return "Noted."
        if not (_FIRST.search(head) and _WANTED.search(head)):
            return None
        return "[]" if turn.told else json.dumps(answers(turn.text), ensure_ascii=False)


def answers(message: str) -> list[str]:
    """Return what stands after the last `A: ` of each `Q:` line, in order."""
    lines = (line for line in message.split("\n") if line.startswith("Q: "))
    return [line.rpartition(_MARK)[2].strip() for line in lines]
