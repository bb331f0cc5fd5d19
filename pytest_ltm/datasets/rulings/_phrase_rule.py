"""Answers that should name something in words: whether they have the words that matter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._assertion import LISTED, doubt_of
from pytest_ltm.datasets.rulings._choice_rule import choice_ruling, options_of
from pytest_ltm.datasets.rulings._conclusion import is_english, spoken
from pytest_ltm.datasets.rulings._likeness import holds
from pytest_ltm.datasets.rulings._quantities import quantities
from pytest_ltm.datasets.rulings._refusals import refuses
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling
from pytest_ltm.evaluators._clauses import level, places, sentence, sentence_start
from pytest_ltm.evaluators._words import content_stems, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_DOUBTS = Ruling("unscored", "names it, and doubts")
_LONG = 12
"""A gold answer of more words is a sentence of its own."""
_MOST, _HARDLY = 0.8, 0.3
"""Shares of a gold answer's telling words."""
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof"})
_ARTICLE = re.compile(r"^\W*(?:an?|the|my|your|his|her|our|their)\s+", re.IGNORECASE)
_NAME = re.compile(r"^\W*[A-Z]\w*(?: (?:[A-Z]\w*|of|the|de))*\W*$")


def phrase_ruling(gold: Gold, question: str, hypothesis: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should name something in words."""
    asked = content_stems(question)
    new = (gold.stems - asked) - _TITLES or gold.stems - asked
    if options_of(question) and len(new) <= 1:
        return choice_ruling(gold, question, end, refused=refused)
    if spots := _spots(gold, asked, end):
        return _named_ruling(gold, question, end, spots)
    if not new:
        return CANNOT_TELL if refused else Ruling("unscored", "no word of it that the question has not")
    share = len(new & content_stems(end)) / len(new)
    is_sentence = len(words(gold.texts[0])) > _LONG
    if share == 0 and not is_sentence:
        return _absent_ruling(gold, new, hypothesis, end, refused=refused)
    if share >= (_MOST if is_sentence else 1):
        return _worded_ruling(gold, question, end, refused=refused)
    return _partly_ruling(gold, hypothesis, refused=refused, hardly=is_sentence and share < _HARDLY)


def _partly_ruling(gold: Gold, hypothesis: str, *, refused: bool, hardly: bool) -> Ruling:
    if hardly and refused:
        return CANNOT_TELL
    if not refused and _lists_less(gold, hypothesis):
        return Ruling("no", "names some of several names")
    return Ruling("unscored", "has some of its words")


def _spots(gold: Gold, asked: frozenset[str], end: str) -> list[tuple[int, int]]:
    """Return where an accepted wording stands in the levelled answer; none that stands in the question, too."""
    text = level(end)
    return [
        spot for wording in gold.texts if not content_stems(wording) <= asked for spot in places(text, _bare(wording))
    ]


def _bare(wording: str) -> str:
    return _ARTICLE.sub("", wording) or wording


def _named_ruling(gold: Gold, question: str, end: str, spots: Sequence[tuple[int, int]]) -> Ruling:
    """Return the ruling on an answer in which the expected words stand in a row."""
    text = level(end)
    if refuses(text[sentence_start(text, max(spots)[0]) :]):
        return _DOUBTS
    if not HEDGED.search(gold.whole) and all(HEDGED.search(sentence(text, *spot)) for spot in spots):
        return _DOUBTS
    doubt = doubt_of([_bare(wording) for wording in gold.texts], question, end)
    return Ruling("unscored", f"names it, and {doubt}") if doubt else Ruling("yes", "names it")


def _worded_ruling(gold: Gold, question: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that has the expected words in another order."""
    if refused:
        return _DOUBTS
    doubt = doubt_of([_bare(gold.texts[0])], question, end)
    return Ruling("unscored", f"has its words, and {doubt}") if doubt else Ruling("yes", "has its words")


def _lists_less(gold: Gold, hypothesis: str) -> bool:
    """Return whether several names are expected, and the answer has nothing of one of them."""
    parts = [part for part in LISTED.split(gold.texts[0]) if part.strip()]
    if len(parts) < 2 or not all(_NAME.match(part) for part in parts):  # noqa: PLR2004 - several are two or more
        return False
    said = content_stems(hypothesis)
    return any(content_stems(part).isdisjoint(said) for part in parts)


def _absent_ruling(gold: Gold, new: frozenset[str], hypothesis: str, end: str, *, refused: bool) -> Ruling:
    if refused:
        return CANNOT_TELL
    if not is_english(end):
        return Ruling("unscored", "is in another language")
    if holds(gold, quantities(end)):
        return Ruling("unscored", "names its amount in other words")
    if new & content_stems(spoken(hypothesis)):
        return Ruling("unscored", "has its words on the way only")
    return Ruling("no", "has none of its words")
