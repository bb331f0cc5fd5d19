"""Delayed Recall: each answer tells the fact that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._recollection import Recollection, recalled
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import snippet

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class RecallsFacts:
    """The share of questions whose answer tells the expected fact.

    An answer does if it has the words that carry the fact, beyond those of the question: both of two, else at least
    half; numbers in digits or words. An answer that also tells most of the other facts tells none. The published rules
    ask a model; this rule stands in for them.
    """

    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    scoring: Scoring = "current"
    rule: str = "delayed-recall/1"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of questions answered; a missing answer counts as wrong."""
        asked = [*self.questions, *[""] * (len(self.expected) - len(self.questions))]
        wanted = [Recollection(text, question) for text, question in zip(self.expected, asked, strict=False)]
        given = [*answers, *[""] * (len(wanted) - len(answers))]
        told = [
            recalled(answer, one, wanted[:place] + wanted[place + 1 :])
            for place, (answer, one) in enumerate(zip(given, wanted, strict=False))
        ]
        return self._score(told, given)

    def _score(self, told: Sequence[bool], given: Sequence[str]) -> Score:
        checks = tuple(Check(f"recalls {text!r}", ok) for text, ok in zip(self.expected, told, strict=True))
        reason = f"{sum(told)} of {len(told)} recalled"
        rule = self.rule
        if self.scoring != "current":
            rule = f"{rule.partition('/')[0]}/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        missed = next((answer for answer, ok in zip(given, told, strict=False) if not ok), "")
        return Score(sum(told) / max(len(told), 1), reason, checks=checks, rule=rule, evidence=snippet(missed))
