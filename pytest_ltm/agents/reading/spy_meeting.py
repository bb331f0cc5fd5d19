"""Coded messages about a secret meeting: what each of them means, and the three put together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_OPENING = re.compile(r"\bcoded message about a secret meeting\b|\bthree messages from different people\b")
_MESSAGE = re.compile(
    r"Coded message from [^:\n]{1,60}: (?P<ours>.+)"
    r"|[^:\n]{1,60}: (?P<published>(?:We will rendezvous|The time we will meet|Bring to the meeting)\b.+)",
    re.DOTALL,
)
_ASKED = re.compile(r"\b(?:secret meeting|clandestine messages)\b")
_FORGET = re.compile(r"\bforget\b[^.?!]*\bcoded messages\b", re.IGNORECASE)

_MEANINGS: dict[str, dict[str, str]] = {
    "place": {
        r"\bhoney\b": "the apiary",
        r"\bships are warned\b": "the lighthouse",
        r"\bgrain\b": "the windmill",
        r"\bwine\b": "the vineyard",
        r"\bthe dead\b": "the cemetery",
        r"\b(?:yeast|loaves)\b": "the bakery",
        r"\b(?:tigers|giraffes)\b": "the zoo",
        r"\bstone is cut\b": "the quarry",
        r"\bbooks\b": "the library",
        r"\bplanes\b": "the airport",
        r"\btrains\b": "the railway depot",
        r"\bsea cargo\b": "the port",
        r"\bapples\b": "the orchard",
        r"\bland meets the sea\b": "the beach",
        r"\bcars are made\b": "the automobile factory",
    },
    "time": {
        r"\bshadow\b.*\bshortest\b|\bsun is high\b": "noon",
        r"\bone day hands over\b|\bmoon is high\b": "midnight",
        r"\brooster\b|\bsun starts its travel\b|\bblackbirds\b": "sunrise",
        r"\bsun (?:goes under|leaves the sky)\b": "sunset",
        r"\bpumpkins\b": "Halloween",
        r"\bpaper hearts\b": "Valentine's Day",
        r"\bfool each other\b": "April Fools' Day",
        r"\bold year\b": "New Year's Eve",
    },
    "item": {
        r"\bstay dry\b": "an umbrella",
        r"\bdig\b": "a spade",
        r"\brung\b": "a ladder",
        r"\bfind north\b": "a compass",
        r"\bfar ships\b": "binoculars",
        r"\btake pictures\b": "a camera",
        r"\bfence of wire\b": "pliers",
        r"\blight up\b": "a torch",
        r"\bfingerprints\b": "gloves",
        r"\bbreathe\b": "a snorkel",
        r"\bescape\b": "a motorcycle",
        r"\blocked doors\b": "a lock pick",
        r"\bacross a river\b": "a boat",
        r"\bborder guards\b": "a bribe",
    },
}
_CODES = [(re.compile(cue), kind, meaning) for kind, meanings in _MEANINGS.items() for cue, meaning in meanings.items()]


class SpyMeeting:
    """Notes what each message means, and tells place, time and thing when asked."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a message, or put together those that can still be seen."""
        if not turn.brief:
            return None
        if _FORGET.search(turn.text) or _OPENING.search(turn.text):
            notes.drop("spy")
            return "Understood."
        if message := _MESSAGE.match(turn.text):
            found = _decoded(message["ours"] or message["published"])
            if found:
                notes.add(turn, "spy", found)
            return "Received."
        return _arranged(notes) if _ASKED.search(turn.text) else None


def _decoded(message: str) -> list[str] | None:
    """Return whether a message is about place, time or item, and what it means."""
    return next(([kind, meaning] for cue, kind, meaning in _CODES if cue.search(message)), None)


def _arranged(notes: Notebook) -> str:
    newest: dict[str, str] = {}
    for note in notes.visible("spy"):
        newest.setdefault(*note.content)
    parts = [
        f"{label}: {newest[kind]}."
        for kind, label in (("place", "Where"), ("time", "When"), ("item", "Bring"))
        if kind in newest
    ]
    return " ".join(parts) or "I do not know."
