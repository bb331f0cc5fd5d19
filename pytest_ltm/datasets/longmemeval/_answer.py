"""The verdict on one answer to a LongMemEval question, and the figures beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Unscored
from pytest_ltm.datasets.longmemeval._judging import judged, prompt_for
from pytest_ltm.datasets.longmemeval._retrieved import SHOWN, figures
from pytest_ltm.datasets.longmemeval._schema import is_abstention
from pytest_ltm.datasets.longmemeval._verdict import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge import Judge
    from pytest_ltm._scenario import Definition

RULE = "longmemeval-rules/1"
_SHOWN = 300


class LongMemEvalAnswer:
    """Scores the answer to the question of a definition: 1, 0, or nobody can tell.

    Rules decide where they can and a judge, if there is one, the rest; or the judge decides all, if the definition
    says so. The verdict's rule names who did.
    """

    def __init__(self, definition: Definition, judge: Judge | None = None) -> None:
        self._gold, self._facts = str(definition.expected), definition.parameters
        self._judge = judge or None
        self.notes: tuple[str, ...] = tuple(self._facts.get("notes", ()))
        """What is odd about the question, a sentence each."""

    def __call__(self, answers: Sequence[str]) -> Score | Unscored:
        """Return the verdict on the last answer."""
        shown = answers[-1][:_SHOWN]
        if self._judge is not None and self._facts.get("judge") == "all":
            return replace(self._judged(self._judge, answers[-1]), evidence=shown)
        found = self._ruled(answers[-1])
        if isinstance(found, Unscored) and self._judge is not None:
            found = self._judged(self._judge, answers[-1])
        return replace(found, evidence=shown)

    def measures(self, verdict: Score | Unscored, retrieved: Sequence[str] | None = None) -> dict[str, float]:
        """Return the figures beside the score, by name.

        `right`: the verdict again, so that its mean over all questions stands beside those of the types;
        `abstention`: the same for questions that cannot be answered. Of what was `retrieved`, where there is something
        to find: recall_all and ndcg_any at 5 and 10 of sessions and of turns, as published.
        """
        found = {}
        if isinstance(verdict, Score):
            found["right"] = verdict.value
            if is_abstention(self._facts["id"]):
                found["abstention"] = verdict.value
        if retrieved is not None and self._facts.get("wanted_turns"):
            every = figures(retrieved, self._facts["wanted_turns"], self._facts.get("user_turns", {}))
            found |= {name: every[name] for name in SHOWN}
        return found

    def _ruled(self, answer: str) -> Score | Unscored:
        ruling = rule(
            question_id=self._facts["id"],
            question_type=self._facts["type"],
            question=self._facts["question"],
            answer=self._gold,
            hypothesis=answer,
        )
        if ruling.verdict == "unscored":
            return Unscored(f"no rule can tell: {ruling.reason}", RULE)
        return Score(float(ruling.verdict == "yes"), ruling.reason, rule=RULE)

    def _judged(self, judge: Judge, answer: str) -> Score | Unscored:
        prompt = prompt_for(self._facts["id"], self._facts["type"])
        return judged(judge, prompt, question=self._facts["question"], reference=self._gold, answer=answer)
