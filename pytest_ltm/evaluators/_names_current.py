"""Names: the answer tells the name that the user goes by now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._clauses import EARLIER, level, places, standing
from pytest_ltm.evaluators._excuses import only_offers_example
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRESENT = frozenset(
    """am are become became changed current currently finally is last lately latest most newest now recent recently
    so these therefore today""".split()  # noqa: SIM905 - a list of words reads best as text
)
_PAST = frozenset(
    """before changed earlier former formerly instead no not old once past previous previously until used was
    were""".split()  # noqa: SIM905 - as above
)


@dataclass(frozen=True, slots=True)
class NamesUser:
    """Full marks if the last answer tells the expected name as the user's present one.

    `current`: as a word of its own, whatever its case. Where former names are told as well, the expected one
    must come last, after a word such as "now" or "is", or first, before a word such as "formerly". `v3.5` and
    `paper`: it is a substring of the lower-cased answer.
    """

    expected: str
    former: tuple[str, ...] = ()
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer tells the name, else 0."""
        answer = last(answers)
        if self.scoring == "current":
            fault = self._fault(answer)
        else:
            fault = "" if self.expected.lower() in answer.lower() else f"does not name {self.expected!r}"
        rule = f"names/{1 if self.scoring == 'current' else self.scoring}"
        return Score(float(not fault), fault or f"names {self.expected!r}", rule=rule, evidence=snippet(answer))

    def _fault(self, answer: str) -> str:
        """Return what is wrong with an answer by our own rule, "" if nothing is."""
        said = _Names(answer, self.expected, self.former)
        if not said.order or self.expected not in said.order or only_offers_example(answer):
            return f"does not name {self.expected!r}"
        if set(said.order) == {self.expected}:
            return self._doubt(level(answer))
        if said.order[-1] == self.expected and said.between(-2) & _PRESENT:
            return ""
        if said.order[0] == self.expected and said.between(0) & _PAST:
            return ""
        return f"tells several names, and not that {self.expected!r} is the one of now"

    def _doubt(self, text: str) -> str:
        reasons = [standing(text, *spot, known="") for spot in places(text, self.expected)]
        doubts = [reason for reason in reasons if reason not in ("", EARLIER)]
        return f"names {self.expected!r}, and {doubts[0]}" if doubts and len(doubts) == len(reasons) else ""


class _Names:
    """The names in a text, in their order, and the words between them."""

    def __init__(self, text: str, expected: str, former: Sequence[str]) -> None:
        keys = {" ".join(words(name)): name for name in (*former, expected)}
        self.order: list[str] = []
        self._gaps: list[set[str]] = []
        pattern = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True) if key)
        whole = " ".join(words(text))
        end = 0
        for found in re.finditer(rf"\b(?:{pattern})\b", whole) if pattern else ():
            name = keys[found.group()]
            if not self.order or self.order[-1] != name:
                self._gaps.append(set(whole[end : found.start()].split()))
                self.order.append(name)
            end = found.end()

    def between(self, index: int) -> set[str]:
        """Return the words between the name at an index and the next."""
        return self._gaps[index + 1 if index >= 0 else len(self.order) + index + 1]
