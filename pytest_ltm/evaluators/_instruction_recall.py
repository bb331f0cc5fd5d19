"""Instruction Recall: each answer tells the step, its detail or its number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._judged import Part, share
from pytest_ltm.evaluators._recollection import Recollection, numbered, recalled, unsure
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge import Judge
    from pytest_ltm._score import Score, Scoring, Unscored

_LABEL = re.compile(
    r"\bsteps?\s{0,3}(?:number\s{1,3})?\d{1,3}\b[:.)]?|^[ \t]{0,8}\d{1,3}[.):]\s", re.IGNORECASE | re.MULTILINE
)
_LABELS = frozenset(("step", "steps", "number", "no"))


@dataclass(frozen=True, slots=True)
class RecallsSteps:
    """The share of questions whose answer tells the expected step, detail, or number of a step.

    A step or a detail is told by the words that carry it, as in `RecallsFacts`, the labels of steps left aside; an
    answer that also tells more than half of the other steps tells none. Where a bare number is expected and the
    question asks for a number, it must be the only number of a step in the answer. A judge, if there is one, is asked
    about answers without those words. The published rules ask a model; this rule stands in for them.
    """

    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    steps: tuple[str, ...] = ()
    """All steps of the instructions."""
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of questions answered; a missing answer counts as wrong."""
        parts = []
        for place, expected in enumerate(self.expected):
            question = self.questions[place] if place < len(self.questions) else ""
            parts.append(self._part(answers[place] if place < len(answers) else "", expected, question))
        rule, reason = "instruction-recall/1", "{ok} of {of} recalled"
        if self.scoring != "current":
            rule = f"instruction-recall/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)" * (self.judge is None)
        return share(parts, self.judge, rule=rule, reason=reason)

    def _part(self, answer: str, expected: str, question: str) -> Part:
        label = f"recalls {expected!r}"
        if expected.isdecimal() and "number" in words(question):
            return Part(label, answer, _step_numbers(answer) == {expected})
        one = Recollection(expected, question)
        others = [Recollection(step) for step in self.steps or self.expected if step != expected]
        bare = _LABEL.sub(" ", answer)
        told = recalled(bare, one, others)
        if told or not question or not unsure(bare, one):
            return Part(label, answer, told)
        return Part(label, answer, told, "answer", (("question", question), ("reference", expected)))


def _step_numbers(answer: str) -> set[str]:
    """Return the numbers that an answer gives to steps; all its numbers, if it names none as such."""
    said = list(numbered(words(answer)))
    places = [place for place, word in enumerate(said) if word.isdecimal()]
    labelled = {
        said[place]
        for place in places
        if (place and said[place - 1] in _LABELS) or said[place + 1 : place + 2] == ["step"]
    }
    return labelled or {said[place] for place in places}
