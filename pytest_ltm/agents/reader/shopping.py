"""The user's shopping list: what was put on it, taken off, corrected."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import SMALL_NUMBERS, Topic, first_match

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_ASKED = lazy_pattern(r"\bwhat\b|\bjson\b|\bwhich\b|\btell me\b", re.IGNORECASE)
_NUMBER = rf"\b(\d{{1,6}}|{'|'.join(SMALL_NUMBERS)})"
_ITEM = (
    r"(?!(?:of|more|fewer|less|in|km|altogether|too)\b)([a-z][a-z -]*?)"
    r"(?=\s*(?:[.,;:!?]|$|\b(?:on|off|from|to|for|than|altogether|please|and|as|in|at|while|this|again|after|either|too|"
    r"fewer|less|should|would|will|wrong|any more|so)\b))"
)
_COUNTED = lazy_pattern(rf"{_NUMBER}\s+(?:more\s+)?{_ITEM}", re.IGNORECASE)
# A number of what was named before.
_COUNT = lazy_pattern(
    rf"{_NUMBER} (?:more|fewer|too many|altogether|in (?:total|all)|of (?:them|those|these))\b|\banother (\w+)",
    re.IGNORECASE,
)
# The thing, and how many to get.
_OUT_OF = lazy_pattern(rf"\b(?:out of|low on|last of the) {_ITEM}.*{_NUMBER}\b", re.IGNORECASE)
_ALL_OF = [
    lazy_pattern(rf"\b{word}\s+{_ITEM}", re.IGNORECASE)
    for word in ("any", "(?:enough|plenty of)", "no", "without", "(?:all the|the|my|all)")
]
_NONE_LEFT = lazy_pattern(
    r"\b(?:not need any|no longer need|don't need any|all of them|take them|enough|plenty|without)\b"
    r"|\b(?:all|forget|skip|scrap|drop|leave out) the\b|^no (?!longer\b)\w",
    re.IGNORECASE,
)
_OFF = lazy_pattern(
    r"\b(?:remove|take|strike|delete|drop|scratch|cut|knock|fewer|less|too many|come off)\b", re.IGNORECASE
)
_SET = lazy_pattern(r"\b(?:altogether|instead|correct|in total|in all)\b", re.IGNORECASE)
# What only a message about the list has.
_KNOWN = lazy_pattern(
    r"\b(?:shopping list|(?:put it|items) on the list)\b|`item`"
    r"|\A\s*(?:I want to buy|I require|(?:please )?remove)\s+(?:another\s+)?\d",
    re.IGNORECASE,
)
_WORDS = "|".join(list(SMALL_NUMBERS)[:9])
# How messages begin that want something got, or not got.
_BEGINNINGS = (
    "please|actually|hmm|sorry|oh|also|and|no|wait|hang on|on second thoughts|come to think of it|get|add|buy|remove|"
    "drop|scratch|cut|strike|take|knock|make|remind me|don't let me|we mustn't|let's|it should be|that's|another|"
    "that won't do|guests are coming|(?:I|we)(?:'re|'ll|'d)? (?:need|must|could|want|have to|should|like|out|low|found|"
    f"still|asked|got|used)|{_WORDS}"
)
_SPOKEN = lazy_pattern(
    rf"\A(?=(?:{_BEGINNINGS})\b)(?=.*\b(?:{_WORDS})\b)"
    r"|\A(?:(?:forget|skip|scrap|drop|leave out) the|no) [a-z -]+[.,]"
    r"|\b(?:don't need any|plenty of|were enough) [a-z -]+",
    re.IGNORECASE,
)
_CHANGES = lazy_pattern(
    r"\b(?:need|must get|do with|buy|get|pick up|forget|and|also|add|more|another|remove|drop|scratch|cut|strike|knock|"
    r"take|fewer|less|too many|altogether|in (?:total|all)|skip|scrap|leave (?:out|them out)|no)\b",
    re.IGNORECASE,
)
# Characters of the longest message that is about the list without a word of it.
_SHORT = 110


class ShoppingList(Topic):
    """Keeps every change of the list and answers with what they come to."""

    kinds = ("shopping",)
    forgets = lazy_pattern(
        r"\bbought (?:everything|all)\b|\blist is empty\b|\b(?:forget|disregard)\b.*\blist\b", re.IGNORECASE
    )
    forgotten = "Your shopping list is empty."

    def claims(self, text: str) -> bool:
        """Return whether a message is about the list, or speaks of a number of things as people do of one."""
        spoken = len(text) <= _SHORT and _SPOKEN.search(text) and _CHANGES.search(text)
        return bool(spoken) or _KNOWN.search(text) is not None

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a change, or tell the list."""
        if _ASKED.search(turn.text):
            return _list_as_json(notes)
        change = _list_change(turn.text)
        if change is None:
            return None
        notes.add(turn, "shopping", change)
        return "Noted."


def _list_change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if the text tells none.

    The item is "" where the text speaks of what was named before.
    """
    if out := _OUT_OF.search(text):
        return ["more", _singular_item(out[1]), SMALL_NUMBERS.get(out[2].lower()) or int(out[2])]
    counted = _COUNTED.search(text) or _COUNT.search(text)
    if counted is None or counted.group(counted.lastindex or 1).lower() == "list":
        whole = first_match(_ALL_OF, text) if _NONE_LEFT.search(text) else None
        return ["none", _singular_item(whole.group(1)), 0] if whole else None
    alone = counted.re.pattern == _COUNT.pattern
    word, item = (counted[1] or counted[2], "") if alone else (counted[1], _singular_item(counted[2]))
    number = SMALL_NUMBERS.get(word.lower()) or (int(word) if word.isdigit() else 0)
    kind = "set" if _SET.search(text) else "less" if _OFF.search(text) else "more"
    return [kind, item, number] if number else None


def _singular_item(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _list_as_json(notes: ReaderNotebook) -> str:
    """Return the list that the visible changes come to, as JSON."""
    shopping: dict[str, int] = {}
    last = ""
    for change in reversed(list(notes.visible("shopping"))):
        kind, named, number = change.content
        last = item = named or last
        before = shopping.get(item, 0)
        shopping[item] = {"more": before + number, "less": before - number, "set": number, "none": 0}[kind]
        if shopping[item] <= 0 or not item:
            del shopping[item]
    return json.dumps([{"item": item, "quantity": number} for item, number in shopping.items()])
