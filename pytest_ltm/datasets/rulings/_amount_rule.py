"""Answers that should name an amount: a number, a length of time, a date, a sum of money."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._candidates import answering, final, in_range
from pytest_ltm.datasets.rulings._likeness import equal, holds, is_rough, is_sum
from pytest_ltm.datasets.rulings._numerals import digits
from pytest_ltm.datasets.rulings._quantities import Quantity, quantities
from pytest_ltm.datasets.rulings._refusals import refuses
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling
from pytest_ltm.evaluators._clauses import places, sentence, sentence_start, standing
from pytest_ltm.evaluators._words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.rulings._gold import Gold

_NAMED = Ruling("yes", "names the amount")
_AMONG = Ruling("unscored", "names the amount among others")
_OFF_THE_MOST = Ruling("unscored", "is one day off what is accepted at most")
_OTHER_KIND = Ruling("unscored", "names no amount of this kind")
_AFTER_NUMBERS = re.compile(r"[^\d\s-].*", re.DOTALL)
_CONTRARIES = [
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("older", "younger"), ("more", "less fewer"), ("earlier before", "later after"), ("longer", "shorter"),
        ("higher", "lower"), ("faster", "slower"), ("larger bigger", "smaller"), ("heavier", "lighter"),
        ("cheaper", "expensive dearer pricier"), ("saved save saving", "spent spend lost"),
        ("increase increased gain gained", "decrease decreased lose lost"),
    )
]  # fmt: skip


def amount_ruling(gold: Gold, question: str, end: str, *, forgiving: bool) -> Ruling:
    """Return the ruling on an answer that should name an amount; `forgiving`: an error of one day is none."""
    text = digits(end)
    said = answering(gold, question, end, text)
    if not said:
        return CANNOT_TELL if refuses(end) else _OTHER_KIND
    hit = holds(gold, quantities(text))
    if refuses(text[sentence_start(text, max(one.start for one in said)) :]):
        return Ruling("unscored", "names the amount and refuses") if hit else CANNOT_TELL
    held = [one for one in said if not standing(text, one.start, one.end, known=f"{question} {gold.whole}")]
    answer = final(text, held) if len(gold.amounts[0]) == 1 else held
    if not holds(gold, answer):
        return _near_miss(gold, answer or said, ambiguous=hit or in_range(text, said), forgiving=forgiving)
    return _named(gold, question, text, answer)


def _named(gold: Gold, question: str, text: str, answer: Sequence[Quantity]) -> Ruling:
    """Return the ruling on an answer that has the expected amount: whether it is sure, and the only one."""
    hits = [one for one in answer if any(equal(part, one) for parts in gold.amounts for part in parts)]
    around = [sentence(text, one.start, one.end) for one in hits]
    sure = HEDGED.search(gold.whole) or not any(map(HEDGED.search, around))
    wanted = digits(gold.texts[0])
    if in_range(wanted, quantities(wanted)):
        repeated = places(text, _AFTER_NUMBERS.sub("", wanted) or wanted)
        return _NAMED if sure and repeated else Ruling("unscored", "names the two amounts, perhaps of another range")
    if not sure or in_range(text, hits):
        return Ruling("unscored", "names the amount within a range, or hedged")
    if any(_is_turned(question, one) for one in around):
        return Ruling("unscored", "names the amount, and compares the other way round")
    others = [one for one in answer if one not in hits]
    return _AMONG if others and not is_sum(gold, others) else _NAMED


def _is_turned(question: str, text: str) -> bool:
    """Return whether a sentence compares the other way round than the question: younger for older."""
    asked, said = set(words(question)), set(words(text))
    return any(
        asked & one and not asked & other and said & other and not said & one
        for pair in _CONTRARIES
        for one, other in (pair, pair[::-1])
    )


def _near_miss(gold: Gold, pool: Sequence[Quantity], *, ambiguous: bool, forgiving: bool) -> Ruling:
    off = [any(_is_one_off(one, said) for said in pool) for (one, *_) in gold.amounts]
    if forgiving and any(off):
        return Ruling("yes", "is one day off, which is forgiven") if off[0] else _OFF_THE_MOST
    if ambiguous or is_sum(gold, pool):
        return _AMONG
    if any(is_rough(one, said) for (one, *_) in gold.amounts for said in pool):
        return Ruling("unscored", "names about as much in another unit")
    return Ruling("no", "names another amount")


def _is_one_off(one: Quantity, said: Quantity) -> bool:
    return (one.unit == said.unit or not said.unit) and abs(one.value - said.value) <= 1
