"""Questions that offer two things: which one an answer names, alone, as the first, or as before the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, Ruling
from pytest_ltm.evaluators._clauses import level
from pytest_ltm.evaluators._words import content_stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.datasets.rulings._gold import Gold

RIGHT, WRONG = Ruling("yes", "names the right one of the two"), Ruling("no", "names the wrong one of the two")
_CHOICE = re.compile(r"(?:,|:)\s*(?:was it |is it )?([^,:]+?),? or ([^,:]+?)\?*\s*$")
_FIRST = re.compile(r"\b(?:first|earlier|earliest)\b")
_LAST = re.compile(r"\b(?:last|later|latest|most recently|more recently|second)\b")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSES = re.compile(r"[,;()\u2013\u2014]|\b(?:and|but|while|whereas|then)\b")
_BEFORE = re.compile(r"\b(?:before|prior to|earlier than|ahead of|precede[sd]?|and then|then|followed by|and later)\b")
_AFTER = re.compile(r"\b(?:after(?! that| this| which)|following|later than|subsequent to)\b")
_OPENING = re.compile(r"^\W*(before|prior to|after|following)\b([^,]*),(.*)")
_SOME = 0.5


def options_of(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return what tells the two things apart that a question offers: stems of their words; None if it offers none."""
    found = _CHOICE.search(question)
    if found is None:
        return None
    first, second = content_stems(found[1]), content_stems(found[2])
    return first - second, second - first


def choice_ruling(gold: Gold, question: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on the answer to a question that offers two things."""
    options = options_of(question)
    marks = [len(gold.stems & part) for part in options or ()]
    if options is None or marks[0] == marks[1]:
        return Ruling("unscored", "it is not clear which of the two is expected")
    right, wrong = options if marks[0] > marks[1] else options[::-1]
    named = _names_one(right, wrong, end)
    if refused:
        return CANNOT_TELL if not _share(right, content_stems(end)) else Ruling("unscored", "names it, and doubts")
    if winners := set(_winners(right, wrong, question, end)):
        if len(winners) > 1:
            return Ruling("unscored", "names now one as the first, now the other")
        return RIGHT if winners == {True} else WRONG
    if named is None:
        return Ruling("unscored", "names both, or neither")
    return RIGHT if named else WRONG


def _names_one(right: frozenset[str], wrong: frozenset[str], text: str) -> bool | None:
    """Return whether the text names the right thing alone (True) or the wrong one (False)."""
    said = content_stems(text)
    shares = _share(right, said), _share(wrong, said)
    if min(shares) or max(shares) < _SOME:
        return None
    return shares[0] > shares[1]


def _share(option: frozenset[str], said: frozenset[str]) -> float:
    return len(option & said) / max(1, len(option))


def _winners(right: frozenset[str], wrong: frozenset[str], question: str, end: str) -> Iterator[bool]:
    """Yield, for each sentence that puts the two in an order, whether the right one is the one that is asked for."""
    asked = level(question)
    wants_first = bool(_FIRST.search(asked))
    if wants_first == bool(_LAST.search(asked)):
        return
    for sentence in _SENTENCES.split(level(end)):
        earlier = _earlier(right, wrong, sentence)
        if earlier is not None:
            yield earlier == wants_first


def _earlier(right: frozenset[str], wrong: frozenset[str], sentence: str) -> bool | None:
    """Return whether a sentence says that the right thing came before the wrong one; None if it says nothing of it."""
    if opening := _OPENING.match(sentence):
        return _pair(right, wrong, opening[2], opening[3], swapped=opening[1] in ("before", "prior to"))
    for pattern, swapped in ((_BEFORE, False), (_AFTER, True)):
        for found in pattern.finditer(sentence):
            ordered = _pair(
                right, wrong, sentence[: found.start()], _CLAUSES.split(sentence[found.end() :])[0], swapped=swapped
            )
            if ordered is not None:
                return ordered
    for clause in _CLAUSES.split(sentence):
        named = _names_one(right, wrong, clause)
        if named is not None and (_FIRST.search(clause) or _LAST.search(clause)):
            return named if _FIRST.search(clause) else not named
    return None


def _pair(right: frozenset[str], wrong: frozenset[str], left: str, rest: str, *, swapped: bool) -> bool | None:
    """Return whether the right thing is left of a word of order, and the wrong one behind it; None if neither is so."""
    leans = [_leaning(right, wrong, part) for part in (left, rest)]
    if 0 in leans or leans[0] == leans[1]:
        return None
    return (leans[0] > 0) != swapped


def _leaning(right: frozenset[str], wrong: frozenset[str], text: str) -> int:
    """Return 1 if the text has words of the right thing alone, -1 if of the wrong one, else 0."""
    said = content_stems(text)
    return bool(_share(right, said)) - bool(_share(wrong, said))
