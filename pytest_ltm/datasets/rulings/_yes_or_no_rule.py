"""Answers to questions of yes or no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, Ruling
from pytest_ltm.evaluators._clauses import level
from pytest_ltm.evaluators._words import words

if TYPE_CHECKING:
    from pytest_ltm.datasets.rulings._gold import Gold

_OPENS = re.compile(
    r"(?:^|[.!?:\n]\s*|\bis:?\s*|\b(?:actually|well|therefore|so),?\s*)[\W_]*"
    r"(?P<word>yes|no|not yet|nope|you (?:do|did|have|are|were|can|will)(?=[;:,.!]|\s*$))\b"
    r"(?! (?:one|mention|information))"
)
_ENDS = re.compile(r",\s*(?P<word>yes|no)\W*$")


def yes_or_no_ruling(gold: Gold, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should say yes or no."""
    expected, text = words(gold.texts[0])[0], level(end)
    said = {_meant(found["word"]) for pattern in (_OPENS, _ENDS) for found in pattern.finditer(text)}
    if len(said) != 1:
        return CANNOT_TELL if refused and not said else Ruling("unscored", "says neither yes nor no")
    return Ruling("yes" if expected in said else "no", f"says {said.pop()}")


def _meant(word: str) -> str:
    return "no" if word.startswith("no") else "yes"
