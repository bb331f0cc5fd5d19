"""Whatever nobody else understands: statements are kept, questions get the statement nearest in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_REQUEST = re.compile(r"\s*(?:please\s+)?(?:tell|name|list|say|give|repeat|remind|answer)\b", re.IGNORECASE)
_READY = re.compile(r"\b(?:understood|ready|clear|okay|ok|all right|agreed)\s*\?\s*$", re.IGNORECASE)
_FORGET = re.compile(r"\b(?:forget|disregard)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    """about after again all and any are been before but can could did does for from get got had has have her here
    him his how into its just let may more much not now one our out over own please say see she should some
    tell than that the their them then there these they this those told too very was way were what when where
    which who why will with would yes yet you your""".split()  # noqa: SIM905 - many words read better as text
)


class General:
    """Claims every message."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a statement, or answer with the one that shares most words with the question."""
        if not turn.brief or _FORGET.search(turn.text) or _READY.search(turn.text):
            return "Understood."
        if turn.text.rstrip().endswith("?") or _REQUEST.match(turn.text):
            return "" if turn.told else _nearest(turn.text, notes)
        notes.add(turn, "statement", turn.text)
        return "Noted."


def _nearest(question: str, notes: Notebook) -> str:
    """Return the visible statement with most words of the question, the newest of equals."""
    wanted = _words(question)
    best, most = "I do not know.", 0
    for note in notes.visible("statement"):
        shared = len(wanted & _words(note.content))
        if shared > most:
            best, most = f"You told me: {note.content}", shared
    return best


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower()[:6] for word in _WORD.findall(text)) - _COMMON
