"""What no longer holds, belongs elsewhere or was not meant: it is noted, and left out of answers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    first_match,
)

_RE = Patterns("restraint")
TOLD = "restraint"


class Restraint:
    """Notes what each thing is and how it was told, and answers with what holds for the question."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a message tells, or answer what it asks; None: not mine."""
        if not turn.is_brief or not _RE.about.search(turn.text):
            return None
        # the newest note of a thing counts, and those of other topics still hold
        if _RE.forgets.search(turn.text):
            return "Forgotten."
        for kind, patterns in _RE["asked"].items():
            found = first_match(patterns, turn.text)
            if found and (answer := _answer(kind, found, notes)):
                return answer
        for kind, patterns in _RE["told"].items():
            if found := first_match(patterns, turn.text):
                return notes.add(turn, TOLD, [kind, found["key"], found["value"]])
        return None


def _answer(kind: str, found: re.Match[str], notes: ReaderNotebook) -> str | None:
    """Return the answer; None if nothing that it needs can be seen: another ability may know it."""
    match kind:
        case "kept":
            return _answer_kept((found["key"], found["other"]), notes)
        case "formerly":
            values = [*_values_of(notes, "supplier", found["key"])][1:]
        case "relatives":
            return _ask_which(found["key"], notes)
        case _:
            values = [*_values_of(notes, kind, found["key"])]
    return f"{values[0]}." if values else None


def _values_of(notes: ReaderNotebook, kind: str, key: str) -> Iterator[str]:
    """Yield the values told for a key that can still be seen, the newest first."""
    for name, subject, value in notes.contents(TOLD):
        if (name, subject) == (kind, key):
            yield value


def _answer_kept(things: tuple[str, ...], notes: ReaderNotebook) -> str | None:
    """Return who is paid for those of the things that are still of use; None if that is not known."""
    gone_things = [key for kind, key, _ in notes.contents(TOLD) if kind == "gone"]
    useless = [
        _RE["needed_for"][thing] for thing in gone_things if thing in _RE["needed_for"]
    ]
    useful_things = [thing for thing in things if first_match(useless, thing) is None]
    values = [
        value for thing in useful_things for value in _values_of(notes, "paid", thing)
    ]
    return f"{' and '.join(values)}." if values else None


def _ask_which(relation: str, notes: ReaderNotebook) -> str | None:
    """Return the place of the only person of that relation, or ask which of them is meant; None if none is known."""
    places = {
        key: value
        for kind, key, value in notes.contents(TOLD)
        if kind == "relative" and key.startswith(relation)
    }
    if len(places) > 1:
        people = (f"{key} in {value}" for key, value in places.items())
        return f"Which one do you mean: your {' or your '.join(people)}?"
    return f"{next(iter(places.values()))}." if places else None
