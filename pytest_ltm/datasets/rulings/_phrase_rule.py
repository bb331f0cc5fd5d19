"""Answers that should name something in words: whether they have the words that matter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._amount_rule import holds
from pytest_ltm.datasets.rulings._quantities import quantities
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling
from pytest_ltm.evaluators._words import content_stems, has_phrase, joined, words

if TYPE_CHECKING:
    from pytest_ltm.datasets.rulings._gold import Gold

_DOUBTS = Ruling("unscored", "names it, and doubts")
_CHOICE = re.compile(r"(?:,|:)\s*(?:was it |is it )?([^,:]+?),? or ([^,:]+?)\?*\s*$")
_FEW, _LONG = 3, 12
"""Words of a gold answer: so few are found by chance, so many are a sentence of its own."""
_MOST, _SOME, _HARDLY = 0.8, 0.5, 0.3
"""Shares of a gold answer's telling words."""


def phrase_ruling(gold: Gold, question: str, hypothesis: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should name something in words."""
    asked = content_stems(question)
    if _named(gold, asked, end):
        doubt = refused or (HEDGED.search(end) is not None and len(words(gold.texts[0])) < _FEW)
        return _DOUBTS if doubt else Ruling("yes", "names it")
    new = gold.stems - asked
    choice = _CHOICE.search(question)
    if choice and len(new) <= 1:
        return _choice_ruling(gold, choice, end, refused=refused)
    if not new:
        return CANNOT_TELL if refused else Ruling("unscored", "no word of it that the question has not")
    share = len(new & content_stems(end)) / len(new)
    if share == 0 and len(words(gold.texts[0])) <= _LONG:
        return _absent_ruling(gold, new, hypothesis, end, refused=refused)
    return _partly_ruling(share, refused=refused, is_sentence=len(words(gold.texts[0])) > _LONG)


def _named(gold: Gold, asked: frozenset[str], end: str) -> bool:
    """Return whether an accepted wording stands in the answer, and not just because it stands in the question."""
    return any(has_phrase(joined(end), text) and not content_stems(text) <= asked for text in gold.texts)


def _absent_ruling(gold: Gold, new: frozenset[str], hypothesis: str, end: str, *, refused: bool) -> Ruling:
    if refused:
        return CANNOT_TELL
    if holds(gold, quantities(end)):
        return Ruling("unscored", "names its amount in other words")
    if new & content_stems(hypothesis):
        return Ruling("unscored", "has its words on the way only")
    return Ruling("no", "has none of its words")


def _partly_ruling(share: float, *, refused: bool, is_sentence: bool) -> Ruling:
    if share >= (_MOST if is_sentence else 1):
        return _DOUBTS if refused else Ruling("yes", "has its words")
    if is_sentence and refused and share < _HARDLY:
        return CANNOT_TELL
    return Ruling("unscored", "has some of its words")


def _choice_ruling(gold: Gold, choice: re.Match[str], end: str, *, refused: bool) -> Ruling:
    """Return the ruling on a question that names two things: which of them the answer names alone."""
    first, second = content_stems(choice[1]), content_stems(choice[2])
    only = [first - second, second - first]
    marks = [len(gold.stems & part) for part in only]
    if marks[0] == marks[1]:
        return Ruling("unscored", "it is not clear which of the two is expected")
    if marks[1] > marks[0]:
        only.reverse()
    said = content_stems(end)
    right, wrong = (len(part & said) / max(1, len(part)) for part in only)
    if refused:
        return _DOUBTS if right else CANNOT_TELL
    if min(right, wrong) or max(right, wrong) < _SOME:
        return Ruling("unscored", "names both, or neither")
    return Ruling("yes", "names the right one of the two") if right else Ruling("no", "names the wrong one of the two")
