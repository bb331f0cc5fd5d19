"""Facts, steps, rules and registers that are told once and asked for later."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from pytest_ltm.reader.notes import Topic, nearest, stems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm.reader.notes import Notebook, Turn


_WORLD = re.compile(r"\bfictional world\b", re.IGNORECASE)
_NAMED = re.compile(r"\bthe fictional world(?: of \w+)?(?:[.:, ]+|$)", re.IGNORECASE)
_FORGET = re.compile(r"\bforget\b.{0,60}\bfictional world\b|\bforget all of the facts\b", re.IGNORECASE)
_FEWEST = 2
_LONGEST = 20_000


class DelayedRecall:
    """Keeps the facts of the newest world and answers each question with the one that it is about."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note facts, answer a question, forget on request."""
        if len(turn.text) > _LONGEST or not _WORLD.search(turn.text):
            return None
        if _FORGET.search(turn.text):
            notes.drop("world")
            return "Forgotten."
        lines = [line.strip() for line in turn.text.split("\n") if line.strip()]
        if len(lines) > _FEWEST:
            notes.add(turn, "world", lines[1:] if lines[0].endswith(":") else lines)
            return "Noted."
        if not turn.brief:
            return None
        world = notes.newest("world")
        return nearest(_NAMED.sub(" ", turn.text), world.content) if world else "I do not know that world."


# --- Entries of a register: which code holds which, followed to the end.

_LARGEST = 200_000
_CODE = r"(?-i:[a-z]{4}\d\d)"
_ENTRY = re.compile(rf"[^?]*?\b({_CODE})\b[^?]*?\b({_CODE})\b[^?]*", re.IGNORECASE)
_ASKED = re.compile(rf"\b({_CODE}|[0-9a-f]{{32}})\b")
_REGISTER = re.compile(r"\{\s*\"[^{}]*\}\s*$")


class KeyValuePairs(Topic):
    """Notes entries and looks them up, on and on."""

    kinds = ("entry",)
    about = re.compile(rf"\bregister\b|\b(?:{_CODE}|[0-9a-f]{{32}})\b")
    forgets = re.compile(r"\bforget the register\b", re.IGNORECASE)

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a whole register, or do what one says of an entry."""
        found = _REGISTER.search(turn.text) if len(turn.text) <= _LARGEST else None
        return _registered(found[0], turn, notes) if found else super().respond(turn, notes)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note an entry, or follow the entries that can still be seen."""
        if entry := _ENTRY.fullmatch(turn.text.lower()):
            notes.add(turn, "entry", entry.groups())
            return "Noted."
        asked = _ASKED.search(turn.text.lower())
        return _followed(asked[1], notes) if asked else None


def _registered(register: str, turn: Turn, notes: Notebook) -> str | None:
    try:
        pairs = json.loads(register)
    except ValueError:
        return None
    for key, value in pairs.items():
        notes.add(turn, "entry", [key, value])
    return "Noted."


def _followed(key: str, notes: Notebook) -> str:
    """Return the code at which the way from a key ends; every entry is followed once at most."""
    entries: dict[str, str] = {}
    for note in notes.visible("entry"):
        entries.setdefault(*note.content)
    code = entries.pop(key, None)
    while code in entries:
        code = entries.pop(code)
    return code or "I do not know."


# --- Numbered steps of instructions, and questions about them: by number, by order, or by what they say.

_STEP = re.compile(r"^Step (\d{1,3}): *(\S.*)$", re.MULTILINE)
_MANY = re.compile(r"^.{0,200}\b\d{1,3} steps\b")
_FRAME = re.compile(r"^.{0,80}\binstructions for the [\w ]{1,60}: |^.{0,100}\bneed its instructions\. ")
_FORGET_STEPS = re.compile(r"\bforget\b.{0,60}\binstructions\b", re.IGNORECASE)
_BY_NUMBER = re.compile(r"\bstep (\d{1,3})\b", re.IGNORECASE)
_BY_ORDINAL = re.compile(r"\b(\w{1,12}) step\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBER = re.compile(r"\bnumber\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:directly|next step|you do) after\b")
_BEFORE = re.compile(r"\b(?:directly|last step) before\b")
_FEWEST_STEPS, _ENOUGH = 3, 2


class InstructionRecall:
    """Keeps the steps of the newest instructions.

    Where they were told without saying how many there are, questions may come without saying what they are about: taken
    for such are those that speak of a step, or share several words with one.
    """

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note instructions, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        told = _STEP.findall(turn.text)
        if len(told) >= _FEWEST_STEPS:
            notes.add(turn, "steps", {"steps": [text for _, text in told], "announced": bool(_MANY.search(turn.text))})
            return "Noted."
        if turn.brief and _FORGET_STEPS.search(turn.text):
            notes.drop("steps")
            return "Forgotten."
        if not turn.brief or not turn.text.rstrip().endswith("?"):
            return None
        framed, newest = _FRAME.match(turn.text), notes.newest("steps")
        if newest is None:
            return "I do not have those instructions." if framed else None
        question = turn.text[framed.end() :] if framed else turn.text
        steps, announced = newest.content["steps"], newest.content["announced"]
        return _answer(question, steps) if framed or (not announced and _fits(question, steps)) else None


def _fits(question: str, steps: Sequence[str]) -> bool:
    asked = stems(question)
    return bool(re.search(r"\bsteps?\b", question)) or max(len(asked & stems(step)) for step in steps) >= _ENOUGH


def _answer(question: str, steps: Sequence[str]) -> str:
    at = _named(question, len(steps))
    if at is not None:
        return steps[at]
    at = steps.index(nearest(question, steps))
    if _NUMBER.search(question):
        return f"Step {at + 1}"
    if _AFTER.search(question):
        at += 1
    elif _BEFORE.search(question):
        at -= 1
    return steps[at] if 0 <= at < len(steps) else "There is no such step."


def _named(question: str, number: int) -> int | None:
    """Return the place of the step that a question names by its number."""
    named = [int(digits) for digits in _BY_NUMBER.findall(question)]
    for word in map(str.lower, _BY_ORDINAL.findall(question)):
        named += [_ORDINALS.index(word) + 1] if word in _ORDINALS else [number] if word == "final" else []
    return next((place - 1 for place in named if 1 <= place <= number), None)


# --- The user's own rules for choosing between things, and cases to apply them to.

_RULE = re.compile(r"\b(?:the|my) ([\w-]{1,30}) rule\b")
_THING = re.compile(r"^(\w+): (\d+) crowns, (\d+) years old, (\d+) pounds, (\d+) miles away$", re.MULTILINE)
_MEASURES = ("price", "age", "weight", "distance")
_ENDS = {
    "cheapest": ("price", 1), "dearest": ("price", -1), "newest": ("age", 1), "oldest": ("age", -1),
    "lightest": ("weight", 1), "heaviest": ("weight", -1), "nearest": ("distance", 1), "farthest": ("distance", -1),
}  # fmt: skip
_END = rf"({'|'.join(_ENDS)})"
_OVER = r"(costs|is|weighs) more than (\d+) (crowns|years old|pounds|miles away)"
_UNITS = {"crowns": "price", "years old": "age", "pounds": "weight", "miles away": "distance"}
_FORMS = {
    "limit": re.compile(rf"leave out whatever {_OVER}, and of the rest I take the {_END}\b"),
    "tie": re.compile(rf"take the {_END}\. If several are equal in that, I take the {_END} of these"),
    "second": re.compile(rf"take the second {_END}\b"),
    "unless": re.compile(rf"look for the {_END} and take it, unless it {_OVER}; in that case I take the {_END}\b"),
    "middle": re.compile(rf"line them up from the {_END} to the {_END} and take the one in the middle"),
}


Offered: TypeAlias = "Mapping[str, Mapping[str, int]]"
"""By town what is offered there, by measure."""


class HowToThink(Topic):
    """Keeps rules by their names and applies the one that a case names."""

    kinds = ("choice rule",)
    forgets = re.compile(r"\bforget my rules for choosing\b", re.IGNORECASE)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a rule, or decide a case."""
        named = _RULE.search(turn.text)
        if named is None:
            return None
        things = _THING.findall(turn.text)
        if not things:
            notes.add(turn, "choice rule", {"name": named[1], "words": turn.text})
            return "I will think like that."
        rules = (note.content for note in notes.visible("choice rule"))
        words = next((rule["words"] for rule in rules if rule["name"] == named[1]), "")
        offered = {town: dict(zip(_MEASURES, map(int, values), strict=True)) for town, *values in things}
        return _taken(words, offered) or "I do not know that rule."


def _taken(words: str, offered: Offered) -> str | None:
    """Return the town of the thing that a rule takes."""
    for kind, form in _FORMS.items():
        if said := form.search(words):
            return _applied(kind, said.groups(), offered)
    return None


def _applied(kind: str, said: Sequence[str], offered: Offered) -> str | None:
    match kind, said:
        case "limit", (_, number, unit, end):
            return next(iter(_ordered(end, _within(number, unit, offered))), None)
        case "tie", (end, other):
            measure, _ = _ENDS[end]
            top = offered[_ordered(end, offered)[0]][measure]
            return _ordered(other, {town: thing for town, thing in offered.items() if thing[measure] == top})[0]
        case "unless", (end, _, number, unit, other):
            first = _ordered(end, offered)[0]
            return first if first in _within(number, unit, offered) else _ordered(other, offered)[0]
        case _:
            return _ordered(said[0], offered)[1 if kind == "second" else len(offered) // 2]


def _ordered(end: str, offered: Offered) -> list[str]:
    """Return the towns, that with the superlative's thing first."""
    measure, sign = _ENDS[end]
    return sorted(offered, key=lambda town: sign * offered[town][measure])


def _within(number: str, unit: str, offered: Offered) -> dict[str, Mapping[str, int]]:
    return {town: thing for town, thing in offered.items() if thing[_UNITS[unit]] <= int(number)}
