"""The verdict on one answer to a question about logs, and the figures beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ltm._language.rulings.gold import proven_ruling
from pytest_ltm._language.rulings.rules import abstention_ruling
from pytest_ltm._language.words import plain_words
from pytest_ltm._model.judge_prompts import PROMPTS
from pytest_ltm._model.ltm_judge import JudgeDecision, ask_judge
from pytest_ltm._model.score import Score, Unscored
from pytest_ltm.datasets.locomo.metric import token_f1
from pytest_ltm.datasets.longmemeval.evaluation import RULE, rule_on_hypothesis, verdict_of
from pytest_ltm.datasets.longmemeval.retrieval import session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._language.rulings.gold import Ruling
    from pytest_ltm._model.judge_request import Judge
    from pytest_ltm._model.scenario import Definition


NO_GOLD = "unmeasurable: the file gives no gold answer"
_SHOWN = 300


class LogsAnswer:
    """Scores the answer to the question of a definition: 1, 0, or undecided.

    The rules are those of LongMemEval. They decide where they can prove it, and a judge, if there is one, the rest; or
    the judge decides all, if the definition says so. Without a gold answer nobody decides.
    """

    def __init__(self, definition: Definition, judge: Judge | None = None) -> None:
        self._gold, self._facts = [str(one) for one in definition.expected], definition.parameters
        self._judge = judge or None

    @property
    def full_marks(self) -> str:
        """An answer that earns full marks; without a gold answer, one that says nothing."""
        return "That was never mentioned." if self._facts["never_told"] else [*self._gold, "I do not know."][0]

    def __call__(self, answers: Sequence[str]) -> Score | Unscored:
        """Return the verdict on the last answer."""
        if not (self._gold or self._facts["never_told"]):
            return Unscored(NO_GOLD, evidence=answers[-1][:_SHOWN])
        result: Score | Unscored = Unscored("", RULE)
        if self._judge is None or self._facts["judge"] != "all":
            result = self._ruled(answers[-1])
        if isinstance(result, Unscored) and self._judge is not None:
            result = self._judged(self._judge, answers[-1])
        return replace(result, evidence=answers[-1][:_SHOWN])

    def metrics(self, answer: str, retrieved: Sequence[str] | None = None) -> dict[str, float]:
        """Return the figures beside the score, by name.

        `f1`: of the tokens shared with the nearest gold answer; `contains`: whether a gold answer stands in it word for
        word; `recall`: the share of the evidence in what was `retrieved`. Missing ones are left out.
        """
        values = {}
        if self._gold and not self._facts["never_told"]:
            values["f1"] = max(token_f1(answer, one) for one in self._gold)
            text = f" {' '.join(plain_words(answer))} "
            values["contains"] = float(
                any(f" {' '.join(plain_words(one))} " in text for one in self._gold if plain_words(one))
            )
        if retrieved is not None and (evidence := self._facts["evidence"]):
            there = {*retrieved, *map(session_of, retrieved)}
            values["recall"] = sum(one in there for one in evidence) / len(evidence)
        return values

    def _ruled(self, answer: str) -> Score | Unscored:
        rulings = [self._ruling(gold, answer) for gold in self._gold or [""]]
        best = min(rulings, key=lambda one: ("yes", "unscored", "no").index(one.verdict))
        return verdict_of(best)

    def _ruling(self, gold: str, answer: str) -> Ruling:
        question = self._facts["question"]
        if self._facts["never_told"]:
            return proven_ruling(abstention_ruling(answer, question, gold), answer)
        return rule_on_hypothesis(
            question_id="", question_type="multi-session", question=question, answer=gold, hypothesis=answer
        )

    def _judged(self, judge: Judge, answer: str) -> Score | Unscored:
        """Return the judge's verdict; the score's rule names the prompt."""
        prompt = PROMPTS["longmemeval-abstention" if self._facts["never_told"] else "longmemeval-answer"]
        reference = " (or) ".join(self._gold)
        decision = ask_judge(judge, prompt, question=self._facts["question"], reference=reference, answer=answer)
        if isinstance(decision, JudgeDecision):
            return Score(float(decision.grade == "yes"), str(decision), rule=f"judge {prompt.id}")
        return decision
