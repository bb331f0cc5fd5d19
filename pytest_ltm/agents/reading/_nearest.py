"""The line of a text that a question is about: it shares the rarest words with the question."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")
_STEM = 6
_COMMON = frozenset(
    """a about after again all also an and any are as at be been before but by can could did do does for from go goes
    had has have he her his how i if in into is it its just many me more most much my no not of on one only or other
    our out over she should so some than that the their them then there these they this those to too up us very was
    we were what when where which while who whom whose why will with would you your""".split()  # noqa: SIM905 - as text
)


def nearest(question: str, lines: Sequence[str]) -> str:
    """Return the line with the most in common; a shared word counts the more, the fewer lines have it.

    Of equals the first; "" if there are no lines.
    """
    known = [stems(line) for line in lines]
    spread = Counter(stem for line in known for stem in line)
    wanted = stems(question)
    likeness = [sum(1 / spread[stem] for stem in line & wanted) for line in known]
    return lines[likeness.index(max(likeness))] if lines else ""


def stems(text: str) -> frozenset[str]:
    """Return the beginnings of a text's words that carry meaning, in lower case: a rough key that forgives endings."""
    return frozenset(
        word.lower()[:_STEM].removesuffix("s") for word in _WORD.findall(text) if word.lower() not in _COMMON
    )
