"""The user's shopping list: what was put on it, taken off, corrected."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_ltm.reader.notes import SMALL_NUMBERS, Topic

if TYPE_CHECKING:
    from pytest_ltm.reader.notes import Notebook, Turn


_ASKED = re.compile(r"\bwhat\b|\bjson\b|\bwhich\b|\btell me\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"\b(\d{{1,6}}|{'|'.join(SMALL_NUMBERS)})\s+(?:more\s+)?([a-z][a-z -]*?)"
    r"(?=\s*(?:[.,;:!?]|$|\b(?:on|off|from|to|for|than|altogether|please|and)\b))",
    re.IGNORECASE,
)
_ALL_OF = re.compile(
    r"\b(?:any|enough|the|my|all)\s+([a-z][a-z -]*?)\s*(?:\bat all\b|\bany more\b|[.,;:])", re.IGNORECASE
)
_NONE_LEFT = re.compile(r"\b(?:not need any|no longer need|all of them|take them|enough)\b", re.IGNORECASE)
_OFF = re.compile(r"\b(?:remove|take|strike|delete)\b", re.IGNORECASE)
_SET = re.compile(r"\b(?:altogether|instead|correct)\b", re.IGNORECASE)


class ShoppingList(Topic):
    """Keeps every change of the list and answers with what they come to."""

    kinds = ("shopping",)
    about = re.compile(
        r"\b(?:shopping list|(?:put it|items) on the list)\b"
        r"|\A\s*(?:I want to buy|I require|(?:please )?remove)\s+(?:another\s+)?\d",
        re.IGNORECASE,
    )
    forgets = re.compile(r"\bbought (?:everything|all)\b|\blist is empty\b|\bforget\b|\bdisregard\b", re.IGNORECASE)
    forgotten = "Your shopping list is empty."

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a change, or tell the list."""
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
    number = SMALL_NUMBERS.get(counted.group(1).lower()) or int(counted.group(1))
    kind = "set" if _SET.search(text) else "less" if _OFF.search(text) else "more"
    return [kind, _singular(counted.group(2)), number]


def _singular(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _told(notes: Notebook) -> str:
    """Return the list that the visible changes come to, as JSON."""
    shopping: dict[str, int] = {}
    for change in reversed(list(notes.visible("shopping"))):
        kind, item, number = change.content
        before = shopping.get(item, 0)
        shopping[item] = {"more": before + number, "less": before - number, "set": number, "none": 0}[kind]
        if shopping[item] <= 0:
            del shopping[item]
    return json.dumps([{"item": item, "quantity": number} for item, number in shopping.items()])
