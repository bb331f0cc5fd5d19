"""Answers that should tell several things in an order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, Ruling
from pytest_ltm.evaluators._clauses import level
from pytest_ltm.evaluators._words import content_stems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_ITEMS = re.compile(
    r"[,;.:\n\u2192]|-+>|\b(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|followed by|after that|afterwards|"
    r"lastly|last|finally|and)\b|\b\d[.)]"
)
_TURNED = re.compile(r"\b(?:before|after(?! that)|prior to|following|preceded|not)\b")
_MOST = 0.6
_FEWEST, _MOST_ITEMS = 2, 10


def order_ruling(gold: Gold, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should name things in an order."""
    if refused:
        return CANNOT_TELL
    keys = _keys(gold.texts[0])
    segments = [content_stems(part) if part.strip() else frozenset() for part in _ITEMS.split(level(end))]
    if not keys or _TURNED.search(level(end)):
        return Ruling("unscored", "an order of events")
    found = [_place(key, segments) for key in keys]
    if None in found or len(set(found)) < len(found):
        return Ruling("unscored", "an order of events, not all of them named")
    if found == sorted(found, key=lambda place: place or 0):
        return Ruling("yes", "names them in the order")
    return Ruling("no", "names them in another order")


def _keys(expected: str) -> Sequence[frozenset[str]]:
    """Return for each thing of the order the stems that no other has; empty if one has none."""
    items = [content_stems(part) for part in _ITEMS.split(level(expected)) if part.strip()]
    keys = [item - frozenset().union(*(other for other in items if other is not item)) for item in items]
    return keys if all(keys) and _FEWEST <= len(keys) <= _MOST_ITEMS else ()


def _place(key: frozenset[str], segments: Sequence[frozenset[str]]) -> int | None:
    """Return the number of the last part of the answer that names a thing: the order stands in the end."""
    places = [number for number, part in enumerate(segments) if len(key & part) >= _MOST * len(key)]
    return places[0] if len(places) == 1 else None
