"""Quotes, and instructions to append one to a later reply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_QUOTED = (
    re.compile(r"\"(.{8,600})\"", re.DOTALL),
    re.compile(r"[“„](.{8,600})[”“]", re.DOTALL),
    re.compile(r"(?<!\w)['‘](.{8,600})['’](?!\w)", re.DOTALL),  # noqa: RUF001 - published quotes are curly
)
_SIGNED = re.compile(r"\s*[-–—]\s*\S")  # noqa: RUF001 - people sign quotes with any dash
_A_QUOTE = re.compile(r"\b(?:quote|quotation|line|words|saying|sentence)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[^.!?:]\s)[A-Z][\w.’-]+(?:\s+(?:[a-z]{2,3}\s+)?[A-Z][\w.’-]*)*")  # noqa: RUF001 - names hold curly apostrophes
_ADD = re.compile(r"\b(?:append|add|attach|recite|put|include|write)\b", re.IGNORECASE)
_REPLY = re.compile(r"\b(?:repl(?:y|ies)|responses?|messages?|statements?|answers?)\b", re.IGNORECASE)
_FORGET = re.compile(r"^[^\"'“]{0,60}\b(?:forget|disregard|cancel)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d{1,4})(?:st|nd|rd|th)\b|\breply number (\d{1,4})\b|\bnext (\d{1,4})\b", re.IGNORECASE)
_LATER = re.compile(r"\bnew message\b|\bafter the next\b", re.IGNORECASE)


class Instructions:
    """Keeps quotes with their authors and adds one to the reply that was asked for, whatever it is about."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a quote or an instruction, drop instructions on request."""
        if not turn.brief:
            return None
        return _quoted(turn, notes) or _forgotten(turn, notes) or _instructed(turn, notes)

    def appendix(self, turn: Turn, notes: Notebook) -> str | None:
        """Return the quote that is due now, if instruction and quote can both still be seen."""
        for order in notes.visible("instruction"):
            if order.content["due"] == turn.position:
                return _quote_by(order.content["text"], notes)
        return None


def _forgotten(turn: Turn, notes: Notebook) -> str | None:
    if not (_FORGET.search(turn.text) and _ADD.search(turn.text) and _REPLY.search(turn.text)):
        return None
    notes.drop("instruction")
    return "Forgotten."


def _instructed(turn: Turn, notes: Notebook) -> str | None:
    """Note which reply the quote belongs to; the reply to the instruction counts unless it says otherwise."""
    words = turn.text
    number = _ORDINAL.search(words)
    if number is None or not (_ADD.search(words) and _A_QUOTE.search(words) and _REPLY.search(words)):
        return None
    nth = int(next(digits for digits in number.groups() if digits))
    due = turn.position + (nth if _LATER.search(words) else nth - 1)
    notes.add(turn, "instruction", {"due": due, "text": words})
    return "I will."


def _quoted(turn: Turn, notes: Notebook) -> str | None:
    found = next((match for pattern in _QUOTED if (match := pattern.search(turn.text))), None)
    if found is None:
        return None
    rest = f"{turn.text[: found.start()]}{turn.text[found.end() :]}"
    signed = found.start() == 0 and _SIGNED.match(turn.text, found.end())
    author = max(_NAME.findall(rest), key=len, default="")
    if not author or not (signed or _A_QUOTE.search(rest)):
        return None
    notes.add(turn, "quote", {"author": author, "quote": found.group(1)})
    return "Noted."


def _quote_by(order: str, notes: Notebook) -> str | None:
    """Return the newest quote whose author the instruction names."""
    for note in notes.visible("quote"):
        if note.content["author"] in order:
            return str(note.content["quote"])
    return None
