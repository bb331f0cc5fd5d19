"""Invented worlds: the rules that are told of them, and what everybody knows of the real one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, Topic

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook

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
            return _answer_world(asked["thing"].lower(), text, notes)
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


def _answer_world(thing: str, text: str, notes: ReaderNotebook) -> str | None:
    """Return what is so of a thing in the world that a question names; None if it names none that has rules."""
    if _REAL.search(text):
        return f"{_KNOWN[thing].capitalize()}."
    world = _WORLD.search(text)
    name = (world["world"] or world["name"]) if world else ""
    if not _has_rules(name, notes):
        return None
    value = _newest_rule(thing, name, notes)
    return f"{value.capitalize()}." if value else "I don't know."


def _newest_rule(thing: str, world: str, notes: ReaderNotebook) -> str:
    """Return what the newest rule says of a thing in a world, or of that to which it is alike; "" if none does."""
    rules: dict[str, tuple[str, str]] = {}
    for note in notes.visible("rule of a world"):
        where, what, value, other = note.content
        if where == world:
            rules.setdefault(what, (value, other))
    value, other = rules.get(thing, ("", ""))
    return rules.get(other, ("", ""))[0] if other else value
