"""A judge's word on LoCoMo's answers: it stands beside the F1, never in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Decision, ask_judge
from pytest_ltm.datasets.locomo._categories import Category

if TYPE_CHECKING:
    from pytest_ltm._judge import Judge


def judged(judge: Judge, category: Category, *, question: str, gold: str, answer: str) -> float | None:
    """Return 1 for an answer that the judge finds right, 0 for another, None where the judge cannot tell."""
    parts = {"question": question, "answer": answer, "category": str(category.value)}
    if category is Category.ADVERSARIAL:
        decision = ask_judge(judge, PROMPTS["locomo-abstention"], **parts)
    else:
        decision = ask_judge(judge, PROMPTS["locomo-answer"], reference=gold, **parts)
    return float(decision.grade == "yes") if isinstance(decision, Decision) else None
