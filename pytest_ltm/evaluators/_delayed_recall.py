"""Delayed Recall: each answer tells the fact that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._judged import Part, share
from pytest_ltm.evaluators._recollection import Recollection, recalled, unsure
from pytest_ltm.evaluators._rules import check_scoring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge import Judge
    from pytest_ltm._score import Score, Scoring, Unscored


@dataclass(frozen=True, slots=True)
class RecallsFacts:
    """The share of questions whose answer tells the expected fact.

    An answer does if it has the words that carry the fact, beyond those of the question: both of two, else at least
    half; numbers in digits or words. An answer that also tells most of the other facts tells none. A judge, if there is
    one, is asked about answers without those words. The published rules ask a model; this rule stands in for them.
    """

    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    scoring: Scoring = "current"
    rule: str = "delayed-recall/1"
    judge: Judge | None = None

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of questions answered; a missing answer counts as wrong."""
        asked = [*self.questions, *[""] * (len(self.expected) - len(self.questions))]
        wanted = [Recollection(text, question) for text, question in zip(self.expected, asked, strict=False)]
        given = [*answers, *[""] * (len(wanted) - len(answers))]
        parts = [
            self._part(answer, one, wanted[:place] + wanted[place + 1 :])
            for place, (answer, one) in enumerate(zip(given, wanted, strict=False))
        ]
        rule, reason = self.rule, "{ok} of {of} recalled"
        if self.scoring != "current":
            rule = f"{rule.partition('/')[0]}/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)" * (self.judge is None)
        return share(parts, self.judge, rule=rule, reason=reason)

    @staticmethod
    def _part(answer: str, one: Recollection, others: Sequence[Recollection]) -> Part:
        label, told = f"recalls {one.expected!r}", recalled(answer, one, others)
        if told or not one.question or not unsure(answer, one):
            return Part(label, answer, told)
        return Part(label, answer, told, "answer", (("question", one.question), ("reference", one.expected)))
