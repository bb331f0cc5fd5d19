"""Facts, steps, rules and registers that are told once and asked for later."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from pytest_ltm._language.patterns import later
from pytest_ltm.agents.reader.notes import WORDS, Topic, nearest, stems

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_WORLD = later(r"\bfictional world\b|\b(?:a made-up country|an imaginary kingdom|my invented island)\b", re.IGNORECASE)
_NAMED = later(r"\bthe fictional world(?: of \w+)?(?:[.:, ]+|$)", re.IGNORECASE)
_FORGET = later(r"\bforget\b.{0,60}\bfictional world\b|\bforget all of the facts\b", re.IGNORECASE)
_HEADING = later(r"[^:\n]*:(?=\s)")
_BULLET = later(r"^[-*•]\s+")
_BETWEEN = later(r"; | / | \+ |(?<=[.!])\s+")
_THERE = later(r"\b(?:there|they|their|them)\b", re.IGNORECASE)
_PROPER = later(r"(?<=\s)[A-Z]\w{3,}")
_WAITER = later(r"\s*waiter\b", re.IGNORECASE)
_FEWEST, _BOTH = 2, 2
_LONGEST = 20_000
_SHORT = 110
"""Characters of the longest question that does not say what it is about; of one about steps twice as many."""


class DelayedRecall:
    """Keeps the facts of the newest world and answers each question with the one that it is about.

    About that world is a question that says so or has its name, and one that speaks of people there.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note facts, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        if not _WORLD.search(turn.text):
            return _asked_of_world(turn, notes)
        if _FORGET.search(turn.text):
            notes.drop("world")
            return "Forgotten."
        heading, facts = _facts(turn.text)
        if len(facts) >= _FEWEST:
            notes.add(turn, "world", {"heading": heading, "facts": facts})
            return "Noted."
        if not turn.brief:
            return None
        world = notes.newest("world")
        return nearest(_NAMED.sub(" ", turn.text), world.content["facts"]) if world else "I do not know that world."


def _facts(text: str) -> tuple[str, list[str]]:
    """Return what stands before the first fact, and the facts: one a line, else what is listed after a colon."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) > _FEWEST:
        return (lines[0], lines[1:]) if lines[0].endswith(":") else ("", lines)
    heading = _HEADING.match(text)
    if heading is None or "?" in text:
        return "", []
    return heading[0], _BETWEEN.split(text[heading.end() :].strip())


def _asks(text: str, most: int) -> bool:
    return len(text) <= most and text.rstrip().endswith("?") and not _WAITER.match(text)


def _asked_of_world(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Return the fact that a question is about which does not say that it is about a world."""
    if not _asks(turn.text, _SHORT) or (world := notes.newest("world")) is None:
        return None
    heading, facts = world.content["heading"], [_BULLET.sub("", fact) for fact in world.content["facts"]]
    names = [name for name in _PROPER.findall(turn.text) if name in heading]
    question = re.sub("|".join(names) or "$", "", turn.text)
    found = nearest(question, facts)
    enough = 1 if names or _THERE.search(question) else _BOTH
    return found if len(stems(question) & stems(found)) >= enough else None


# --- Entries of a register: which code holds which, followed to the end.

_LARGEST = 200_000
_CODE = r"(?-i:[a-z]{4}\d\d)"
_ENTRY = later(rf"[^?]*?\b({_CODE})\b[^?]*?\b({_CODE})\b[^?]*", re.IGNORECASE)
_ASKED = later(rf"\b({_CODE}|[0-9a-f]{{32}})\b")
_REGISTER = later(r"\{\s*\"[^{}]*\}\s*$")


class KeyValuePairs(Topic):
    """Notes entries and looks them up, on and on."""

    kinds = ("entry",)
    about = later(rf"\bregister\b|\b(?:{_CODE}|[0-9a-f]{{32}})\b")
    forgets = later(r"\bforget the register\b", re.IGNORECASE)

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a whole register, or do what one says of an entry."""
        found = _REGISTER.search(turn.text) if len(turn.text) <= _LARGEST else None
        return _registered(found[0], turn, notes) if found else super().respond(turn, notes)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note an entry, or follow the entries that can still be seen."""
        if entry := _ENTRY.fullmatch(turn.text.lower()):
            notes.add(turn, "entry", entry.groups())
            return "Noted."
        asked = _ASKED.search(turn.text.lower())
        return _followed(asked[1], notes) if asked else None


def _registered(register: str, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    try:
        pairs = json.loads(register)
    except ValueError:
        return None
    for key, value in pairs.items():
        notes.add(turn, "entry", [key, value])
    return "Noted."


def _followed(key: str, notes: ReaderNotebook) -> str:
    """Return the code at which the way from a key ends; every entry is followed once at most."""
    entries: dict[str, str] = {}
    for note in notes.visible("entry"):
        entries.setdefault(*note.content)
    code = entries.pop(key, None)
    while code in entries:
        code = entries.pop(code)
    return code or "I do not know."


# --- Numbered steps of instructions, and questions about them: by number, by order, or by what they say.

_STEP = later(r"^Step (\d{1,3}): *(\S.*)$", re.MULTILINE)
_INLINE = later(r"[:;,] \(?(\d{1,3})\) (.{2,200}?)(?=[;,] \(?\d{1,3}\) |\.?$)")
_MANUAL = later(r"\bStep 1:|\b(?:instructions|steps|how it works|get it going|start it|run the)\b", re.IGNORECASE)
_FRAME = later(r"[^.:?]*\b(?:the|my|our|this) [A-Z]\w+(?: [a-z]+){2}\b[^.:?]*[.:] ")
_FORGET_STEPS = later(r"\bforget\b.{0,60}\binstructions\b", re.IGNORECASE)
_BY_NUMBER = later(r"\bstep (\d{1,3})\b", re.IGNORECASE)
_BY_ORDINAL = later(r"\b(\w{1,12}) step\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBER = later(r"\bnumber\b", re.IGNORECASE)
_AFTER = later(r"\b(?:directly|next step|you do) after\b|\bthe next step\?")
_BEFORE = later(r"\b(?:directly|last step) before\b")
_OF_STEPS = later(r"\bsteps?\b|\bdirectly (?:after|before)\b")
_FEWEST_STEPS, _ENOUGH = 3, 2


class InstructionRecall:
    """Keeps the steps of the newest instructions.

    A question need not say that it is about them: taken for such are those that speak of a step, or share several words
    with one.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note instructions, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        told = _STEP.findall(turn.text) or _INLINE.findall(turn.text)
        if len(told) >= _FEWEST_STEPS and _MANUAL.search(turn.text[: turn.text.index(told[1][1])]):
            notes.add(turn, "steps", [text for _, text in told])
            return "Noted."
        if turn.brief and _FORGET_STEPS.search(turn.text):
            notes.drop("steps")
            return "Forgotten."
        if not _asks(turn.text, 2 * _SHORT):
            return None
        framed, newest = _FRAME.match(turn.text), notes.newest("steps")
        if newest is None:
            return "I do not have those instructions." if framed and "instructions" in framed[0] else None
        question = turn.text[framed.end() :] if framed else turn.text
        return _answer(question, newest.content) if framed or _fits(question, newest.content) else None


def _fits(question: str, steps: Sequence[str]) -> bool:
    asked = stems(question)
    return bool(_OF_STEPS.search(question)) or max(len(asked & stems(step)) for step in steps) >= _ENOUGH


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

_RULE = later(r"\b(?:the|my|own) ([\w-]{1,30}) rule\b")
_GOODS = {kind: later(rf"\b(?:{things})\b") for kind, things in WORDS["goods"].items()}
_MEASURES = {
    "price": later(r"(\d+) crowns"), "age": later(r"(\d+) years old"),
    "weight": later(r"(\d+) pounds"), "distance": later(r"(\d+) miles away"),
}  # fmt: skip
_TOWN = later(r"^(?:- |In )?([A-Z]\w+)")
_ENDS = {
    "cheapest": ("price", 1), "dearest": ("price", -1), "newest": ("age", 1), "oldest": ("age", -1),
    "lightest": ("weight", 1), "heaviest": ("weight", -1), "nearest": ("distance", 1), "farthest": ("distance", -1),
}  # fmt: skip
_END = later("|".join(_ENDS))
_OVER = later(r"\b(?:costs|is|weighs) (more than \d+ (?:crowns|years old|pounds|miles away))")


_MAXIM = later(
    r"(?:here's|this is) (?:how I think|what I live by|what my father taught me|my motto)\b|"
    r"[^.:?]*\b(?:(?:tell|say to) myself|I think(?=:)|one principle|rule in life|thing I believe|"
    r"we (?:say|used to say)|on a cushion|over my desk)\b[^.?]*: ",
    re.IGNORECASE,
)
"""How somebody tells a principle of life, which takes more than rules to apply."""

Offered: TypeAlias = "Mapping[str, Mapping[str, int]]"
"""By town what is offered there, by measure."""


class HowToThink(Topic):
    """Keeps rules by their names, or the kind of things that they are for, and applies the one that a case is about."""

    kinds = ("choice rule",)
    forgets = later(r"\bforget my rules for choosing\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or decide a case."""
        head, *lines = turn.text.split("\n")
        named = _RULE.search(head)
        if not lines and _MAXIM.match(head):
            return "I will think like that."
        if not lines:
            kind = named[1] if named else next((kind for kind in _GOODS if kind in head), None)
            if kind is None or not _END.search(head):
                return None
            notes.add(turn, "choice rule", {"name": kind, "words": head})
            return "I will think like that."
        offered = _offered(lines)
        kind = named[1] if named else next((kind for kind, thing in _GOODS.items() if thing.search(head)), None)
        if not offered or kind is None:
            return None
        rules = (note.content for note in notes.visible("choice rule"))
        words = next((rule["words"] for rule in rules if rule["name"] == kind), "")
        return _taken(words, offered) if words else "I do not know that rule."


def _offered(lines: Sequence[str]) -> Offered:
    """Return what is offered, if every line says where, for how much, how old, how heavy and how far."""
    found = [
        (_TOWN.match(line), {measure: said[1] for measure, form in _MEASURES.items() if (said := form.search(line))})
        for line in lines
    ]
    if not all(town and len(values) == len(_MEASURES) for town, values in found):
        return {}
    return {town[1]: {measure: int(value) for measure, value in values.items()} for town, values in found if town}


def _taken(words: str, offered: Offered) -> str:
    """Return the town of the thing that a rule takes."""
    ends = _END.findall(words)
    order = _ordered(ends[0], offered)
    over = _OVER.search(words)
    if "the middle" in words:
        return order[len(order) // 2]
    if "the second" in words:
        return order[1]
    if over and len(ends) > 1:
        return order[0] if order[0] in _within(over[1], offered) else _ordered(ends[1], offered)[0]
    if over:
        return next(town for town in order if town in _within(over[1], offered))
    measure, _ = _ENDS[ends[0]]
    top = offered[order[0]][measure]
    return _ordered(ends[-1], {town: thing for town, thing in offered.items() if thing[measure] == top})[0]


def _ordered(end: str, offered: Offered) -> list[str]:
    """Return the towns, that with the superlative's thing first."""
    measure, sign = _ENDS[end]
    return sorted(offered, key=lambda town: sign * offered[town][measure])


def _within(over: str, offered: Offered) -> Collection[str]:
    """Return the towns of what is not over a limit."""
    measure, most = next((measure, int(said[1])) for measure, form in _MEASURES.items() if (said := form.search(over)))
    return [town for town, thing in offered.items() if thing[measure] <= most]
