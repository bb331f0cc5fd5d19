"""Key-Value Pairs: the answer names the value that was looked up, and none that does not lie on the way to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import has_phrase, joined, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class RecallsValue:
    """Full marks if the last answer holds the value as a word, whatever its case, and none of `others`.

    What lies between key and value may be named, too. There are no published results to agree with: every scoring
    has this rule.
    """

    expected: str
    others: tuple[str, ...] = ()
    """The keys and values that have nothing to do with the question."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer names the value and no other, else 0."""
        answer = last(answers)
        text = joined(answer)
        strange = next((other for other in self.others if has_phrase(text, other)), None)
        if not has_phrase(text, self.expected):
            value, reason = 0.0, f"{self.expected!r} is not in the answer"
        elif strange is not None:
            value, reason = 0.0, f"names {strange!r} beside {self.expected!r}"
        else:
            value, reason = 1.0, f"names {self.expected!r}"
        return Score(value, reason, rule="kv-pairs/1", evidence=snippet(answer))
