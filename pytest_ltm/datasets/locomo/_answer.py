"""The verdict on one answer to a LoCoMo question, and the figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._score import Score
from pytest_ltm.datasets.locomo._abstention import abstains
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._choice import chosen
from pytest_ltm.datasets.locomo._judging import judged
from pytest_ltm.datasets.locomo._metric import official_f1
from pytest_ltm.datasets.locomo._recall import recall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._judge import Judge
    from pytest_ltm._scenario import Definition

_SHOWN = 300


class LocomoAnswer:
    """Scores answers to the question of a definition."""

    def __init__(self, definition: Definition) -> None:
        self._gold, self._facts = definition.expected, definition.parameters
        self._category = Category(self._facts["category"])
        self._corrected = self._facts.get("corrected")

    def __call__(self, answers: Sequence[str]) -> Score:
        """Return the score of the last answer: the official F1.

        Of an adversarial question that is put freely: whether the answer declines, by our rule for free text.
        """
        said, way = self._said(answers[-1]), self._facts["asking"]
        if self._category is not Category.ADVERSARIAL:
            f1 = self._f1(said)
            return self._score(f1, f"F1 {f1:.3f} of {self._gold!r}{self._dispute()}", f"locomo-f1-{way}/1", said)
        declines = self._abstains(said) if way == "free" else self._f1(said) > 0
        reason = "declines, as nobody said it" if declines else "answers what nobody said"
        if not said and answers[-1].strip():
            reason = "takes both of the two choices"
        return self._score(float(declines), reason, f"locomo-adversarial-{way}/1", said or answers[-1])

    def measures(
        self, answer: str, retrieved: Sequence[str] | None = None, judge: Judge | None = None
    ) -> dict[str, float]:
        """Return the figures beside the score, by name.

        `f1`: the official one; `abstains`: of adversarial questions, by the rule for free text; with corrections
        `f1_corrected` and `ceiling` (the F1 of the corrected answer); `judge`; of what was `retrieved` the recalls and
        their number. What there is not is left out.
        """
        said = self._said(answer)
        found: dict[str, float | None] = {"f1": self._f1(said)}
        if self._category is Category.ADVERSARIAL:
            found["abstains"] = float(self._abstains(said))
        if self._corrected is not None:
            found |= self._corrected_figures(said, self._corrected)
        if judge:
            gold, question = str(self._gold or ""), str(self._facts["question"])
            found["judge"] = judged(judge, self._category, question=question, gold=gold, answer=said or answer)
        return {name: value for name, value in (found | self._recalls(retrieved)).items() if value is not None}

    def _said(self, answer: str) -> str:
        return chosen(answer, tuple(self._facts["choices"]))

    def _f1(self, said: str, gold: object = None) -> float:
        return round(official_f1(self._category, self._gold if gold is None else gold, said), 3)

    def _abstains(self, said: str) -> bool:
        asked, other = (*self._facts.get("about", ()), "", "")[:2]
        return abstains(said, asked=asked, other=other)

    def _score(self, value: float, reason: str, rule: str, said: str) -> Score:
        return Score(value, reason, rule=rule, evidence=said[:_SHOWN])

    def _dispute(self) -> str:
        if not self._corrected or not self._corrected["disputed"]:
            return ""
        return f" (disputed, {self._corrected['kind'].lower()}: rather {self._corrected['answer']!r})"

    def _corrected_figures(self, said: str, audited: Mapping[str, Any]) -> dict[str, float | None]:
        """Return F1 under the corrected gold answer, and what that answer earns under the published one."""
        corrected = audited["answer"] if audited["disputed"] else None
        if corrected is None:
            return {"f1_corrected": self._f1(said), "ceiling": 1.0}
        best = corrected.split(";")[0] if self._category is Category.OPEN_DOMAIN else corrected
        return {"f1_corrected": self._f1(said, corrected), "ceiling": self._f1(best)}

    def _recalls(self, retrieved: Sequence[str] | None) -> dict[str, float | None]:
        if retrieved is None:
            return {}
        found = recall(retrieved, cited=self._facts["cited"], evidence=self._facts["evidence"])
        figures = {
            "recall": found.official, "recall_repaired": found.repaired, "recall_sessions": found.sessions,
            "retrieved": float(len(retrieved)),
        }  # fmt: skip
        if self._corrected and self._corrected["evidence"]:
            evidence = self._corrected["evidence"]
            figures["recall_corrected"] = recall(retrieved, cited=(), evidence=evidence).repaired
        elif self._corrected is not None:
            figures["recall_corrected"] = found.repaired
        return figures
