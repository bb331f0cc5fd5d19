"""Instruction Recall: each answer tells the step, its detail or its number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._recollection import Recollection, numbered, recalled
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL = re.compile(
    r"\bsteps?\s{0,3}(?:number\s{1,3})?\d{1,3}\b[:.)]?|^[ \t]{0,8}\d{1,3}[.):]\s", re.IGNORECASE | re.MULTILINE
)
_LABELS = frozenset(("step", "steps", "number", "no"))


@dataclass(frozen=True, slots=True)
class RecallsSteps:
    """The share of questions whose answer tells the expected step, detail, or number of a step.

    A step or a detail is told by the words that carry it, as in `RecallsFacts`, the labels of steps left aside; an
    answer that also tells more than half of the other steps tells none. Where a bare number is expected and the
    question asks for a number, it must be the only number of a step in the answer. The published rules ask a model;
    this rule stands in for them.
    """

    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    steps: tuple[str, ...] = ()
    """All steps of the instructions."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of questions answered; a missing answer counts as wrong."""
        checks = []
        for place, expected in enumerate(self.expected):
            question = self.questions[place] if place < len(self.questions) else ""
            answer = answers[place] if place < len(answers) else ""
            checks.append(Check(f"recalls {expected!r}", self._right(answer, expected, question)))
        right = sum(check.ok for check in checks)
        rule, reason = "instruction-recall/1", f"{right} of {len(checks)} recalled"
        if self.scoring != "current":
            rule = f"instruction-recall/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        missed = next((a for a, check in zip(answers, checks, strict=False) if not check.ok), "")
        return Score(right / max(len(checks), 1), reason, checks=tuple(checks), rule=rule, evidence=snippet(missed))

    def _right(self, answer: str, expected: str, question: str) -> bool:
        if expected.isdecimal() and "number" in words(question):
            return _step_numbers(answer) == {expected}
        one = Recollection(expected, question)
        others = [Recollection(step) for step in self.steps or self.expected if step != expected]
        return recalled(_LABEL.sub(" ", answer), one, others)


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
