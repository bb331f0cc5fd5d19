"""The verdict on one answer to a LongMemEval question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Unscored
from pytest_ltm.datasets.longmemeval._verdict import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._scenario import Definition

RULE = "longmemeval-rules/1"


class LongMemEvalAnswer:
    """Scores the answer to the question of a definition: 1, 0, or nobody can tell without a judge."""

    def __init__(self, definition: Definition) -> None:
        self._gold, self._facts = definition.expected, definition.parameters

    def __call__(self, answers: Sequence[str]) -> Score | Unscored:
        """Return the verdict on the last answer."""
        ruling = rule(
            question_id=self._facts["id"],
            question_type=self._facts["type"],
            question=self._facts["question"],
            answer=self._gold,
            hypothesis=answers[-1],
        )
        if ruling.verdict == "unscored":
            return Unscored(f"no rule can tell: {ruling.reason}", RULE, answers[-1][:300])
        return Score(float(ruling.verdict == "yes"), ruling.reason, rule=RULE, evidence=answers[-1][:300])
