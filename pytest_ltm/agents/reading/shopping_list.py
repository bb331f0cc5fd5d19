"""The user's shopping list: what was put on it, taken off, corrected."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Note, Notebook, Turn

_LIST = re.compile(r"\b(?:shopping list|(?:put it|items) on the list)\b", re.IGNORECASE)
_SHORT = re.compile(r"^\s*(?:I want to buy|I require|(?:please )?remove)\s+(?:another\s+)?\d", re.IGNORECASE)
_ASKED = re.compile(r"\bwhat\b|\bjson\b|\bwhich\b|\btell me\b", re.IGNORECASE)
_EMPTY = re.compile(r"\bbought (?:everything|all)\b|\blist is empty\b|\bforget\b|\bdisregard\b", re.IGNORECASE)
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, start=1)} | {"a": 1, "an": 1}
_COUNTED = re.compile(
    rf"\b(\d{{1,6}}|{'|'.join(_NUMBERS)})\s+(?:more\s+)?([a-z][a-z -]*?)"
    r"(?=\s*(?:[.,;:!?]|$|\b(?:on|off|from|to|for|than|altogether|please|and)\b))",
    re.IGNORECASE,
)
_ALL_OF = re.compile(
    r"\b(?:any|enough|the|my|all)\s+([a-z][a-z -]*?)\s*(?:\bat all\b|\bany more\b|[.,;:])", re.IGNORECASE
)
_NONE_LEFT = re.compile(r"\b(?:not need any|no longer need|all of them|take them|enough)\b", re.IGNORECASE)
_OFF = re.compile(r"\b(?:remove|take|strike|delete)\b", re.IGNORECASE)
_SET = re.compile(r"\b(?:altogether|instead|correct)\b", re.IGNORECASE)


class ShoppingList:
    """Keeps every change of the list and answers with what they come to."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a change, tell the list, empty it on request."""
        if not (turn.brief and (_LIST.search(turn.text) or _SHORT.match(turn.text))):
            return None
        if _EMPTY.search(turn.text):
            notes.drop("shopping")
            return "Your shopping list is empty."
        if _ASKED.search(turn.text):
            return _told(notes)
        change = _change(turn.text)
        if change is None:
            return None
        notes.add(turn, "shopping", change)
        return "Noted."


def _change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if the text tells none."""
    if _NONE_LEFT.search(text):
        whole = _ALL_OF.search(text)
        return ["none", _singular(whole.group(1)), 0] if whole else None
    counted = _COUNTED.search(text)
    if counted is None:
        return None
    number = _NUMBERS.get(counted.group(1).lower()) or int(counted.group(1))
    kind = "set" if _SET.search(text) else "less" if _OFF.search(text) else "more"
    return [kind, _singular(counted.group(2)), number]


def _singular(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _told(notes: Notebook) -> str:
    """Return the list that the visible changes come to, as JSON."""
    shopping: dict[str, int] = {}
    for change in _oldest_first(notes):
        kind, item, number = change.content
        before = shopping.get(item, 0)
        shopping[item] = {"more": before + number, "less": before - number, "set": number, "none": 0}[kind]
        if shopping[item] <= 0:
            del shopping[item]
    return json.dumps([{"item": item, "quantity": number} for item, number in shopping.items()])


def _oldest_first(notes: Notebook) -> list[Note]:
    return list(notes.visible("shopping"))[::-1]
