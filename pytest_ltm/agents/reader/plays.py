"""Plays told line by line: who comes and goes, what is put where, and where somebody will look for it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import UNDERSTOOD, WORDS, IncomingTurn, ReaderNotebook, Topic, word_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence


_LINE = lazy_pattern(
    r"(?P<mark>Puppet play: |In the puppet play, |On the puppet stage, |The puppets again: |\(On TV\) )?"
    r"(?:Now |Meanwhile, |And then |A little later, |Next, )?(?P<line>.+)",
    re.DOTALL,
)
_OVER = lazy_pattern(
    r"^(?:The (?:puppet play is over|puppets have taken|TV program has ended)[^.]*\.|End of the puppet play!)\s*(.+)",
    re.DOTALL,
)
_NAME, _THING = r"([A-Z][\w-]*)", r"([\w-]+)"
_EVENTS = {kind: word_pattern(one, NAME=_NAME, THING=_THING) for kind, one in WORDS["play"].items()}
_BELIEF = (
    lazy_pattern(rf"[Ww]here does {_NAME} (?:think|believe) that {_NAME} (?:searches|will look) for the {_THING}\?"),
    lazy_pattern(rf"[Ww]here will (?P<whom>{_NAME}) look for the (?P<thing>{_THING}), as (?P<who>{_NAME}) believes\?"),
)
_SEARCH = lazy_pattern(
    rf"[Ww]here (?:will {_NAME} (?:look for|go to find) the {_THING}|does {_NAME} think that the {_THING} is)\?"
)
_START = lazy_pattern(rf"[Ww]here was the {_THING} at (?:the (?:very )?beginning|first)\?")
_END = lazy_pattern(rf"[Ww]here is the {_THING} (?:really|in truth)\b")


class SallyAnne(Topic):
    """Notes the lines of a play, and plays them again when it is asked who believes what."""

    kinds = ("play",)
    forgets = lazy_pattern(
        r"\bpuppet play, with\b|\bThere is a puppet play\b|\bThe puppets today are\b|\bat a puppet theatre\b"
        r"|\bbroadcasting a program on TV\b|(?i:\bforget\b[^.?!]*\b(?:puppet play|TV program))"
    )
    forgotten = "All right."

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a line, or answer as JSON from the lines that can still be seen."""
        over = _OVER.match(turn.text)
        place = _answer_play(over.group(1) if over else turn.text, notes)
        if place or over:
            return json.dumps({"answer": place or "unknown"})
        said_so = _LINE.match(turn.text)
        marked, line = said_so and said_so["mark"], said_so["line"].strip() if said_so else ""
        event = next(([kind, *match.groups()] for kind, one in _EVENTS.items() if (match := one.match(line))), None)
        if event:
            notes.add(turn, "play", event)
            notes.add(turn, UNDERSTOOD, event)
        return "I see." if marked else None  # without the mark it may be anything: others note it as well


def _answer_play(question: str, notes: ReaderNotebook) -> str | None:
    """Return the place that a question about a play asks for; None for any other question, or if it is unknown."""
    if "here " not in question:
        return None
    for pattern in (*_BELIEF, _SEARCH, _START, _END):
        if match := pattern.search(question):
            break
    else:
        return None
    play = _Play.known_after([note.content for note in notes.visible("play")][::-1])
    if pattern is _BELIEF[0]:
        return play.shared.get((match[1], match[2], match[3]))
    if pattern is _BELIEF[1]:
        return play.shared.get((match["who"], match["whom"], match["thing"]))
    if pattern is _SEARCH:
        return play.known.get((match[1] or match[3], match[2] or match[4]))
    places = play.places.get(match[1], [None])
    return places[0] if pattern is _START else places[-1]


@dataclass
class _Play:
    """What is known after some lines."""

    room: str
    """Where the things are."""
    present: list[str] = field(default_factory=list)
    """Who is in that room."""
    places: dict[str, list[str | None]] = field(default_factory=dict)
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where somebody last saw a thing."""
    shared: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Where somebody last saw it together with somebody else."""

    @classmethod
    def known_after(cls, lines: Sequence[Sequence[Any]]) -> _Play:
        """Return what is known after the lines, each its kind and its names."""
        play = cls(_room_of(lines))
        for kind, *names in lines:
            play.add(kind, names)
        return play

    def add(self, kind: str, names: Sequence[str]) -> None:
        """Play one line."""
        match kind:
            case "enters" | "is":
                self._forget(names[0])
                if names[1] == self.room:
                    self.present.append(names[0])
            case "leaves":
                self._forget(names[0])
            case "joins":
                self.add("enters", (names[1], names[0]))
            case "gone":
                self._forget(names[1])
            case "moved":
                self.places.setdefault(names[1], []).append(names[0])
            case "lies":
                self.places.setdefault(names[0], []).append(names[1])
            case "kept" | "moves":
                self.places.setdefault(names[1], []).append(names[2])
        self._see()

    def _forget(self, who: str) -> None:
        self.present = [one for one in self.present if one != who]

    def _see(self) -> None:
        for thing, places in self.places.items():
            for who in self.present:
                self.known[who, thing] = str(places[-1])
                self.shared.update({(who, other, thing): str(places[-1]) for other in self.present})


def _room_of(lines: Sequence[Sequence[Any]]) -> str:
    """Return the room of the things: the one that is named with them, else that of the first puppet that moves one."""
    at: dict[str, str] = {}
    for kind, *names in lines:
        match kind:
            case "kept":
                return str(names[0])
            case "lies" if names[2]:
                return str(names[2])
            case "enters" | "is":
                at[names[0]] = names[1]
            case "moves" if names[0] in at:
                return at[names[0]]
    return ""


# --- Coded messages about a secret meeting: what each of them means, and the three put together.

_PUBLISHED = lazy_pattern(
    r"[^:\n]{1,60}: ((?:We will rendezvous|The time we will meet|Bring to the meeting)\b.+)", re.DOTALL
)
_FULL_NAME = r"[A-Z][\w'-]+ [A-Z][\w'-]+"
_NAMED = lazy_pattern(rf"\b{_FULL_NAME}")
_THREE_SENDERS = lazy_pattern(rf"\b{_FULL_NAME}, {_FULL_NAME} and {_FULL_NAME}\b")
_ASKED = lazy_pattern(
    r"\bclandestine messages\b|"
    r"^(?=.*\b[Ww]here\b)(?=.*\b[Ww]hen\b).*\b(?:bring|carry|have with me|take|leave at home)\b",
    re.DOTALL,
)

_CODES = [
    (lazy_pattern(cue), kind, meaning) for kind, cues in WORDS["meeting"].items() for cue, meaning in cues.items()
]


class SpyMeeting(Topic):
    """Notes what each message means, and tells place, time and thing when asked."""

    kinds = ("spy",)
    forgets = lazy_pattern(r"\bthree messages from different people\b|(?i:\bforget\b[^.?!]*\bcoded messages\b)")
    forgotten = "Understood."

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a message, or put together those that can still be seen."""
        if _ASKED.search(turn.text):
            newest: dict[str, str] = {}
            for note in notes.visible("spy"):
                newest.setdefault(*note.content)
            labels = {"place": "Where", "time": "When", "item": "Bring"}
            parts = [f"{label}: {newest[kind]}." for kind, label in labels.items() if kind in newest]
            return " ".join(parts) or "I do not know."
        if _THREE_SENDERS.search(turn.text):
            return "I am all ears."
        published = _PUBLISHED.match(turn.text)
        if not published and not _NAMED.search(turn.text):
            return None
        texts = _decode_message(published[1] if published else turn.text)
        if texts:
            notes.add(turn, "spy", texts)
        return "Received." if texts or published else None


def _decode_message(message: str) -> list[str] | None:
    """Return whether a message is about place, time or item, and what it means."""
    return next(([kind, meaning] for cue, kind, meaning in _CODES if cue.search(message)), None)


# --- An evening in a restaurant, as a guest who knows what was ordered.

_WAITER = lazy_pattern(r"Waiter:")
_ROLES = lazy_pattern(r"\bwaiter\b[^\n]*\b(?:guest|customer)\b", re.IGNORECASE)
_FORGET_RESTAURANT = lazy_pattern(r"\brestaurant\b[^\n]*\bforget\b", re.IGNORECASE)
_SECTION = lazy_pattern(r"^([A-Z][^:.\d\n]{2,40}):[ \t]*$")
_ITEM = lazy_pattern(r"^(?:\d{1,3}\.|-) (.+)$")
_WISHES = lazy_pattern(r"\bonly what has (\w+) in it\b.*\b(?:must not|cannot|never) eat (\w+)")
_DRINKS = lazy_pattern(r"\b(?:drinks|beverages)\b", re.IGNORECASE)
_EAT = lazy_pattern(r"\blike to eat\b")
_GONE = lazy_pattern(r"\bsold out\b|\bunavailable\b")
_SERVED = lazy_pattern(r"\b(?:There you are|Here you are|Dinner is served|Here comes dinner|Your dinner)\b[^:\n]*:")
_DRANK = lazy_pattern(r"\bWhat was it\?|\bWhat were you having\?")


class Restaurant:
    """Orders what stands first on the menu, and insists on it."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Reply to the waiter as a guest, from what can still be seen."""
        if not _WAITER.match(turn.text):
            return _note_message(turn, notes)
        menu: dict[str, list[str]] = {"dishes": [], "drinks": []}
        kind = "dishes"
        for line in turn.text.split("\n"):
            if section := _SECTION.match(line):
                kind = "drinks" if _DRINKS.search(section[1]) else "dishes"
            elif item := _ITEM.match(line):
                menu[kind].append(item[1].strip())
        if menu["drinks"]:
            notes.add(turn, "menu", menu)
            drinks = menu["drinks"]
            drinks = [name for name in drinks if _wishes(notes)[0] in name.lower()] or drinks
            # The plainest that suits: a short name without brackets.
            plainest = min(drinks, key=lambda name: ("(" in name, len(name))).lower()
            notes.add(turn, "drink", plainest)
            return f"I would like the {plainest}, please."
        if _EAT.search(turn.text) or _GONE.search(turn.text):
            return _order_dish(turn, notes)
        if _SERVED.search(turn.text):
            return _check_dish(turn, notes)
        if _DRANK.search(turn.text):
            drink = notes.newest("drink")
            return f"I had the {drink.content}, thank you." if drink else "I am afraid I do not remember."
        return "Thank you."


def _note_message(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    if not turn.is_brief or not (_ROLES.search(turn.text) or _FORGET_RESTAURANT.search(turn.text)):
        return None
    notes.drop("menu", "drink", "dish", "wishes")
    if wishes := _WISHES.search(turn.text):
        notes.add(turn, "wishes", wishes.groups())
    return "All right."


def _wishes(notes: ReaderNotebook) -> tuple[str, str]:
    """Return what must be in a drink, and what must not be in a dish; "" for anything, and for nothing."""
    wishes = notes.newest("wishes")
    return (str(wishes.content[0]), str(wishes.content[1])) if wishes else ("", "\0")


def _order_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    menu = notes.newest("menu")
    ordered = [note.content for note in notes.visible("dish")]
    dishes = menu.content["dishes"] if menu else []
    avoids = _wishes(notes)[1]
    fit = (name for name in dishes if name not in turn.text and name not in ordered and avoids not in name)
    dish = next(fit, None)
    if dish is None:
        return "What would you recommend?"
    notes.add(turn, "dish", dish)
    return f"I will have the {dish}, please."


def _check_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    dish, avoids = notes.newest("dish"), _wishes(notes)[1]
    if avoids in turn.text:
        return f"Excuse me, I cannot eat {avoids}."
    if dish is None or dish.content in turn.text:
        return "Thank you very much."
    return f"Excuse me, this is not what I ordered. I ordered the {dish.content}."
