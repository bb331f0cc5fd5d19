"""What the user says of their own life: what is so now, after changes, corrections, withdrawals and rumours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_TOPICS = {
    "the town I live in": (r"\bI live in ([\w-]+)", r"\btown do I live\b"),
    "my sister's town": (r"\bmy sister lives in ([\w-]+)", r"\btown does my sister live\b"),
    "my job": (r"\bI work as an? ([\w-]+)", r"\bdo I work as\b"),
    "my instrument": (r"\binstrument that I play is the ([\w-]+)", r"\binstrument do I play\b"),
    "my pet": (r"\bpet that I keep is an? ([\w-]+)", r"\bpet do I keep\b"),
    "my allergy": (r"\bI am allergic to ([\w-]+)", r"\bam I allergic to\b"),
    "my shoe size": (r"\bmy shoe size is (\d+)", r"\bwhat is my shoe size\b"),
    "my year of birth": (r"\bI was born in the year (\d+)", r"\byear was I born\b"),
    "my way to work": (r"\bI go to work by ([\w-]+)", r"\bdo I go to work\b"),
    "the language I study": (r"\blanguage that I study is ([\w-]+)", r"\blanguage do I study\b"),
    "my hobby": (r"\bmy hobby is ([\w-]+)", r"\bwhat is my hobby\b"),
    "the floor I live on": (r"\bI live on floor (\d+)", r"\bfloor do I live\b"),
}
_SAID = {label: re.compile(said, re.IGNORECASE) for label, (said, _) in _TOPICS.items()}
_ASKED = {label: re.compile(asked, re.IGNORECASE) for label, (_, asked) in _TOPICS.items()}
_RUMOUR = re.compile(r"\b(?:that is not true|do not believe it|he is mistaken)\b", re.IGNORECASE)
_WITHDRAWN = re.compile(r"\bI take back what I told you last about ([\w' ]+)\.")
_HOLDS = re.compile(r"\bWhat I told you about ([\w' ]+) still holds\b")
_FORGET = re.compile(r"\bforget all personal details\b", re.IGNORECASE)
_KIND = "personal"


class ConflictingPersonalInformation:
    """Keeps what the user says to be so, and answers with the last that has not been withdrawn."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a statement, answer a question, forget on request."""
        if not turn.brief:
            return None
        if _FORGET.search(turn.text):
            notes.drop(_KIND)
            return "Forgotten."
        if turn.text.rstrip().endswith("?"):
            label = next((label for label, asked in _ASKED.items() if asked.search(turn.text)), None)
            return _answer(label, notes) if label else None
        return _noted(turn, notes)


def _noted(turn: Turn, notes: Notebook) -> str | None:
    if withdrawn := _WITHDRAWN.search(turn.text):
        notes.add(turn, _KIND, [withdrawn[1], None])
        return "I will forget that, then."
    if _HOLDS.search(turn.text):
        return "All right."
    said = next(((label, found[1]) for label, words in _SAID.items() if (found := words.search(turn.text))), None)
    if said is not None and not _RUMOUR.search(turn.text):
        notes.add(turn, _KIND, list(said))
    return None  # it may be about anything else as well: others note it, too


def _answer(label: str, notes: Notebook) -> str:
    withdrawn = 0
    for note in notes.visible(_KIND):
        topic, value = note.content
        if topic != label:
            continue
        if value is None:
            withdrawn += 1
        elif withdrawn:
            withdrawn -= 1
        else:
            return f"As far as I know: {value}."
    return "You have not told me."
