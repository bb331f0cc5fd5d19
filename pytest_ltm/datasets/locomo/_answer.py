"""The verdict on one answer to a LoCoMo question, and the figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._score import Score
from pytest_ltm.datasets.locomo._asking import chosen
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._metric import official_f1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._scenario import Definition


class LocomoAnswer:
    """Scores answers to the question of a definition: the official F1."""

    def __init__(self, definition: Definition) -> None:
        self._gold, self._facts = definition.expected, definition.parameters
        self._category = Category(self._facts["category"])

    def __call__(self, answers: Sequence[str]) -> Score:
        """Return the official F1 of the last answer."""
        said = self._said(answers[-1])
        f1 = official_f1(self._category, self._gold, said)
        way = self._facts["asking"]
        return Score(round(f1, 3), f"F1 {f1:.3f} of {self._gold!r}", rule=f"locomo-f1-{way}/1", evidence=said[:300])

    def measures(self, retrieved: Sequence[str] | None) -> dict[str, float]:
        """Return the figures beside the score: the share of the evidence that was retrieved, if that is shown."""
        evidence = set(self._facts["evidence"])
        if retrieved is None or not evidence:
            return {}
        return {"recall": len(evidence & set(retrieved)) / len(evidence)}

    def _said(self, answer: str) -> str:
        return chosen(answer, tuple(self._facts["choices"]))
