"""Plays told line by line: who comes and goes, what is put where, and where somebody will look for it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm.agents.reader.notes import UNDERSTOOD, WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence


_RE = Patterns("plays")


_EVENTS = _RE.compile_group(WORDS["play"])
_BELIEF = _RE["belief"]


class SallyAnne(Topic, kinds=("play",), forgets=_RE.forgets_sally_anne, forgotten="All right."):
    """Notes the lines of a play, and plays them again when it is asked who believes what."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a line, or answer as JSON from the lines that can still be seen."""
        over = _RE.over.match(turn.text)
        place = _answer_play(over.group(1) if over else turn.text, notes)
        if place or over:
            return json.dumps({"answer": place or "unknown"})
        said_so = _RE.line.match(turn.text)
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
    # What somebody believes of another also reads like a search: it is tried first.
    for pattern in (*_BELIEF, _RE.search, _RE.start, _RE.end):
        if match := pattern.search(question):
            break
    else:
        return None
    play = _Play.known_after(notes.contents("play")[::-1])
    if pattern is _BELIEF[0]:
        return play.shared.get((match[1], match[2], match[3]))
    if pattern is _BELIEF[1]:
        return play.shared.get((match["who"], match["whom"], match["thing"]))
    if pattern is _RE.search:
        return play.known.get((match[1] or match[3], match[2] or match[4]))
    places = play.places.get(match[1], [None])
    return places[0] if pattern is _RE.start else places[-1]


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

    def _see(self) -> None:
        """Let who is there know where everything is, and who sees it, too."""
        for thing, places in self.places.items():
            for who in self.present:
                self.known[who, thing] = str(places[-1])
                self.shared.update({(who, other, thing): str(places[-1]) for other in self.present})

    def _forget(self, who: str) -> None:
        self.present = [one for one in self.present if one != who]


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


_CODES = [
    (_RE.compile_group(cue), kind, meaning) for kind, cues in WORDS["meeting"].items() for cue, meaning in cues.items()
]


class SpyMeeting(Topic, kinds=("spy",), forgets=_RE.forgets_spy_meeting, forgotten="Understood."):
    """Notes what each message means, and tells place, time and thing when asked."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a message, or put together those that can still be seen."""
        if _RE.asked.search(turn.text):
            newest: dict[str, str] = {}
            for note in notes.visible("spy"):
                newest.setdefault(*note.content)
            labels = {"place": "Where", "time": "When", "item": "Bring"}
            parts = [f"{label}: {newest[kind]}." for kind, label in labels.items() if kind in newest]
            return " ".join(parts) or "I do not know."
        if _RE.three_senders.search(turn.text):
            return "I am all ears."
        published = _RE.published.match(turn.text)
        if not published and not _RE.named.search(turn.text):
            return None
        message = published[1] if published else turn.text
        meaning = next(([kind, meaning] for cue, kind, meaning in _CODES if cue.search(message)), None)
        if meaning:
            return notes.add(turn, "spy", meaning, "Received.")
        return "Received." if published else None


# --- An evening in a restaurant, as a guest who knows what was ordered.


class Restaurant:
    """Orders what stands first on the menu, and insists on it."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Reply to the waiter as a guest, from what can still be seen."""
        if not _RE.waiter.match(turn.text):
            return _note_message(turn, notes)
        menu: dict[str, list[str]] = {"dishes": [], "drinks": []}
        kind = "dishes"
        for line in turn.text.split("\n"):
            if section := _RE.section.match(line):
                kind = "drinks" if _RE.drinks.search(section[1]) else "dishes"
            elif item := _RE.item.match(line):
                menu[kind].append(item[1].strip())
        if menu["drinks"]:
            notes.add(turn, "menu", menu)
            drinks = [name for name in menu["drinks"] if _wishes(notes)[0] in name.lower()] or menu["drinks"]
            # The plainest that suits: a short name without brackets.
            plainest = min(drinks, key=lambda name: ("(" in name, len(name))).lower()
            return notes.add(turn, "drink", plainest, f"I would like the {plainest}, please.")
        if _RE.eat.search(turn.text) or _RE.gone.search(turn.text):
            return _order_dish(turn, notes)
        if _RE.served.search(turn.text):
            return _check_dish(turn, notes)
        if _RE.drank.search(turn.text):
            drink = notes.newest("drink")
            return f"I had the {drink.content}, thank you." if drink else "I am afraid I do not remember."
        return "Thank you."


def _note_message(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    if not turn.is_brief or not (_RE.roles.search(turn.text) or _RE.forget_restaurant.search(turn.text)):
        return None
    notes.drop("menu", "drink", "dish", "wishes")
    if wishes := _RE.wishes.search(turn.text):
        notes.add(turn, "wishes", wishes.groups())
    return "All right."


def _wishes(notes: ReaderNotebook) -> tuple[str, str]:
    """Return what must be in a drink, and what must not be in a dish; "" for anything, and for nothing."""
    wishes = notes.newest("wishes")
    return (str(wishes.content[0]), str(wishes.content[1])) if wishes else ("", "\0")


def _order_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    menu, ordered, avoids = notes.newest("menu"), notes.contents("dish"), _wishes(notes)[1]
    for dish in menu.content["dishes"] if menu else ():
        if dish not in turn.text and dish not in ordered and avoids not in dish:
            return notes.add(turn, "dish", dish, f"I will have the {dish}, please.")
    return "What would you recommend?"


def _check_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    dish, avoids = notes.newest("dish"), _wishes(notes)[1]
    if avoids in turn.text:
        return f"Excuse me, I cannot eat {avoids}."
    if dish is None or dish.content in turn.text:
        return "Thank you very much."
    return f"Excuse me, this is not what I ordered. I ordered the {dish.content}."
