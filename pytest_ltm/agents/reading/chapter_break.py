"""A book that is read out, and which beginning of its next chapter fits: what contradicts the book does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_ltm.agents.reading._town import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_ltm.agents.reading._notes import Notebook, Turn

_OPENING = re.compile(
    r"I am going to read (?:to )?you .{0,60}\b(?:book|chapters?)\b|I am going to read to you from a book"
)
_PAGE = re.compile(r"(?:Page \d{1,6} of \d{1,6}|\d{1,6}(?:st|nd|rd|th)(?: and last)?(?: \w{1,12})? page):\s")
_INTERLUDE = re.compile(
    r"\b(?:options for the beginning of the next chapter|beginnings that the next chapter might have)\b"
)
_OPTION = re.compile(r"Option (\d{1,4}):\s")
_QUESTION = re.compile(r"Which (?:option|of these (?:beginnings|options))\b.{0,80}\bnext[- ]chapter\b")
_FORGET = re.compile(r"\bforget the (?:book|(?:current )?chapters?)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_KINDS = ("book page", "book option")
_SHORT = 300


class ChapterBreak:
    """Keeps what the pages say of their town and picks the beginning that contradicts none of it.

    Where pages say nothing that it understands it can only guess: the beginning that shares most of its rare
    words with them.
    """

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a page or an option, answer the question, forget on request."""
        if page := _PAGE.match(turn.text):
            notes.add(turn, "book page", _read(turn.text[page.end() :]))
            return "I am listening."
        if option := _OPTION.match(turn.text):
            notes.add(turn, "book option", {"number": int(option[1]), **_read(turn.text[option.end() :])})
            return "I am listening."
        if len(turn.text) > 2 * _SHORT:
            return None
        if _OPENING.match(turn.text) or _FORGET.search(turn.text):
            notes.drop(*_KINDS)
            return "All right."
        if _INTERLUDE.search(turn.text):
            notes.drop("book option")
            return "Ready."
        return _choice(notes) if _QUESTION.search(turn.text) else None


def _read(text: str) -> dict[str, Any]:
    """Return what a text says of its town; the words of one that says nothing."""
    facts = statements(text)
    return {"facts": facts} if facts else {"words": sorted(_words(text))}


def _choice(notes: Notebook) -> str:
    pages = [note.content for note in notes.visible("book page")]
    options = {note.content["number"]: note.content for note in notes.visible("book option")}
    if not options:
        return "You have not given me any options."
    if all("facts" in option for option in options.values()):
        return _consistent(pages, options)
    return _likeliest(pages, options)


def _consistent(pages: Iterable[Mapping[str, Any]], options: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the number of the only option that contradicts nothing; pages come the newest first."""
    state: dict[tuple[str, str], str] = {}
    for page in pages:
        for kind, subject, value in reversed(page.get("facts", ())):
            state.setdefault((kind, subject), value)
    fitting = [
        number
        for number, option in options.items()
        if all(state.get((kind, subject), value) == value for kind, subject, value in option["facts"])
    ]
    return str(fitting[0]) if len(fitting) == 1 else "I cannot tell."


def _likeliest(pages: Iterable[Mapping[str, Any]], options: Mapping[int, Mapping[str, Any]]) -> str:
    """Guess: a word counts the more, the fewer options have it; the last page counts as much as all the others."""
    known = [frozenset(page.get("words", ())) for page in pages]
    everywhere = frozenset[str]().union(*known)
    words = {number: frozenset(option.get("words", ())) for number, option in options.items()}
    spread: dict[str, int] = {}
    for option in words.values():
        for word in option:
            spread[word] = spread.get(word, 0) + 1

    def likeness(number: int) -> float:
        shares = [sum(1 / spread[word] for word in words[number] & page) for page in (everywhere, *known[:1])]
        return sum(shares) / (len(words[number]) or 1)

    return str(max(words, key=likeness)) if known else "I cannot tell."


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
