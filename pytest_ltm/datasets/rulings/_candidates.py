"""Which of the amounts in an answer are what it answers: of the kind that is asked for, in bold, or the total."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._likeness import comparable, distinct
from pytest_ltm.datasets.rulings._quantities import Quantity, quantities, unit_of
from pytest_ltm.evaluators._clauses import CHANGED
from pytest_ltm.evaluators._words import stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_BETWEEN = re.compile(r"\s*(?:-|\u2013|to|or)\s*")
_COUNTED = re.compile(
    r"\bhow (?:many|much) ((?:[\w'-]+ ){1,4}?)(?:do|does|did|have|has|had|are|is|was|were|will|can|should|of|in|on|at|"
    r"that|to|with|for|from|before|after|i|you|we|it)\b"
)
_FINAL_BEFORE = re.compile(
    r"(?:\b(?:total\w*|altogether|in all|overall|sum|so|therefore|thus|hence|answer|result|now|current\w*|latest|"
    r"brings?|bringing|mak(?:es?|ing)|mean(?:s|ing)|equals?|conclude)\b|=|\u2248)[^=;.(\n\d]{0,60}$"
)
_FINAL_AFTER = re.compile(r"[^.,;\n\d]{0,25}\b(?:in total|altogether|in all|total|overall|now|so far|currently)\b")
_LABEL = re.compile(r"\b(session|step|round|option|question|part|chat|page|no\.?|number)s? ?#?$|#$")
_AGO = 30
"""So many characters before "from 9 to 12" may say that it is a change, not a range."""
_YEARS = range(1900, 2100)


def answering(gold: Gold, question: str, end: str, text: str) -> list[Quantity]:
    """Return the amounts that may be the answer: of the right kind, in bold, of what is asked for, where there are any.

    `text`: the answer's conclusion `end`, written with digits.
    """
    every = quantities(text)
    units = {one.unit for parts in gold.amounts for one in parts}
    whole = [
        one for one in every if not any(_is_part(one, other) for other in every) and not _is_label(question, text, one)
    ]
    same = [one for one in whole if "" in units or any(comparable(one.unit, unit) for unit in units)]
    pool = same or [one for one in whole if not one.unit]
    if not any(_is_year(one) for parts in gold.amounts for one in parts):
        pool = [one for one in pool if not _is_year(one)] or pool
    if len(gold.amounts[0]) == 1:
        pool = _counting(question, text, pool) if units == {""} else _measuring(question, text, pool)
    bold = {(one.value, one.unit) for part in _BOLD.findall(end) for one in quantities(part)}
    return [one for one in pool if (one.value, one.unit) in bold] or pool


def final(text: str, held: Sequence[Quantity]) -> Sequence[Quantity]:
    """Return the amounts that are said to be what it comes to, where there is one such amount; else all."""
    if len(distinct(held)) <= 1:
        return held
    marked = [one for one in held if _is_final(text, one)]
    return marked if len(distinct(marked)) == 1 else held


def in_range(text: str, pool: Sequence[Quantity]) -> bool:
    """Return whether one of the amounts is the end of a range, or one of a choice."""
    ordered = sorted(quantities(text), key=lambda one: one.start)
    for one, other in pairwise(ordered):
        if one not in pool and other not in pool:
            continue
        if CHANGED.search(text[max(0, one.start - _AGO) : one.start]):
            continue
        between = text[: one.start].endswith("between ")
        if between or (one.end <= other.start and _BETWEEN.fullmatch(text[one.end : other.start])):
            return True
    return False


def _counting(question: str, text: str, pool: Sequence[Quantity]) -> list[Quantity]:
    """Return the numbers that count what the question asks to count, and those that are the total; else bare ones.

    Where it asks for a unit ("how many miles"), numbers with another unit are none.
    """
    counted = _COUNTED.search(question.lower())
    if counted is None:
        return list(pool)
    asked = counted[1].split()
    word = next((word for word in asked if unit_of(word)), asked[-1])
    if unit := unit_of(word):
        return [one for one in pool if not one.unit or comparable(one.unit, unit)]
    bare = [one for one in pool if not one.unit]
    things = [one for one in bare if stem(word) in _next_stems(text, one) or _is_final(text, one)]
    return [*things, *_single(text, stem(word))] or bare


def _measuring(question: str, text: str, pool: Sequence[Quantity]) -> list[Quantity]:
    """Return the amounts of the thing that the question asks for, 500 g of flour, where there are any; else all."""
    counted = _COUNTED.search(question.lower())
    thing = stem(counted[1].split()[-1]) if counted else ""
    return [one for one in pool if thing in _next_stems(text, one)] or list(pool)


def _is_final(text: str, one: Quantity) -> bool:
    before, after = text[max(0, one.start - 80) : one.start], text[one.end : one.end + 40]
    return _FINAL_BEFORE.search(before) is not None or _FINAL_AFTER.match(after) is not None


def _is_part(one: Quantity, other: Quantity) -> bool:
    return one.unit != other.unit == "minutes" and other.start <= one.start < other.end


def _is_year(one: Quantity) -> bool:
    return not one.unit and one.value in _YEARS


def _is_label(question: str, text: str, one: Quantity) -> bool:
    """Return whether a bare number only names one of several things: session 4; not where the question asks for it."""
    found = None if one.unit else _LABEL.search(text[max(0, one.start - 12) : one.start])
    return found is not None and not (found[1] and found[1] in question.lower())


def _next_stems(text: str, one: Quantity) -> set[str]:
    following = re.findall(r"[\w-]+|[^\w\s]", text[one.end : one.end + 40])[:3]
    stop = next((place for place, word in enumerate(following) if not word[0].isalnum()), len(following))
    return {stem(word) for word in following[:stop]}


def _single(text: str, thing: str) -> list[Quantity]:
    """Return where a text speaks of only one such thing: "one" alone counts nothing."""
    found = re.finditer(rf"\b(?:only|just) (?:one|a single) (?:\w+ ){{0,2}}{re.escape(thing)}", text)
    return [Quantity(1, "", one.start(), one.end()) for one in found]
