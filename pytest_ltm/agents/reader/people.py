"""People: the user's names, life and facts, and other people's belongings and gifts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.reader.notes import (
    UNDERSTOOD,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
    first_match,
)
from pytest_ltm.language.dates import MONTH_PATTERN, month_number
from pytest_ltm.language.numbers import NUMBERS

_RE = Patterns("person", COLOURS=WORDS["colours"].split())

# The longest message, in characters, that may name a favourite colour without saying
# so.
_SHORT = 120


class Colours(Topic):
    """Keeps every favourite colour, and answers with the newest visible one."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, answer a question, forget on request."""
        mention = _RE.mine.search(turn.text) if _RE.liking.search(turn.text) else None
        if colour := _told_colour(turn.text, is_about=mention is not None):
            return notes.add(turn, "colour", colour)
        if not (mention and _RE.colour.search(turn.text)):
            return None
        if _RE.forget.search(turn.text):
            return notes.drop("colour")
        if not ("?" in turn.text or _RE.wish.match(turn.text)):
            return None
        newest = notes.newest("colour")
        return (
            f"Your favourite colour is {newest.content}."
            if newest
            else "You have not told me."
        )


def _told_colour(text: str, *, is_about: bool) -> str:
    """Return the favourite colour in a statement, else "".

    `is_about`: the statement says that this is its subject.

    Once a favourite is known, people also mention a colour in a short statement without
    saying that.
    """
    if "?" in text or _RE.forget.search(text):
        return ""
    colour = ""
    if is_about and _RE.colour.search(text):
        match = _RE.names.search(text) or first_match(_RE["unlisted"], text)
        colour = match[1].strip() if match else ""
    elif is_about and (bare := _RE.bare.search(text)):
        word = bare[1] or bare[2]
        colour = word if _RE.names.fullmatch(word) else ""
    if (
        not colour
        and len(text) <= _SHORT
        and _RE.moved_on.search(text)
        and (match := _RE.unnamed.search(text))
    ):
        return match[1]
    return colour


# --- The names that the user goes by: the latest one, and the list of all of them.

_TOLD = _RE.compile_group(WORDS["names"], "(?i)")
_UNTOLD = _RE.compile_group(WORDS["names without the word"], "(?i)")


class Names(Topic, kinds=("name",), forgets=_RE.forgets_names):
    """Keeps every name that the user gives as their own."""

    def claims(self, text: str) -> bool:
        """Return whether a message is about a name of the user's."""
        match = _RE.mine_names.search(text) and _RE.about.search(text)
        return bool(match) or (
            len(text) <= _SHORT and first_match(_UNTOLD, text) is not None
        )

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a name, list all or return the newest."""
        if not _RE.asked.search(turn.text) or first_match(_UNTOLD, turn.text):
            match = first_match([*_TOLD, *_UNTOLD], turn.text)
            if match:
                return notes.add(turn, "name", match[1])
            return None
        if _RE.of_another.search(turn.text):
            return None
        names = notes.contents("name")
        if _RE.all.search(turn.text):
            return json.dumps(names[::-1], ensure_ascii=False)
        if names:
            answer = f"Your name is {names[0]}."
        else:
            answer = "You have not told me your name."
        return answer if _RE.one.search(turn.text) else None


# --- The user's own life: what holds now, after changes, corrections, withdrawals and
# rumours.

# By subject: how it is told, and how it is asked for.
_LIFE = _RE.compile_group(WORDS["life"], "(?i)")
_LIFE_TOLD = {label: told for label, (told, _) in _LIFE.items()}
_LIFE_ASKED = {label: asked for label, (_, asked) in _LIFE.items()}
_KIND = "personal"
_HABIT = "habit"
# How a habit is told, and how it is asked for.
_HABITS = _RE.compile_group(
    [[rf"\bI (?:always )?(?:{did})", asked] for did, asked in WORDS["habits"]], "(?i)"
)


class ConflictingPersonalInformation(
    Topic, kinds=(_KIND, _HABIT), forgets=_RE.forgets_conflicting_personal_information
):
    """Keeps the user's statements on their life, and answers with the last one not withdrawn."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, or answer a question."""
        for number, forms in enumerate(_HABITS):
            if match := forms[turn.asks].search(turn.text):
                return _respond_to_habit(turn, number, match, notes)
        if not turn.asks:
            return _note_life(turn, notes)
        label, _ = first_kind(_LIFE_ASKED, turn.text)
        return _so_now(label, notes) if label else None


def _respond_to_habit(
    turn: IncomingTurn, number: int, match: re.Match[str], notes: ReaderNotebook
) -> str | None:
    """Note the value of a habit, or answer a question for it."""
    exception = _RE.occasion.search(turn.text) is not None
    value = match[match.lastindex or 0] if match.re.groups else None
    if value:
        return notes.add(turn, _HABIT, [number, exception, value], "Good to know.")
    for habit in notes.values_of(_HABIT, number, exception):
        return f"{habit}."
    return "You have not told me."


def _note_life(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Note a statement or its withdrawal."""
    if withdrawn := _RE.withdrawn.search(turn.text):
        label = _withdrawn_label(withdrawn[1], notes)
        if label is None:
            return None
        notes.add(turn, _KIND, [label, None])
        return "I will forget that, then."
    label, match = first_kind(_LIFE_TOLD, turn.text)
    if match and not _RE.rumour.search(turn.text):
        notes.add(turn, _KIND, [label, match[match.lastindex or 0]])
    return None  # it may be about something else, too: others note it as well


def _withdrawn_label(subject: str, notes: ReaderNotebook) -> str | None:
    """Return the label of what is withdrawn by its subject, or just by its value."""
    if subject in _LIFE_TOLD:
        return subject
    value = subject.rsplit(maxsplit=1)[-1]
    for label, noted_value in notes.contents(_KIND):
        if noted_value == value:
            return str(label)
    return None


def _so_now(label: str, notes: ReaderNotebook) -> str | None:
    """Return what holds now; None if it was never told: others may know."""
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
    return None


_LEDGER = Patterns("ledger", MONTH=MONTH_PATTERN)


_OWN = _LEDGER.compile_group(
    {
        label: [told, f"{label}\\b|{meant}", asked]
        for label, (told, meant, asked) in WORDS["own facts"].items()
    },
    "(?i)",
)
_OWN_FACT = "own fact"
_GONE = "I have forgotten that, as you asked."


class OwnFacts(Topic, kinds=(_OWN_FACT,), forgets=_LEDGER.forgets_own_facts):
    """Keeps the user's facts about themselves until they ask to forget them."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a fact, which others may note as well, or that it is forgotten; or answer a question."""
        # Oldest first, with their values; None: forgotten on request.
        value_by_fact: dict[str, str | None] = dict(notes.contents(_OWN_FACT)[::-1])
        if _LEDGER.forget.search(turn.text):
            for fact, value in value_by_fact.items():
                if _OWN[fact][1].search(turn.text) or (value or "-") in turn.text:
                    return notes.add(
                        turn, _OWN_FACT, [fact, None], "I have forgotten it."
                    )
            return None
        if value_by_fact and _LEDGER.all.search(turn.text):
            return f"{', '.join(value for value in value_by_fact.values() if value)}."
        if turn.asks:
            for fact, value in value_by_fact.items():
                if _OWN[fact][2].search(turn.text):
                    return f"{value}." if value else _GONE
            return None
        for label, (pattern, *_) in _OWN.items():
            if match := pattern.search(turn.text):
                notes.add(turn, _OWN_FACT, [label, match[match.lastindex or 0]])
        return None


class Belongings(Topic, kinds=("belonging",), forgets=_LEDGER.forgets_belongings):
    """Keeps facts about people's things, and says so if one was never told."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, which others may note as well, or answer a question once such a thing was told."""
        if match_of_question := _LEDGER.asked.search(turn.text):
            question = turn.text
            if notes.newest("belonging") is None or not (
                _LEDGER.naming.search(question) or _LEDGER.place.search(question)
            ):
                return None
            owner = match_of_question["owner"].lower()
            thing = match_of_question["thing"].lower()
            key = (owner, thing, _belonging_kind(question))
            for value in notes.values_of("belonging", *key):
                return f"{value}."
            return "You have not told me that."
        match = _LEDGER.told.search(turn.text)
        if match and (
            _LEDGER.naming.search(match["how"]) or _LEDGER.place.search(match["how"])
        ):
            kind = _belonging_kind(match["how"])
            notes.add(
                turn,
                "belonging",
                [match["owner"].lower(), match["thing"].lower(), kind, match["value"]],
            )
            notes.add(turn, UNDERSTOOD, "belonging")
        return None


def _belonging_kind(text: str) -> str:
    return "name" if _LEDGER.naming.search(text) else "place"


class _Book(Struct, frozen=True):
    """The contents of the notes."""

    gifts: Sequence[Mapping[str, Any]]
    homes: Mapping[str, str]

    def total(self, **fields: str) -> int:
        """Return the sum of the gifts with these field values."""
        total = 0
        for gift in self.gifts:
            if all(gift[name] == value for name, value in fields.items()):
                total += gift["sum"]
        return total


class GiftLedger(
    Topic,
    kinds=("gift", "home"),
    about=_LEDGER.about_gift_ledger,
    forgets=_LEDGER.forgets_gift_ledger,
):
    """Keeps gifts and members' homes, and computes answers from all of them."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a gift or a home, or answer a question about the book."""
        text = turn.text
        if turn.asks:
            if "the club's book" in text.lower():
                return _answer_ledger(text, notes)
            return None
        gift = first_match(_LEDGER["gift"], text)
        if gift and (day := _day_number(text)):
            word = gift["sum"].lower().removeprefix("£").removesuffix(" pounds")
            pounds = int(word) if word.isdecimal() else NUMBERS.get(word, 0)
            return notes.add(
                turn,
                "gift",
                {"name": gift["name"], "sum": pounds, "what": gift["what"], "day": day},
            )
        if home := _LEDGER.home.search(text):
            notes.add(turn, "home", [home["name"], home["town"]])
            notes.add(turn, UNDERSTOOD, "home")
        return None  # where somebody lives may matter to others, too


def _day_number(text: str) -> int:
    """Return the month and day in a text as one number; 0 if there are none."""
    match = _LEDGER.day.search(text)
    if not match:
        return 0
    # Comparable, because all are of one year.
    return (month_number(match["month"] or match["month1"]) or 0) * 100 + int(
        match["day"] or match["day1"]
    )


def _answer_ledger(text: str, notes: ReaderNotebook) -> str:
    """Return the answer to a question about the book."""
    book = _Book(notes.contents("gift"), dict(notes.contents("home")))
    if not book.gifts:
        return "I don't know of any gifts."
    if _LEDGER.many.search(text):
        above = _LEDGER.above.search(text)
        if above:
            count = sum(gift["sum"] > int(above[1]) for gift in book.gifts)
        else:
            day = _day_number(text)
            count = sum(gift["day"] > day for gift in book.gifts)
        return f"{count} gifts."
    if _LEDGER.order.search(text):
        gifts = sorted(
            book.gifts,
            key=lambda gift: (
                int(gift["day"]) if _LEDGER.first_gifts.search(text) else 0
            ),
        )
        names = list(dict.fromkeys(gift["name"] for gift in gifts))
        if not _LEDGER.first_gifts.search(text):
            names.sort(key=lambda name: -book.total(name=name))
        return f"{', '.join(names)}."
    purpose = _LEDGER.for_what.search(text)
    town = _LEDGER.from_town.search(text)
    if town:
        return _find_givers(town, purpose["what"] if purpose else "", book)
    if not purpose:
        return "I don't know."
    less = book.total(what=purpose["less"]) if purpose["less"] else 0
    return f"That comes to {book.total(what=purpose['what']) - less} pounds."


def _find_givers(town: re.Match[str], purpose: str, book: _Book) -> str:
    """Return who from a town, or not from it, gave for a purpose.

    Without a purpose, who from the town gave most.
    """
    if not purpose:
        members = [name for name, home in book.homes.items() if home == town["town"]]
        if members:
            return f"{max(members, key=lambda name: book.total(name=name))}."
        return "I don't know."
    givers: list[str] = []
    for gift in book.gifts:
        name = gift["name"]
        is_from_town = book.homes.get(name) == town["town"]
        if gift["what"] != purpose or is_from_town is bool(town["not"]):
            continue
        if name not in givers:
            givers.append(name)
    if givers:
        return f"{', '.join(givers)}."
    return "Nobody that I know of."
