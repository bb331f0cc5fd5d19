"""Whether an answer to a LoCoMo question is right, by strict rules and without a model: yes, no, or nobody could tell.

Strict means: a time is right if it lies within the expected one, a coarser one is not; a list must be whole; a short
answer must have all of its words side by side. What could be the same in other words is left to a judge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._abstention import abstains
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._metric import token_f1
from pytest_ltm.datasets.locomo._when import Stretch, stretches
from pytest_ltm.datasets.rulings._amount_rule import amount_ruling
from pytest_ltm.datasets.rulings._assertion import doubt_of
from pytest_ltm.datasets.rulings._conclusion import conclusion
from pytest_ltm.datasets.rulings._gold import read_gold
from pytest_ltm.datasets.rulings._quantities import quantities
from pytest_ltm.datasets.rulings._refusals import denies, guesses, refuses, turns
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling
from pytest_ltm.evaluators._words import content_stems, stem, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 0.6
"""The share of a reason's words that must be there."""
_AROUND = 15
"""So many words more than the expected answer has, a refusal may have."""
_FEW = 3
"""Words of an answer that must stand side by side."""
_YES_OR_NO = re.compile(r"\W*(?:likely |probably |most likely )?(yes|no)\b[\s,;.:-]*", re.IGNORECASE)
_DOUBT = re.compile(r"\b(?:or|maybe|perhaps|probably|unclear|not sure|either|could be|might)\b", re.IGNORECASE)
_LOOSE = re.compile(
    r"\b(?:couple|at least|at most|minimum|likely|estimated?|possible|assum\w+|rough\w*|regular)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r",\s+and\s+|;|,|\s+and\s+")


def verdict(*, category: int, question: str, answer: object, prediction: str) -> Ruling:
    """Return what the strict rules say of a prediction; `answer`: the gold answer, also a number."""
    if Category(category) is Category.ADVERSARIAL:
        return _adversarial(question, prediction)
    gold = str(answer).strip()
    if not words(prediction):
        return Ruling("no", "says nothing")
    if words(gold) == words(prediction):
        return Ruling("yes", "repeats the expected answer")
    return _compared(Category(category), question, gold, prediction)


def _compared(category: Category, question: str, gold: str, prediction: str) -> Ruling:
    said = conclusion(prediction)
    if refuses(said):
        return (
            CANNOT_TELL if len(words(said)) <= len(words(gold)) + _AROUND else Ruling("unscored", "refuses, and more")
        )
    if leading := _YES_OR_NO.match(gold):
        return _yes_or_no(leading, gold, prediction)
    expected = stretches(gold)
    if len(expected) == 1 and category is Category.TEMPORAL:
        return _time(expected[0], prediction)
    return _amount_or_phrase(gold, question, said)


def _adversarial(question: str, prediction: str) -> Ruling:
    if abstains(prediction):
        return Ruling("yes", "says that it was not said")
    if denies(prediction, content_stems(question)):
        doubt = guesses(prediction) or turns(prediction)
        return Ruling("unscored", "denies, and guesses") if doubt else Ruling("yes", "denies what the question assumes")
    if refuses(prediction):
        return Ruling("unscored", "refuses on the way, and answers")
    return Ruling("no", "answers what nobody said")


def _yes_or_no(leading: re.Match[str], gold: str, prediction: str) -> Ruling:
    said = _YES_OR_NO.match(prediction)
    if said is None:
        return Ruling("unscored", "says neither yes nor no")
    if said[1].lower() != leading[1].lower():
        return Ruling("no", f"says {said[1].lower()}")
    reason, given = content_stems(gold[leading.end() :]), content_stems(prediction[said.end() :])
    if not gold[leading.end() :].strip() or not prediction[said.end() :].strip():
        more = len(words(prediction[said.end() :])) > _FEW
        return Ruling("unscored", "gives a reason of its own") if more else Ruling("yes", f"says {said[1].lower()}")
    if len(reason & given) > _MOST * len(reason):
        return Ruling("yes", f"says {said[1].lower()}, for the expected reason")
    return Ruling("unscored", f"says {said[1].lower()}, in other words or for another reason")


def _time(expected: Stretch, prediction: str) -> Ruling:
    said = stretches(prediction)
    if not said:
        return Ruling("unscored", "names no time with its year")
    right = [one.within(expected) for one in said]
    if all(right):
        doubt = _DOUBT.search(prediction)
        return Ruling("unscored", "names the time, and doubts") if doubt else Ruling("yes", "names the time")
    if not any(one.meets(expected) for one in said):
        return Ruling("no", "names another time")
    if any(right):
        return Ruling("unscored", "names the time among others")
    if all(expected.within(one) for one in said if one.meets(expected)):
        return Ruling("no", "names the time less exactly")
    return Ruling("unscored", "names a time that is partly right")


def _amount_or_phrase(gold: str, question: str, said: str) -> Ruling:
    read = read_gold(gold, question)
    if read.kind == "amount" and not stretches(gold):
        if _LOOSE.search(said) and not _LOOSE.search(gold):
            return Ruling("unscored", "names an amount loosely")
        return amount_ruling(read, question, said, forgiving=False)
    parts = [part for part in _PARTS.split(gold) if content_stems(part)]
    have = [_has(part, said) for part in parts]
    if all(have) and have:
        doubts = [pattern for pattern in (HEDGED, _DOUBT, _LOOSE) if pattern.search(said)]
        sure = all(pattern.search(gold) for pattern in doubts)
        doubt = "" if sure else "doubts"
        doubt = doubt or doubt_of([gold], question, said)
        return Ruling("unscored", f"has its words, and {doubt}") if doubt else Ruling("yes", "has its words")
    short = len(content_stems(gold)) <= _FEW and len(words(said)) <= len(words(gold)) + 9
    if short and not any(have) and not _shared(gold, said) and _is_name(gold):
        return Ruling("no", "names something else")
    return Ruling("unscored", "has some of its words" if _shared(gold, said) else "has none of its words")


def _has(part: str, said: str) -> bool:
    """Return whether all words of a part that carry meaning stand in the answer; few of them near each other."""
    wanted, spoken = content_stems(part), [stem(word) for word in words(said)]
    if not wanted <= set(spoken):
        return False
    if any(one not in [two.value for two in quantities(said)] for one in _values(part)):
        return False
    return len(wanted) > _FEW or _near(wanted, spoken, len(words(part)) + 2)


def _values(part: str) -> Sequence[float]:
    return [one.value for one in quantities(part)]


def _near(wanted: frozenset[str], spoken: Sequence[str], room: int) -> bool:
    return any(wanted <= set(spoken[start : start + room]) for start in range(len(spoken)))


def _shared(gold: str, said: str) -> bool:
    return token_f1(said, gold) > 0 or bool(content_stems(gold) & content_stems(said))


def _is_name(gold: str) -> bool:
    """Return whether a short answer is a proper name: every word of it that carries meaning has a capital."""
    named = [word for word in re.findall(r"[A-Za-z][\w'-]*", gold) if content_stems(word) and len(word) > 2]  # noqa: PLR2004
    return len(named) > 1 and all(word[0].isupper() for word in named)
