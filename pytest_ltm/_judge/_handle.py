"""LtmJudge, the handle behind the `ltm_judge` fixture and `ltm.judge`; Opinion, what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import JudgeError
from pytest_ltm._judge._ask import decide
from pytest_ltm._judge._grades import reason_in
from pytest_ltm._judge._prompts import PROMPTS
from pytest_ltm._score import Unscored

if TYPE_CHECKING:
    from pytest_ltm._judge._ask import AnsweredBy, Decision
    from pytest_ltm._judge._inquiry import Inquiry


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge thinks: true or not, with its reason."""

    yes: bool
    reason: str
    """The judge's own words."""

    def __bool__(self) -> bool:
        """Whether the judge says yes: `assert ltm_judge.ask(...)` means what it says."""
        return self.yes


class LtmJudge:
    """The judge of a run as one example sees it: every question is recorded, remembered and counted.

    It is false where the run has no judge; asking then skips the example, which "needs a judge".
    """

    def __init__(self, ask: AnsweredBy | None, *, votes: int = 1) -> None:
        self._ask, self._votes = ask, votes

    def __bool__(self) -> bool:
        """Whether the run has a judge."""
        return self._ask is not None

    def ask(self, question: str, answer: str) -> Opinion:
        """Return what the judge says to a yes-or-no question about the agent's answer.

        JudgeError, which leaves the example unscored, if it cannot tell.
        """
        return self._opinion(PROMPTS["statement"].inquiry(question=question, answer=answer))

    def grade(self, question: str, answer: str, reference: str) -> Opinion:
        """Return whether the agent's answer to the question is right, given an answer that is.

        JudgeError, which leaves the example unscored, if the judge cannot tell.
        """
        return self._opinion(PROMPTS["answer"].inquiry(question=question, answer=answer, reference=reference))

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the judge's reply to one question, for evaluators; JudgeError if there is none."""
        if self._ask is None:
            raise JudgeError("needs a judge: give one with --ltm-judge=SPEC", cause="requires")
        return self._ask(inquiry)

    def decide(self, inquiry: Inquiry, /) -> Decision | Unscored:
        """Return the decision of as many votes as the run takes, for evaluators."""
        return decide(self.assess, inquiry, votes=self._votes)

    def _opinion(self, inquiry: Inquiry) -> Opinion:
        decision = self.decide(inquiry)
        if isinstance(decision, Unscored):
            raise JudgeError(decision.reason, cause=decision.cause)
        return Opinion(decision.grade != inquiry.fail, reason_in(decision.reply))
