"""Plays told line by line: who comes and goes, what is put where, and where somebody will look for it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.agents.reading._notes import Notebook, Turn

_OPENING = re.compile(r"\bpuppet play and shall\b|\bbroadcasting a program on TV\b")
_LINE = re.compile(r"(?:Puppet play: |\(On TV\) )(.+)", re.DOTALL)
_OVER = re.compile(r"^The (?:puppet play is over|TV program has ended)[^.]*\.\s*(.+)", re.DOTALL)
_FORGET = re.compile(r"\bforget\b[^.?!]*\b(?:puppet play|TV program)", re.IGNORECASE)
_NAME, _THING = r"([A-Z][\w-]*)", r"([\w-]+)"
_EVENTS = {
    "enters": re.compile(rf"{_NAME} (?:entered|comes into|walks into|steps into) the {_THING}"),
    "is": re.compile(rf"{_NAME} is in the {_THING}\.?$"),
    "leaves": re.compile(rf"{_NAME} (?:exited|leaves|walks out of|goes away from) the"),
    "lies": re.compile(rf"The {_THING} (?:(?:is|are) in|lies in) the {_THING}(?: of the {_THING})?"),
    "kept": re.compile(rf"In the {_THING}, the {_THING} is kept in the {_THING}"),
    "moves": re.compile(rf"{_NAME} (?:moved|moves|puts) the {_THING} (?:to|into) the {_THING}"),
}
_BELIEF = (
    re.compile(rf"[Ww]here does {_NAME} (?:think|believe) that {_NAME} (?:searches|will look) for the {_THING}\?"),
    re.compile(rf"[Ww]here will (?P<whom>{_NAME}) look for the (?P<thing>{_THING}), as (?P<who>{_NAME}) believes\?"),
)
_SEARCH = re.compile(rf"[Ww]here will {_NAME} (?:look for|go to find) the {_THING}\?")
_START = re.compile(rf"[Ww]here was the {_THING} at (?:the (?:very )?beginning|first)\?")
_END = re.compile(rf"[Ww]here is the {_THING} (?:really|in truth)\b")


class SallyAnne:
    """Notes the lines of a play, and plays them again when it is asked who believes what."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a line, or answer as JSON from the lines that can still be seen."""
        if not turn.brief:
            return None
        if _OPENING.search(turn.text) or _FORGET.search(turn.text):
            notes.drop("play")
            return "All right."
        over = _OVER.match(turn.text)
        place = _answer(over.group(1) if over else turn.text, notes)
        if place or over:
            return json.dumps({"answer": place or "unknown"})
        return _noted(turn, notes)


def _noted(turn: Turn, notes: Notebook) -> str | None:
    marked = _LINE.match(turn.text)
    line = marked.group(1).strip() if marked else turn.text.strip()
    for kind, pattern in _EVENTS.items():
        found = pattern.match(line)
        if found:
            notes.add(turn, "play", [kind, *found.groups()])
            break
    return "I see." if marked else None  # without the mark it may be anything: others note it as well


def _answer(question: str, notes: Notebook) -> str | None:
    """Return the place that a question about a play asks for; None if it is no such question or nobody can tell."""
    if "here " not in question:
        return None
    for pattern in (*_BELIEF, _SEARCH, _START, _END):
        if found := pattern.search(question):
            break
    else:
        return None
    play = _Play.of([note.content for note in notes.visible("play")][::-1])
    if pattern is _BELIEF[0]:
        return play.shared.get((found[1], found[2], found[3]))
    if pattern is _BELIEF[1]:
        return play.shared.get((found["who"], found["whom"], found["thing"]))
    if pattern is _SEARCH:
        return play.known.get((found[1], found[2]))
    places = play.places.get(found[1], [None])
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
    def of(cls, lines: Sequence[Sequence[Any]]) -> _Play:
        """Return what is known after the lines, each its kind and its names."""
        play = cls(_room(lines))
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
            case "lies":
                self.places.setdefault(names[0], []).append(names[1])
            case "kept":
                self.places.setdefault(names[1], []).append(names[2])
            case "moves":
                self.places.setdefault(names[1], []).append(names[2])
        self._see()

    def _forget(self, who: str) -> None:
        self.present = [one for one in self.present if one != who]

    def _see(self) -> None:
        for thing, places in self.places.items():
            for who in self.present:
                self.known[who, thing] = str(places[-1])
                self.shared.update({(who, other, thing): str(places[-1]) for other in self.present})


def _room(lines: Sequence[Sequence[Any]]) -> str:
    """Return the room of the things: the one that is named with them, else that of whoever first moves one."""
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
