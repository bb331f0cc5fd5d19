"""What people have and give: a club's book, belongings of those around the user, and the user's own facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._language.dates import MONTH_PATTERN, month_number
from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic, first_match

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence


_RE = Patterns("ledger", MONTH=MONTH_PATTERN)


_OWN = _RE.compile_group(
    {label: [told, f"{label}\\b|{meant}", asked] for label, (told, meant, asked) in WORDS["own facts"].items()}, "(?i)"
)
_KIND = "own fact"
_GONE = "I have forgotten that, as you asked."


class OwnFacts(Topic, kinds=(_KIND,), forgets=_RE.forgets_own_facts):
    """Keeps what the user says of themselves until they want it forgotten."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a fact, which others may note as well, or that it is gone; or answer a question."""
        # The oldest first, each with its value; None: the user wants it forgotten.
        held: dict[str, str | None] = dict(notes.contents(_KIND)[::-1])
        if _RE.forget.search(turn.text):
            meant = (one for one in held if _OWN[one][1].search(turn.text) or (held[one] or "-") in turn.text)
            gone = next(meant, None)
            return notes.add(turn, _KIND, [gone, None], "I have forgotten it.") if gone else None
        if held and _RE.all.search(turn.text):
            return f"{', '.join(value for value in held.values() if value)}."
        if turn.text.rstrip().endswith("?"):
            asked = next((one for one in held if _OWN[one][2].search(turn.text)), None)
            return None if asked is None else f"{held[asked]}." if held[asked] else _GONE
        for label, (told, *_) in _OWN.items():
            if match := told.search(turn.text):
                notes.add(turn, _KIND, [label, match[match.lastindex or 0]])
        return None


class Belongings(Topic, kinds=("belonging",), forgets=_RE.forgets_belongings):
    """Keeps what is said of somebody's thing, and says so where it was never told."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, which others may note as well, or answer a question if anything of the kind was told."""
        if asked := _RE.asked.search(turn.text):
            question = turn.text
            known = notes.contents("belonging")
            if not known or not (_RE.naming.search(question) or _RE.place.search(question)):
                return None
            wanted = [asked["owner"].lower(), asked["thing"].lower(), _belonging_kind(question)]
            return next((f"{value}." for *what, value in known if what == wanted), "You have not told me that.")
        match = _RE.told.search(turn.text)
        if match and (_RE.naming.search(match["how"]) or _RE.place.search(match["how"])):
            kind = _belonging_kind(match["how"])
            notes.add(turn, "belonging", [match["owner"].lower(), match["thing"].lower(), kind, match["value"]])
        return None


def _belonging_kind(text: str) -> str:
    return "name" if _RE.naming.search(text) else "place"


class _Book(Struct, frozen=True):
    """What the notes hold."""

    gifts: Sequence[Mapping[str, Any]]
    homes: Mapping[str, str]

    def total(self, **fields: str) -> int:
        """Return the sum of the gifts that have these values."""
        return sum(gift["sum"] for gift in self.gifts if all(gift[name] == value for name, value in fields.items()))


class GiftLedger(Topic, kinds=("gift", "home"), about=_RE.about_gift_ledger, forgets=_RE.forgets_gift_ledger):
    """Keeps gifts and where members live, and works out what it is asked of all of them."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a gift or a home, or answer a question about the book."""
        text = turn.text
        if text.rstrip().endswith("?"):
            return _answer_ledger(text, notes) if "the club's book" in text.lower() else None
        gift = first_match(_RE["gift"], text)
        if gift and (day := _day_number(text)):
            told = {"name": gift["name"], "sum": _amount_in_pounds(gift["sum"]), "what": gift["what"], "day": day}
            return notes.add(turn, "gift", told)
        if home := _RE.home.search(text):
            notes.add(turn, "home", [home["name"], home["town"]])
        return None  # who lives where may matter to others, too


def _amount_in_pounds(text: str) -> int:
    word = text.lower().removeprefix("£").removesuffix(" pounds")
    return int(word) if word.isdecimal() else NUMBERS.get(word, 0)


def _day_number(text: str) -> int:
    """Return the month and day that a text names, as one number; 0 if it names none."""
    match = _RE.day.search(text)
    if not match:
        return 0
    # Comparable, and of one year: nobody names one.
    return (month_number(match["month"] or match["month1"]) or 0) * 100 + int(match["day"] or match["day1"])


def _answer_ledger(text: str, notes: ReaderNotebook) -> str:
    """Return what a question about the book comes to."""
    book = _Book(notes.contents("gift"), dict(notes.contents("home")))
    if not book.gifts:
        return "I don't know of any gifts."
    if _RE.many.search(text):
        return f"{_count_gifts(text, book)} gifts."
    if _RE.order.search(text):
        return f"{', '.join(_order_givers(text, book))}."
    what, town = _RE.for_what.search(text), _RE.from_town.search(text)
    if town:
        return _find_givers(town, what["what"] if what else "", book)
    if not what:
        return "I don't know."
    less = book.total(what=what["less"]) if what["less"] else 0
    return f"That comes to {book.total(what=what['what']) - less} pounds."


def _count_gifts(text: str, book: _Book) -> int:
    if above := _RE.above.search(text):
        return sum(gift["sum"] > int(above[1]) for gift in book.gifts)
    return sum(gift["day"] > _day_number(text) for gift in book.gifts)


def _order_givers(text: str, book: _Book) -> list[str]:
    names = dict.fromkeys(gift["name"] for gift in book.gifts)
    if _RE.first_gifts.search(text):
        return list(dict.fromkeys(gift["name"] for gift in sorted(book.gifts, key=lambda gift: int(gift["day"]))))
    return sorted(names, key=lambda name: -book.total(name=name))


def _find_givers(town: re.Match[str], what: str, book: _Book) -> str:
    """Return who from a town, or not from it, gave for something; or who of it gave the most, where that is asked."""
    if not what:
        members = [name for name, home in book.homes.items() if home == town["town"]]
        return f"{max(members, key=lambda name: book.total(name=name))}." if members else "I don't know."
    givers = dict.fromkeys(gift["name"] for gift in book.gifts if gift["what"] == what)
    result = [name for name in givers if (book.homes.get(name) == town["town"]) is not bool(town["not"])]
    return f"{', '.join(result)}." if result else "Nobody that I know of."
