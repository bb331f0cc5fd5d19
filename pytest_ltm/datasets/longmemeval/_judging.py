"""What a judge decides about LongMemEval's answers: which of the five rules applies, and how its word is a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Decision, Prompt, ask_judge
from pytest_ltm._score import Score, Unscored
from pytest_ltm.datasets.longmemeval._schema import is_abstention

if TYPE_CHECKING:
    from pytest_ltm._judge import Judge

_BY_TYPE = {
    "temporal-reasoning": "longmemeval-temporal",
    "knowledge-update": "longmemeval-update",
    "single-session-preference": "longmemeval-preference",
}


def prompt_for(question_id: str, question_type: str) -> Prompt:
    """Return the judging rule of a question: the id's suffix decides before the type does."""
    if is_abstention(question_id):
        return PROMPTS["longmemeval-abstention"]
    return PROMPTS[_BY_TYPE.get(question_type, "longmemeval-answer")]


def judged(judge: Judge, prompt: Prompt, *, question: str, reference: str, answer: str) -> Score | Unscored:
    """Return the judge's verdict; the score's rule names the prompt."""
    decision = ask_judge(judge, prompt, question=question, reference=reference, answer=answer)
    if isinstance(decision, Decision):
        return Score(float(decision.grade == "yes"), str(decision), rule=f"judge {prompt.id}")
    return decision
