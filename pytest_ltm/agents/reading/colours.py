"""The user's favourite colour: the one told last counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_LIKING = re.compile(r"\b(?:favou?rite|prefer|like|love|please[sd]?)\b", re.IGNORECASE)
_COLOUR = re.compile(r"\bcolou?rs?\b", re.IGNORECASE)
_MINE = re.compile(r"\b(?:my|I|me)\b", re.IGNORECASE)
_WISH = re.compile(r"\s*(?:please|tell|name|say|remind|recall|what|which|can|could|do|would)\b", re.IGNORECASE)
_FORGET = re.compile(r"\b(?:forget|disregard)\b", re.IGNORECASE)
_NAMES = re.compile(
    r"\b(amber|aqua|aquamarine|azure|beige|black|blue|bronze|brown|burgundy|charcoal|cobalt|copper|coral|cream"
    r"|crimson|cyan|emerald|fuchsia|gold|gray|green|grey|indigo|ivory|jade|khaki|lavender|lilac|lime|magenta"
    r"|maroon|mauve|mint|mustard|navy|ochre|olive|orange|peach|pink|plum|purple|red|ruby|rust|salmon|sapphire"
    r"|scarlet|sienna|silver|tan|taupe|teal|turquoise|ultramarine|vermilion|violet|white|yellow)\b",
    re.IGNORECASE,
)
_UNLISTED = (
    re.compile(r"favou?rite colou?r (?:is|was|has become|could be described as) ([\w -]{2,30})", re.IGNORECASE),
    re.compile(r"^([\w -]{2,30}) (?:is|has become) my (?:new )?favou?rite colou?r", re.IGNORECASE),
)
_BARE = re.compile(r"\b(?:prefer\s+(\w+)|(?:like|love)\s+(\w+)\s+(?:best|most))(?:\s+now)?[.!]?$", re.IGNORECASE)


class Colours:
    """Keeps every favourite colour that is told and answers with the newest that can be seen."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a statement, answer a question, forget on request."""
        if not (turn.brief and _LIKING.search(turn.text) and _MINE.search(turn.text)):
            return None
        colour = _told(turn.text)
        if colour is not None:
            notes.add(turn, "colour", colour)
            return "Noted."
        if not _COLOUR.search(turn.text):
            return None
        if _FORGET.search(turn.text):
            notes.drop("colour")
            return "Forgotten."
        if not ("?" in turn.text or _WISH.match(turn.text)):
            return None
        newest = notes.newest("colour")
        return f"Your favourite colour is {newest.content}." if newest else "You have not told me."


def _told(text: str) -> str | None:
    """Return the colour that a statement names as the favourite, else None."""
    if "?" in text or _FORGET.search(text):
        return None
    named = _NAMES.search(text)
    if _COLOUR.search(text):
        unlisted = (pattern.search(text) for pattern in _UNLISTED)
        match = named or next((found for found in unlisted if found), None)
        return match.group(1).strip() if match else None
    bare = _BARE.search(text)
    word = (bare.group(1) or bare.group(2)) if bare else ""
    return word if _NAMES.fullmatch(word) else None
