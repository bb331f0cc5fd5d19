"""What people have and give: a club's book, belongings of those around the user, and the user's own facts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.dates import MONTH_PATTERN, month_number
from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, ReaderNotebook, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


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
    """Yield what was told, the oldest first, with its value; None: the user wants it forgotten."""
    for note in reversed(list(notes.visible(_KIND))):
        label, value = note.content
        yield label, value


# With a name, where several have one relation, or one name.
_OWNER = r"(?P<owner>\w+(?: (?-i:[A-Z])\w+)?)"
_TOLD = lazy_pattern(
    rf"\bmy {_OWNER}(?:'s| has an?| owns an?) (?P<thing>\w+) (?P<how>[a-z ]+) (?P<value>(?-i:[A-Z])\w+)",
    re.IGNORECASE,
)
_ASKED = lazy_pattern(rf"\bmy {_OWNER}(?:'s| get the) (?P<thing>\w+)[^?]*\?\s*$", re.IGNORECASE)
_NAMING = lazy_pattern(r"\b(?:names?|named|call|called)\b", re.IGNORECASE)
_PLACE = lazy_pattern(r"\b(?:where|place|town|from|bought)\b", re.IGNORECASE)


class Belongings(Topic):
    """Keeps what is said of somebody's thing, and says so where it was never told."""

    kinds = ("belonging",)
    forgets = lazy_pattern(r"\bforget whom I know and what they have\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, which others may note as well, or answer a question if anything of the kind was told."""
        if asked := _ASKED.search(turn.text):
            question = turn.text
            known = [note.content for note in notes.visible("belonging")]
            if not known or not (_NAMING.search(question) or _PLACE.search(question)):
                return None
            wanted = [asked["owner"].lower(), asked["thing"].lower(), _belonging_kind(question)]
            return next((f"{value}." for *what, value in known if what == wanted), "You have not told me that.")
        match = _TOLD.search(turn.text)
        if match and (_NAMING.search(match["how"]) or _PLACE.search(match["how"])):
            kind = _belonging_kind(match["how"])
            notes.add(turn, "belonging", [match["owner"].lower(), match["thing"].lower(), kind, match["value"]])
        return None


def _belonging_kind(text: str) -> str:
    return "name" if _NAMING.search(text) else "place"


_NAME = r"(?P<name>[A-Z]\w+)"
_SUM = r"(?P<sum>£\d+|(?i:\w+) pounds)"
_GIFT = (
    lazy_pattern(rf"\b{_NAME} (?:gave|paid|put in) {_SUM} for the (?P<what>[a-z]+)"),
    lazy_pattern(rf"{_SUM} (?:came|arrived) from {_NAME} for the (?P<what>[a-z]+)"),
)
_HOME = lazy_pattern(
    rf"\b{_NAME}(?:, one of the members,| of the club)? (?:lives in|comes from|is from|is at home in|has a house in|"
    r"has always lived in) (?P<town>[A-Z]\w+)"
)
_DAY = lazy_pattern(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>(?:{MONTH_PATTERN})[a-z]*)\b"
    rf"|\b(?P<month1>(?:{MONTH_PATTERN})[a-z]*) (?P<day1>\d{{1,2}})\b",
    re.IGNORECASE,
)
_ABOVE = lazy_pattern(r"\bmore than (\d+) pounds each\b")
_FOR = lazy_pattern(r"\bfor the (?P<what>[a-z]+)(?: than for the (?P<less>[a-z]+))?")
_FROM = lazy_pattern(r"\b(?P<not>not )?from (?P<town>[A-Z]\w+)")
_FIRST_GIFTS = lazy_pattern(r"\bfirst gift\b")
_ORDER = lazy_pattern(r"\border\b|\brank\b")
_MANY = lazy_pattern(r"\bhow many (?:of the )?gifts\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Book:
    """What the notes hold."""

    gifts: Sequence[Mapping[str, Any]]
    homes: Mapping[str, str]

    def total(self, **fields: str) -> int:
        """Return the sum of the gifts that have these values."""
        return sum(gift["sum"] for gift in self.gifts if all(gift[name] == value for name, value in fields.items()))

    def yield_givers(self, what: str) -> Iterator[str]:
        """Yield who gave for something, each once."""
        yield from Counter(gift["name"] for gift in self.gifts if gift["what"] == what)


class GiftLedger(Topic):
    """Keeps gifts and where members live, and works out what it is asked of all of them."""

    kinds = ("gift", "home")
    about = lazy_pattern(
        r"\bthe club's book\b|\bfor the [a-z]+\b|\bforget all gifts\b"
        r"|\b(?:lives in|lived in|comes from|is from|at home in|a house in) [A-Z]"
    )
    forgets = lazy_pattern(r"\bforget all gifts\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a gift or a home, or answer a question about the book."""
        text = turn.text
        if text.rstrip().endswith("?"):
            return _answer_ledger(text, notes) if "the club's book" in text.lower() else None
        gift = next((match for one in _GIFT if (match := one.search(text))), None)
        if gift and (day := _day_number(text)):
            notes.add(
                turn,
                "gift",
                {"name": gift["name"], "sum": _amount_in_pounds(gift["sum"]), "what": gift["what"], "day": day},
            )
            return "Noted."
        if home := _HOME.search(text):
            notes.add(turn, "home", [home["name"], home["town"]])
        return None  # who lives where may matter to others, too


def _amount_in_pounds(text: str) -> int:
    word = text.lower().removeprefix("£").removesuffix(" pounds")
    return int(word) if word.isdecimal() else NUMBERS.get(word, 0)


def _day_number(text: str) -> int:
    """Return the month and day that a text names, as one number; 0 if it names none."""
    match = _DAY.search(text)
    if not match:
        return 0
    return (month_number(match["month"] or match["month1"]) or 0) * 100 + int(match["day"] or match["day1"])


def _answer_ledger(text: str, notes: ReaderNotebook) -> str:
    """Return what a question about the book comes to."""
    book = _Book([note.content for note in notes.visible("gift")], dict(note.content for note in notes.visible("home")))
    if not book.gifts:
        return "I don't know of any gifts."
    if _MANY.search(text):
        return f"{_count_gifts(text, book)} gifts."
    if _ORDER.search(text):
        return f"{', '.join(_order_givers(text, book))}."
    what, town = _FOR.search(text), _FROM.search(text)
    if town:
        return _find_givers(town, what["what"] if what else "", book)
    if not what:
        return "I don't know."
    less = book.total(what=what["less"]) if what["less"] else 0
    return f"That comes to {book.total(what=what['what']) - less} pounds."


def _count_gifts(text: str, book: _Book) -> int:
    if above := _ABOVE.search(text):
        return sum(gift["sum"] > int(above[1]) for gift in book.gifts)
    return sum(gift["day"] > _day_number(text) for gift in book.gifts)


def _order_givers(text: str, book: _Book) -> list[str]:
    names = dict.fromkeys(gift["name"] for gift in book.gifts)
    if _FIRST_GIFTS.search(text):
        return list(dict.fromkeys(gift["name"] for gift in sorted(book.gifts, key=lambda gift: int(gift["day"]))))
    return sorted(names, key=lambda name: -book.total(name=name))


def _find_givers(town: re.Match[str], what: str, book: _Book) -> str:
    """Return who from a town, or not from it, gave for something; or who of it gave the most, where that is asked."""
    if not what:
        members = [name for name, home in book.homes.items() if home == town["town"]]
        return f"{max(members, key=lambda name: book.total(name=name))}." if members else "I don't know."
    result = [
        name for name in book.yield_givers(what) if (book.homes.get(name) == town["town"]) is not bool(town["not"])
    ]
    return f"{', '.join(result)}." if result else "Nobody that I know of."
