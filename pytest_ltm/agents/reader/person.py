"""What the user says of themselves: a favourite colour, names, and facts of their life that change."""

from __future__ import annotations

import json
import re

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, ReaderNotebook, Topic, first_match, word_pattern

_LIKING = lazy_pattern(r"\b(?:favou?rite|prefer|like|love|please[sd]?)\b", re.IGNORECASE)
_COLOUR = lazy_pattern(r"\bcolou?rs?\b", re.IGNORECASE)
_MINE = lazy_pattern(r"\b(?:my|I|me)\b", re.IGNORECASE)
_WISH = lazy_pattern(r"\s*(?:please|tell|name|say|remind|recall|what|which|can|could|do|would)\b", re.IGNORECASE)
_FORGET = lazy_pattern(r"\b(?:forget|disregard)\b", re.IGNORECASE)
_NAMES = lazy_pattern(rf"\b({'|'.join(WORDS['colours'].split())})\b", re.IGNORECASE)
_UNLISTED = (
    lazy_pattern(r"favou?rite colou?r (?:is|was|has become|could be described as) ([\w -]{2,30})", re.IGNORECASE),
    lazy_pattern(r"^([\w -]{2,30}) (?:is|has become) my (?:new )?favou?rite colou?r", re.IGNORECASE),
)
_BARE = lazy_pattern(r"\b(?:prefer\s+(\w+)|(?:like|love)\s+(\w+)\s+(?:best|most))(?:\s+now)?[.!]?$", re.IGNORECASE)
# A colour spoken of as such, which no thing has.
_UNNAMED = lazy_pattern(
    rf"(?<!\ba )(?<!\ban )(?<!\bthe )\b({'|'.join(WORDS['colours'].split())})"
    r"(?=[.,;!]|$| (?:now|these days|at|from|for|is|it|has|does|any|first|phase)\b)",
    re.IGNORECASE,
)
# How one takes to another.
_MOVED_ON = lazy_pattern(
    r"\bmoved (?:on|into)\b|\bmore into\b|\bfor me\b|\bit(?: has to be| is now|'s)\b|\bwon me over\b|\bdoes it for me\b"
    r"|\b(?:like best|prefer|love most)\b|\bconverted me\b|\bnothing \w+|\benough of\b|\bmake (?:that|it)\b|\bphase\b"
    r"|\bmy favou?rite\b|\bovertaken\b|\btop spot\b|\b(?:suit|cheer)s me\b|\bput \w+ first\b",
    re.IGNORECASE,
)
# Characters of the longest message that tells of a favourite colour without saying so.
_SHORT = 120


class Colours:
    """Keeps every favourite colour that is told and answers with the newest that can be seen."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, answer a question, forget on request."""
        if not turn.is_brief:
            return None
        about = _LIKING.search(turn.text) and _MINE.search(turn.text)
        colour = (_told_colour(turn.text) if about else None) or _moved_on(turn.text)
        if colour is not None:
            notes.add(turn, "colour", colour)
            return "Noted."
        if not (about and _COLOUR.search(turn.text)):
            return None
        if _FORGET.search(turn.text):
            notes.drop("colour")
            return "Forgotten."
        if not ("?" in turn.text or _WISH.match(turn.text)):
            return None
        newest = notes.newest("colour")
        return f"Your favourite colour is {newest.content}." if newest else "You have not told me."


def _told_colour(text: str) -> str | None:
    """Return the colour that a statement names as the favourite, else None."""
    if "?" in text or _FORGET.search(text):
        return None
    named = _NAMES.search(text)
    if _COLOUR.search(text):
        match = named or first_match(_UNLISTED, text)
        return match.group(1).strip() if match else None
    bare = _BARE.search(text)
    word = (bare.group(1) or bare.group(2)) if bare else ""
    return word if _NAMES.fullmatch(word) else None


def _moved_on(text: str) -> str | None:
    """Return the colour that a short statement speaks of, as people do once a favourite colour is known; else None."""
    if len(text) > _SHORT or "?" in text or _FORGET.search(text) or not _MOVED_ON.search(text):
        return None
    match = _UNNAMED.search(text)
    return match[1] if match else None


# --- The names that the user goes by: the one told last, and the list of all of them.

_ABOUT = lazy_pattern(
    r"\bmy name\b|\bmy new name\b|\bnames?\b.*\b(?:I|me|my)\b|\b(?:I|me)\b.*\bnames?\b|\bcall(?:s|ing|ed)?\b"
    r"|\brefer to me\b|\bknown me\b",
    re.IGNORECASE | re.DOTALL,
)
_NAME = r"((?-i:(?!I\b)[A-ZÀ-ÖØ-ÞĀĆČĎĘĚŁŃŇŘŚŞŠŤŹŻŽ\u4e00-\u9fff])[\w’'-]*)"
_TOLD = [word_pattern(one, re.IGNORECASE, NAME=_NAME) for one in WORDS["names"]]
_UNTOLD = [
    word_pattern(one, re.IGNORECASE, NAME=_NAME, NOW=r"(?:now|these days|from (?:now|here|today)(?: on)?)")
    for one in WORDS["names without the word"]
]
_ASKED = lazy_pattern(r"\?|^\s*(?:please )?(?:list|tell|give|name)\b", re.IGNORECASE)
_MINE_NAMES = lazy_pattern(r"\b(?:I|me|my|myself)\b", re.IGNORECASE)
_ALL = lazy_pattern(
    r"\b(?:names|every name|each name)\b.{0,60}\b(?:gone by|known me by|given (?:you|myself)|told you|used|had)\b",
    re.IGNORECASE | re.DOTALL,
)
_ONE = lazy_pattern(r"\bname\b|\bcalled\b|\bcall me\b", re.IGNORECASE)
# A question after what somebody or something else is called.
_OF_ANOTHER = lazy_pattern(
    r"\b(?:my|our) (?!names?\b)[\w' -]{1,40}? (?:called|named)\b(?! me\b)|\bnames? of (?:my|our|the)\b"
    r"|\b(?:my|our) [\w-]{1,30}(?:'s|s') names?\b",
    re.IGNORECASE,
)


class Names(Topic):
    """Keeps every name that the user tells as the own one."""

    kinds = ("name",)
    forgets = lazy_pattern(r"\b(?:forget|disregard)\b.*\bnames?\b(?! of\b)", re.IGNORECASE | re.DOTALL)

    def claims(self, text: str) -> bool:
        """Return whether a message is about a name of the user's."""
        about = _MINE_NAMES.search(text) and _ABOUT.search(text)
        return bool(about) or (len(text) <= _SHORT and first_match(_UNTOLD, text) is not None)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a name, list all or tell the newest."""
        if _ASKED.search(turn.text) and not first_match(_UNTOLD, turn.text):
            return None if _OF_ANOTHER.search(turn.text) else _answer_person(turn.text, notes)
        match = first_match([*_TOLD, *_UNTOLD], turn.text)
        if match is None:
            return None
        notes.add(turn, "name", match.group(1))
        return "Noted."


def _answer_person(question: str, notes: ReaderNotebook) -> str | None:
    names = [note.content for note in notes.visible("name")]
    if _ALL.search(question):
        return json.dumps(names[::-1], ensure_ascii=False)
    if not _ONE.search(question):
        return None
    return f"Your name is {names[0]}." if names else "You have not told me your name."


# --- What the user says of their own life: what is so now, after changes, corrections, withdrawals and rumours.

# By what it is about: how it is said, and how it is asked for.
_LIFE = {
    label: [lazy_pattern(one, re.IGNORECASE) for one in said_and_asked]
    for label, said_and_asked in WORDS["life"].items()
}
_RUMOUR = lazy_pattern(
    r"\b(?:that's not true|don't believe it|it's wrong|nonsense|ignore it|it was never so|not a word of truth)\b",
    re.IGNORECASE,
)
_WITHDRAWN = lazy_pattern(
    r"\b(?:I take back|forget|ignore|never mind) what I (?:\w+ ){1,3}about ([\w' -]+)[.:,]", re.IGNORECASE
)
_KIND, _HABIT = "personal", "habit"
# How a habit is told, and how it is asked for.
_HABITS = [
    (lazy_pattern(rf"\bI (?:always )?(?:{did})", re.IGNORECASE), lazy_pattern(asked, re.IGNORECASE))
    for did, asked in WORDS["habits"]
]
# What makes it an exception.
_OCCASION = lazy_pattern(
    r"\bon (?:sundays|my birthday|the day|nights)\b|\bat my mother|\bwhen (?:it|my|I|I'm|there's|everything|family)\b"
    r"|\bin (?:the holidays|august|the weeks|the month)\b|\bduring\b",
    re.IGNORECASE,
)


class ConflictingPersonalInformation(Topic):
    """Keeps what the user says to be so, and answers with the last that has not been withdrawn."""

    kinds = (_KIND, _HABIT)
    forgets = lazy_pattern(r"\bforget all personal details\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, or answer a question."""
        asks = turn.text.rstrip().endswith("?")
        for number, forms in enumerate(_HABITS):
            if match := forms[asks].search(turn.text):
                exception = _OCCASION.search(turn.text) is not None
                if value := match[match.lastindex or 0] if match.re.groups else None:
                    notes.add(turn, _HABIT, [number, exception, value])
                    return "Good to know."
                known = (note.content for note in notes.visible(_HABIT))
                return next(
                    (f"{value}." for n, other, value in known if (n, other) == (number, exception)),
                    "You have not told me.",
                )
        if not asks:
            if withdrawn := _WITHDRAWN.search(turn.text):
                # What somebody takes something back about who says that, or only the value.
                what = withdrawn[1]
                if what in _LIFE:
                    label = what
                else:
                    contents = (note.content for note in notes.visible(_KIND))
                    label = next((label for label, value in contents if value == what.rsplit(maxsplit=1)[-1]), None)
                if label is not None:
                    notes.add(turn, _KIND, [label, None])
                return "I will forget that, then." if label else None
            pairs = ((label, words.search(turn.text)) for label, (words, _) in _LIFE.items())
            pair = next(((label, one[one.lastindex or 0]) for label, one in pairs if one), None)
            if pair is not None and not _RUMOUR.search(turn.text):
                notes.add(turn, _KIND, list(pair))
            return None  # it may be about anything else as well: others note it, too
        label = next((label for label, (_, asked) in _LIFE.items() if asked.search(turn.text)), None)
        return _so_now(label, notes) if label else None


def _so_now(label: str, notes: ReaderNotebook) -> str | None:
    """Return what is so; None if it was never told: others may know."""
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
