"""The user's own rules for choosing between things, and cases to apply them to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm.agents.reading._notes import Notebook, Turn

_NAMED = re.compile(r"\b(?:the|my) ([\w-]{1,30}) rule\b")
_FORGET = re.compile(r"\bforget my rules for choosing\b", re.IGNORECASE)
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


class HowToThink:
    """Keeps rules by their names and applies the one that a case names."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a rule, decide a case, forget on request."""
        if not turn.brief:
            return None
        if _FORGET.search(turn.text):
            notes.drop("choice rule")
            return "Forgotten."
        named = _NAMED.search(turn.text)
        if named is None:
            return None
        things = _THING.findall(turn.text)
        if not things:
            notes.add(turn, "choice rule", {"name": named[1], "words": turn.text})
            return "I will think like that."
        words = next(
            (note.content["words"] for note in notes.visible("choice rule") if note.content["name"] == named[1]), ""
        )
        offered = {town: dict(zip(_MEASURES, map(int, values), strict=True)) for town, *values in things}
        return _taken(words, offered) or "I do not know that rule."


def _taken(words: str, offered: Mapping[str, Mapping[str, int]]) -> str | None:
    """Return the town of the thing that a rule takes."""
    for kind, form in _FORMS.items():
        if said := form.search(words):
            return _RULES[kind](said.groups(), offered)
    return None


def _ordered(end: str, offered: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the towns, that with the superlative's thing first."""
    measure, sign = _ENDS[end]
    return sorted(offered, key=lambda town: sign * offered[town][measure])


def _within(number: str, unit: str, offered: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    return {town: thing for town, thing in offered.items() if thing[_UNITS[unit]] <= int(number)}


def _limit(said: Sequence[str], offered: Mapping[str, Mapping[str, int]]) -> str | None:
    _, number, unit, end = said
    return next(iter(_ordered(end, _within(number, unit, offered))), None)


def _tie(said: Sequence[str], offered: Mapping[str, Mapping[str, int]]) -> str:
    end, other = said
    measure, _ = _ENDS[end]
    top = offered[_ordered(end, offered)[0]][measure]
    return _ordered(other, {town: thing for town, thing in offered.items() if thing[measure] == top})[0]


def _second(said: Sequence[str], offered: Mapping[str, Mapping[str, int]]) -> str:
    return _ordered(said[0], offered)[1]


def _unless(said: Sequence[str], offered: Mapping[str, Mapping[str, int]]) -> str:
    end, _, number, unit, other = said
    first = _ordered(end, offered)[0]
    return first if first in _within(number, unit, offered) else _ordered(other, offered)[0]


def _middle(said: Sequence[str], offered: Mapping[str, Mapping[str, int]]) -> str:
    return _ordered(said[0], offered)[len(offered) // 2]


_RULES: Mapping[str, Callable[[Sequence[str], Mapping[str, Mapping[str, int]]], str | None]] = {
    "limit": _limit,
    "tie": _tie,
    "second": _second,
    "unless": _unless,
    "middle": _middle,
}
