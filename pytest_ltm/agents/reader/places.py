"""Places that are told relative to others, and invented worlds with rules of their own."""

from __future__ import annotations

from typing import TypeAlias

from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic, first_match

_KNOWN = {thing: str(value) for thing, value in WORDS["known"].items()}
_RE = Patterns("places", THINGS=_KNOWN)


class InventedWorlds(
    Topic, kinds=("rule of a world",), about=_RE.about_invented_worlds, forgets=_RE.forgets_invented_worlds
):
    """Keeps the rules of invented worlds, and answers questions about these and the real one."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or answer a question."""
        text = turn.text
        if asked := _RE.asked.search(text):
            # What is so of a thing in the world that a question names; None if it names none that has
            # rules.
            thing = asked["thing"].lower()
            if _RE.real.search(text):
                return f"{_KNOWN[thing].capitalize()}."
            named = _RE.world.search(text)
            name = (named["world"] or named["name"]) if named else ""
            if not _has_rules(name, notes):
                return None
            # What the newest rule says of a thing in a world, or of that to which it is alike; "" if
            # none does.
            rules: dict[str, tuple[str, str]] = {}
            for note in notes.visible("rule of a world"):
                where, what, value, other = note.content
                if where == name:
                    rules.setdefault(what, (value, other))
            value, other = rules.get(thing, ("", ""))
            value = rules.get(other, ("", ""))[0] if other else value
            return f"{value.capitalize()}." if value else "I don't know."
        world, alike, rule = _told_of(text, notes), _RE.alike.search(text), _RE.rule.search(text)
        if not world or not rule:
            return None
        if alike:
            content = [world, alike["thing"].lower(), "", alike["other"].lower()]
        else:
            value = rule["value"].lower()
            content = [world, rule["thing"].lower(), str(NUMBERS.get(value, value)), ""]
        return notes.add(turn, self.kinds[0], content)


def _told_of(text: str, notes: ReaderNotebook) -> str:
    """Return the world that a message is about: one that it calls the user's, or one that has rules; "" if none."""
    world = _RE.world.search(text)
    if not world or world["world"]:
        return world["world"] if world else ""
    return world["name"] if _has_rules(world["name"], notes) else ""


def _has_rules(world: str, notes: ReaderNotebook) -> bool:
    return any(note.content[0] == world for note in notes.visible("rule of a world"))


Leg: TypeAlias = tuple[str, int, str, str]
"""From a place, a number of kilometres in a direction, to a place."""

_RELATIVE = _RE.compile_group(WORDS["places"], "(?i)")
_STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Locations(Topic, kinds=("place",), forgets=_RE.forgets_locations):
    """Keeps where each place lies, and goes back from the goal to the start."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a place, or tell the way."""
        return _answer_route(turn.text, notes) or _note_legs(turn, notes)


def _note_legs(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    if match := first_match(_RELATIVE, turn.text.strip()):
        before, place = _strip_article(match["before"]), _strip_article(match["place"])
        return notes.add(turn, "place", (before, int(match["km"]), match["way"].lower(), place))
    if leg := _told_leg(turn.text):
        return notes.add(turn, "place", leg)
    return "Noted." if _RE.first.search(turn.text) else None


def _told_leg(text: str) -> Leg | None:
    """Return the leg that a sentence tells; it begins "" where that is the place told before."""
    far, to, before = _RE.leg.search(text), _RE.to.search(text), _RE.from_town.search(text)
    if far is None or to is None or not (before or _RE.there.search(text)):
        return None
    return (before["before"] if before else "", int(far["km"]), far["way"].lower(), to["place"])


def _answer_route(text: str, notes: ReaderNotebook) -> str | None:
    if _RE.leg.search(text):
        return None
    straight = _RE.straight.search(text) is not None
    match = (_RE.direct if straight else _RE.route).search(text)
    if match is None:
        return None
    start, goal = _strip_article(match["start"]), _strip_article(match["goal"])
    legs = _legs_between(start, goal, notes)
    if legs is not None:
        route = (f"From the {before}, go {km} km {way} to the {place}." for before, km, way, place in legs)
        return _direction_text(start, goal, legs) if straight else "\n".join(route)
    back = _legs_between(goal, start, notes) if straight else None
    if back is None:
        return f"I do not know the whole way to the {goal}."
    return _direction_text(start, goal, [(b, -km, way, a) for a, km, way, b in back])


def _legs_between(start: str, goal: str, notes: ReaderNotebook) -> list[Leg] | None:
    """Return the legs from a place to one told later, found backwards from the goal; None if one is not seen."""
    legs: list[Leg] = []
    wanted = goal
    contents = notes.contents("place")
    for number, (named, km, way, place) in enumerate(contents):
        if place == wanted:
            wanted = named or next((earlier[-1] for earlier in contents[number + 1 : number + 2]), "")
            legs.append((wanted, km, way, place))
        if wanted == start:
            return legs[::-1]
    return None


def _direction_text(start: str, goal: str, legs: list[Leg]) -> str:
    east = sum(_STEPS[way][0] * km for _, km, way, _ in legs)
    north = sum(_STEPS[way][1] * km for _, km, way, _ in legs)
    parts = [f"{abs(east)} km {'east' if east > 0 else 'west'}"] * bool(east)
    parts += [f"{abs(north)} km {'north' if north > 0 else 'south'}"] * bool(north)
    return f"The {goal} is {' and '.join(parts) or 'in the same place, 0 km'} of the {start}."


def _strip_article(place: str) -> str:
    name = place.strip()
    return name[4:] if name.lower().startswith("the ") else name
