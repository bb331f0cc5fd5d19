"""Restraint: facts that no longer hold, belong elsewhere or were not meant.

They are noted, and left out of answers.
"""

from __future__ import annotations

import re

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
    first_match,
)

_RE = Patterns("restraint")
TOLD = "restraint"


class Restraint(Topic, about=_RE.about, forgets=_RE.forgets):
    """Notes things and how they were told, and answers with what holds for the question.

    It drops no notes: the newest of a thing counts, and those of other topics still
    hold.
    """

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a message tells, or answer its question; None: not handled."""
        for kind, patterns in _RE["asked"].items():
            found = first_match(patterns, turn.text)
            if found and (answer := _answer(kind, found, notes)):
                return answer
        kind, found = first_kind(_RE["told"], turn.text)
        if found is None:
            return None
        return notes.add(turn, TOLD, [kind, found["key"], found["value"]])


def _answer(kind: str, found: re.Match[str], notes: ReaderNotebook) -> str | None:
    """Return the answer; None if the notes that it needs are not visible: another ability may know."""
    match kind:
        case "kept":
            return _answer_kept((found["key"], found["other"]), notes)
        case "formerly":
            values = [*notes.values_of(TOLD, "supplier", found["key"])][1:]
        case "relatives":
            return _ask_which(found["key"], notes)
        case _:
            values = [*notes.values_of(TOLD, kind, found["key"])]
    return f"{values[0]}." if values else None


def _answer_kept(things: tuple[str, ...], notes: ReaderNotebook) -> str | None:
    """Return who is paid for those of the things that are still useful; None if unknown."""
    gone_things = [key for kind, key, _ in notes.contents(TOLD) if kind == "gone"]
    useless = []
    for thing in gone_things:
        if thing in _RE["needed_for"]:
            useless.append(_RE["needed_for"][thing])
    values: list[str] = []
    for thing in things:
        if first_match(useless, thing) is None:
            values.extend(notes.values_of(TOLD, "paid", thing))
    return f"{' and '.join(values)}." if values else None


def _ask_which(relation: str, notes: ReaderNotebook) -> str | None:
    """Return the place of the only person of that relation, or ask which one is meant.

    None if none is known.
    """
    places: dict[str, str] = {}
    for kind, key, value in notes.contents(TOLD):
        if kind == "relative" and key.startswith(relation):
            places[key] = value
    if len(places) > 1:
        people = (f"{key} in {value}" for key, value in places.items())
        return f"Which one do you mean: your {' or your '.join(people)}?"
    return f"{next(iter(places.values()))}." if places else None
