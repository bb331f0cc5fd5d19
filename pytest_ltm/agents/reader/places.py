"""Places that are told relative to others, and invented worlds with rules of their own."""

from __future__ import annotations

import re
from typing import TypeAlias

from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, ReaderNotebook, Topic, first_match, word_pattern

_KNOWN = {thing: str(value) for thing, value in WORDS["known"].items()}
_THING = rf"(?:{'|'.join(_KNOWN)})"
_MINE = lazy_pattern(r"\b(?i:in my (?:novel|play|opera|comic|musical|game|film|ballet)) (?P<world>[A-Z]\w+)")
_WORLD = lazy_pattern(rf"{_MINE.pattern}|\b[Ii]n (?P<name>[A-Z]\w+)")
_REAL = lazy_pattern(r"\boutside my\b|\breal (?:world|life)\b|\bour own world\b|\ball fiction\b", re.IGNORECASE)
_ASKED = lazy_pattern(
    rf"\b(?:what sound do|what colour (?:is|are)|what do(?:es)?|how many \w+ does) (?P<thing>{_THING})\b", re.IGNORECASE
)
_ALIKE = lazy_pattern(
    rf"\b(?P<thing>{_THING}) (?:make the same sound|(?:is|are) the same colour|tastes? the same|has as many \w+) as"
    rf" (?P<other>{_THING})\b",
    re.IGNORECASE,
)
_RULE = lazy_pattern(rf"\b(?P<thing>{_THING}) (?:(?:is|are|tastes?|has) )?(?P<value>\w+)", re.IGNORECASE)


class InventedWorlds(Topic):
    """Keeps the rules of invented worlds, and answers questions about these and the real one."""

    kinds = ("rule of a world",)
    about = lazy_pattern(rf"\b{_THING}\b|\bforget all my invented worlds\b", re.IGNORECASE)
    forgets = lazy_pattern(r"\bforget all my invented worlds\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or answer a question."""
        text = turn.text
        if asked := _ASKED.search(text):
            # What is so of a thing in the world that a question names; None if it names none that has
            # rules.
            thing = asked["thing"].lower()
            if _REAL.search(text):
                return f"{_KNOWN[thing].capitalize()}."
            named = _WORLD.search(text)
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
        world, alike, rule = _told_of(text, notes), _ALIKE.search(text), _RULE.search(text)
        if not world or not rule:
            return None
        if alike:
            content = [world, alike["thing"].lower(), "", alike["other"].lower()]
        else:
            value = rule["value"].lower()
            content = [world, rule["thing"].lower(), str(NUMBERS.get(value, value)), ""]
        notes.add(turn, self.kinds[0], content)
        return "Noted."


def _told_of(text: str, notes: ReaderNotebook) -> str:
    """Return the world that a message is about: one that it calls the user's, or one that has rules; "" if none."""
    world = _WORLD.search(text)
    if not world or world["world"]:
        return world["world"] if world else ""
    return world["name"] if _has_rules(world["name"], notes) else ""


def _has_rules(world: str, notes: ReaderNotebook) -> bool:
    return any(note.content[0] == world for note in notes.visible("rule of a world"))


Leg: TypeAlias = tuple[str, int, str, str]
"""From a place, a number of kilometres in a direction, to a place."""

_WAY = r"(?P<way>north|south|east|west)"
_KM = r"(?P<km>\d{1,4}) km"
_PLACE = r"(?P<place>\w[\w' ]*?)"
_BEFORE = r"(?P<before>\w[\w' ]*?)"
_RELATIVE = [
    word_pattern(one, re.IGNORECASE, PLACE=_PLACE, KM=_KM, WAY=_WAY, BEFORE=_BEFORE) for one in WORDS["places"]
]
_FIRST = lazy_pattern(
    r"^There is an? \w[\w' ]* in the cent(?:er|re) of my home ?town"
    r"|\btown\b.*\b(?:middle|centre|heart|begins|starts)\b|\b(?:middle|centre|heart)\b.*\btown\b"
    r"|\b(?:about|describe|moved to|grew up in|lives in|everything in) (?-i:[A-Z])\w+\b.*"
    r"\b(?:middle|centre|heart|begins|starts)\b"
    r"|\bhas grown around the\b",
    re.IGNORECASE | re.DOTALL,
)
_END = r"(?=\s*(?:[.,:;]|$|\b(?:of|in|is|lies|stands|it(?:'s| is)|you|and|there|which|I|we|today|yesterday)\b))"
_FROM = lazy_pattern(rf"\b(?:of|from|leave) the (?P<before>[a-z][a-z ]*?){_END}", re.IGNORECASE)
_THERE = lazy_pattern(r"\bfrom there\b", re.IGNORECASE)
_TO = lazy_pattern(rf"(?<!of )(?<!from )(?<!leave )\bthe (?P<place>[a-z][a-z ]*?){_END}", re.IGNORECASE)
_LEG = lazy_pattern(rf"\b{_KM} {_WAY}\b", re.IGNORECASE)
_TOWN = r"(?: in (?-i:[A-Z])\w+)?"
_ROUTE = lazy_pattern(
    rf"\b(?:from|at) (?:the )?(?P<start>\w[\w' ]*?){_TOWN}(?: and want to \w+)? to (?:the )?(?P<goal>\w[\w' ]*?)"
    rf"(?={_TOWN}(?:,| by way\b| passing\b| following\b))",
    re.IGNORECASE,
)
_DIRECT = lazy_pattern(
    r"\b(?:from|starting from) (?:the )?(?P<start>\w[\w' ]*?)(?: in \w+)?(?: going directly)? to (?:the )?"
    r"(?P<goal>\w[\w' ]*?)(?=(?: (?:in|of) \w+)?(?:[,.:?]| as the crow flies| in a straight line))",
    re.IGNORECASE,
)
_STRAIGHT = lazy_pattern(r"\b(?:as the crow flies|in a straight line|going directly|direct way)\b", re.IGNORECASE)
_STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Locations(Topic):
    """Keeps where each place lies, and goes back from the goal to the start."""

    kinds = ("place",)
    forgets = lazy_pattern(r"\bforget\b.*\b(?:places|locations)\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a place, or tell the way."""
        return _answer_route(turn.text, notes) or _note_legs(turn, notes)


def _note_legs(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    text = turn.text.strip()
    match = first_match(_RELATIVE, text)
    leg = (
        (_strip_article(match["before"]), int(match["km"]), match["way"].lower(), _strip_article(match["place"]))
        if match
        else None
    ) or _told_leg(turn.text)
    if leg is None:
        return "Noted." if _FIRST.search(turn.text) else None
    notes.add(turn, "place", leg)
    return "Noted."


def _told_leg(text: str) -> Leg | None:
    """Return the leg that a sentence tells; it begins "" where that is the place told before."""
    far, to, before = _LEG.search(text), _TO.search(text), _FROM.search(text)
    if far is None or to is None or not (before or _THERE.search(text)):
        return None
    return (before["before"] if before else "", int(far["km"]), far["way"].lower(), to["place"])


def _answer_route(text: str, notes: ReaderNotebook) -> str | None:
    if _LEG.search(text):
        return None
    straight = _STRAIGHT.search(text) is not None
    match = (_DIRECT if straight else _ROUTE).search(text)
    if match is None:
        return None
    start, goal = _strip_article(match["start"]), _strip_article(match["goal"])
    legs = _legs_between(start, goal, notes)
    if legs is not None:
        return _direction_text(start, goal, legs) if straight else _route_text(legs)
    back = _legs_between(goal, start, notes) if straight else None
    if back is None:
        return f"I do not know the whole way to the {goal}."
    return _direction_text(start, goal, [(b, -km, way, a) for a, km, way, b in back])


def _legs_between(start: str, goal: str, notes: ReaderNotebook) -> list[Leg] | None:
    """Return the legs from a place to one told later, found backwards from the goal; None if one is not seen."""
    legs: list[Leg] = []
    wanted = goal
    contents = [note.content for note in notes.visible("place")]
    for number, (named, km, way, place) in enumerate(contents):
        if place == wanted:
            wanted = named or next((earlier[-1] for earlier in contents[number + 1 : number + 2]), "")
            legs.append((wanted, km, way, place))
        if wanted == start:
            return legs[::-1]
    return None


def _route_text(legs: list[Leg]) -> str:
    return "\n".join(f"From the {before}, go {km} km {way} to the {place}." for before, km, way, place in legs)


def _direction_text(start: str, goal: str, legs: list[Leg]) -> str:
    east = sum(_STEPS[way][0] * km for _, km, way, _ in legs)
    north = sum(_STEPS[way][1] * km for _, km, way, _ in legs)
    parts = [f"{abs(east)} km {'east' if east > 0 else 'west'}"] * bool(east)
    parts += [f"{abs(north)} km {'north' if north > 0 else 'south'}"] * bool(north)
    return f"The {goal} is {' and '.join(parts) or 'in the same place, 0 km'} of the {start}."


def _strip_article(place: str) -> str:
    name = place.strip()
    return name[4:] if name.lower().startswith("the ") else name
