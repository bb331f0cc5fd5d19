"""Places that are told relative to others: the way through all of them, and the direct way between two."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from pytest_ltm.reader.notes import WORDS, Topic, first_match, wording

if TYPE_CHECKING:
    from pytest_ltm.reader.notes import Notebook, Turn


Leg: TypeAlias = tuple[str, int, str, str]
"""From a place, a number of kilometres in a direction, to a place."""

_WAY = r"(?P<way>north|south|east|west)"
_KM = r"(?P<km>\d{1,4}) km"
_PLACE = r"(?P<place>\w[\w' ]*?)"
_BEFORE = r"(?P<before>\w[\w' ]*?)"
_RELATIVE = [wording(one, re.IGNORECASE, PLACE=_PLACE, KM=_KM, WAY=_WAY, BEFORE=_BEFORE) for one in WORDS["places"]]
_FIRST = re.compile(
    r"\btown of \w+\b.*\b(?:its middle is|begins with) the \w"
    r"|^There is an? \w[\w' ]* in the cent(?:er|re) of my home ?town",
    re.IGNORECASE,
)
_ROUTE = re.compile(
    r"\b(?:from|at) (?:the )?(?P<start>\w[\w' ]*?)(?: in \w+)?(?:,? and I want to go)? to (?:the )?(?P<goal>\w[\w' ]*?)"
    r"(?= in \w+ if\b|, by way\b| following\b)",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"\b(?:from|starting from) (?:the )?(?P<start>\w[\w' ]*?)(?: in \w+)?(?: going directly)? to (?:the )?"
    r"(?P<goal>\w[\w' ]*?)(?=(?: (?:in|of) \w+)?(?:[,.?]| as the crow flies| in a straight line))",
    re.IGNORECASE,
)
_STRAIGHT = re.compile(r"\b(?:as the crow flies|in a straight line|going directly)\b", re.IGNORECASE)
_STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Locations(Topic):
    """Keeps where each place lies, and goes back from the goal to the start."""

    kinds = ("place",)
    forgets = re.compile(r"\bforget\b.*\b(?:places|locations)\b", re.IGNORECASE)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a place, or tell the way."""
        return _asked(turn.text, notes) or _told(turn, notes)


def _told(turn: Turn, notes: Notebook) -> str | None:
    found = first_match(_RELATIVE, turn.text.strip())
    if found is None:
        return "Noted." if _FIRST.search(turn.text) else None
    leg = (_name(found["before"]), int(found["km"]), found["way"].lower(), _name(found["place"]))
    notes.add(turn, "place", leg)
    return "Noted."


def _asked(text: str, notes: Notebook) -> str | None:
    straight = _STRAIGHT.search(text) is not None
    found = (_DIRECT if straight else _ROUTE).search(text)
    if found is None:
        return None
    start, goal = _name(found["start"]), _name(found["goal"])
    legs = _legs(start, goal, notes)
    if legs is not None:
        return _direct(start, goal, legs) if straight else _whole(legs)
    back = _legs(goal, start, notes) if straight else None
    if back is None:
        return f"I do not know the whole way to the {goal}."
    return _direct(start, goal, [(b, -km, way, a) for a, km, way, b in back])


def _legs(start: str, goal: str, notes: Notebook) -> list[Leg] | None:
    """Return the legs from a place to one told later, found backwards from the goal; None if one is not seen."""
    legs: list[Leg] = []
    wanted = goal
    for note in notes.visible("place"):
        before, km, way, place = note.content
        if place == wanted:
            legs.append((before, km, way, place))
            wanted = before
        if wanted == start:
            return legs[::-1]
    return None


def _whole(legs: list[Leg]) -> str:
    return "\n".join(f"From the {before}, go {km} km {way} to the {place}." for before, km, way, place in legs)


def _direct(start: str, goal: str, legs: list[Leg]) -> str:
    east = sum(_STEPS[way][0] * km for _, km, way, _ in legs)
    north = sum(_STEPS[way][1] * km for _, km, way, _ in legs)
    parts = [f"{abs(east)} km {'east' if east > 0 else 'west'}"] * bool(east)
    parts += [f"{abs(north)} km {'north' if north > 0 else 'south'}"] * bool(north)
    return f"The {goal} is {' and '.join(parts) or 'in the same place, 0 km'} of the {start}."


def _name(place: str) -> str:
    name = place.strip()
    return name[4:] if name.lower().startswith("the ") else name
