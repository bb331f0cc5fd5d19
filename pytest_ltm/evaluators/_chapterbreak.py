"""ChapterBreak: the answer picks one of several numbered options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import NUMBERS, plain, snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS = re.compile(r"\d+")
_NO_CHOICE = frozenset(("a", "an", "one", "single", "couple", "pair", "dozen"))
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10,
}  # fmt: skip
_OPTIONS = frozenset(("option", "ending", "choice", "passage", "continuation", "one", "beginning", "opening"))
_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True)
class PicksOption:
    """Full marks if the only number in the last answer is that of the right option.

    `current` also reads number words where the answer has no digits. `v3.5` and `paper`: the set of numbers in
    the answer is {expected}.
    """

    expected: int
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer picks the option, else 0."""
        answer = last(answers)
        rule = f"chapterbreak/{1 if self.scoring == 'current' else self.scoring}"
        picked = self._picked(answer)
        ok = picked == {self.expected}
        said = ", ".join(sorted(str(n) for n in picked)[:6]) or "none"
        reason = f"picks option {said}" + ("" if ok else f", not {self.expected}")
        return Score(float(ok), reason, rule=rule, evidence=snippet(answer))

    def _picked(self, answer: str) -> set[int]:
        digits = {int(digits) if len(digits) <= _LONGEST_NUMBER else -1 for digits in _DIGITS.findall(plain(answer))}
        if digits or self.scoring != "current":
            return digits
        said = words(answer)
        ordinals = {_ORDINALS[word] for word, thing in pairwise(said) if word in _ORDINALS and thing in _OPTIONS}
        return ordinals or {n for word in said if word not in _NO_CHOICE and (n := NUMBERS.get(word))}
