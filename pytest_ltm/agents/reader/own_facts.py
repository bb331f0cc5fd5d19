"""What the user told of themselves, and later wants forgotten: by its name, its value or its meaning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_OWN = {
    label: (
        lazy_pattern(told, re.IGNORECASE),
        lazy_pattern(rf"{re.escape(label)}\b|{meant}", re.IGNORECASE),
        lazy_pattern(asked, re.IGNORECASE),
    )
    for label, (told, meant, asked) in WORDS["own facts"].items()
}
_FORGET = lazy_pattern(
    r"^(?:please |I want you to |be so kind as to )?(?:forget|erase|delete|strike from your memory)\b", re.IGNORECASE
)
_ALL = lazy_pattern(r"\b(?:everything|all)\b[^?]*\b(?:about me|on me|about myself)\b", re.IGNORECASE)
_KIND = "own fact"
_GONE = "I have forgotten that, as you asked."


class OwnFacts(Topic):
    """Keeps what the user says of themselves until they want it forgotten."""

    kinds = (_KIND,)
    forgets = lazy_pattern(r"\bforget the rest of that\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a fact, which others may note as well, or that it is gone; or answer a question."""
        held = dict(_held_facts(notes))
        if _FORGET.search(turn.text):
            gone = next(
                (one for one in held if _OWN[one][1].search(turn.text) or (held[one] or "-") in turn.text), None
            )
            if gone is not None:
                notes.add(turn, _KIND, [gone, None])
            return "I have forgotten it." if gone else None
        if held and _ALL.search(turn.text):
            return f"{', '.join(value for value in held.values() if value)}."
        if turn.text.rstrip().endswith("?"):
            asked = next((one for one in held if _OWN[one][2].search(turn.text)), None)
            return (
                None if asked is None else f"{held[asked]}." if held[asked] else "I have forgotten that, as you asked."
            )
        for label, (told, *_) in _OWN.items():
            if match := told.search(turn.text):
                notes.add(turn, _KIND, [label, match[match.lastindex or 0]])
        return None


def _held_facts(notes: ReaderNotebook) -> Iterator[tuple[str, str | None]]:
    """Yield what was told, the oldest first, with its value; None: it is to be forgotten."""
    for note in reversed(list(notes.visible(_KIND))):
        label, value = note.content
        yield label, value
