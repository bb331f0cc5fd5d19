"""Asking a judge: its reply becomes a grade; a failure is confirmed by a vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from pytest_ltm._errors import JudgeError, told
from pytest_ltm._judge._grades import parse_grade, reason_in
from pytest_ltm._score import Unscored

if TYPE_CHECKING:
    from pytest_ltm._judge._inquiry import Inquiry, Judge, Prompt

AnsweredBy: TypeAlias = Callable[["Inquiry"], str]
"""Returns the reply to a question; JudgeError if there is none."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a judge decided."""

    grade: str
    reply: str
    """The last reply that said so."""
    votes: int = 1
    """How many replies it took."""

    def __str__(self) -> str:
        """Return it as a reason: `the judge says no: it names another town`."""
        thoughts = reason_in(self.reply)
        return f"the judge says {self.grade}" + (f": {thoughts}" if thoughts else "")


@runtime_checkable
class Decides(Protocol):
    """A judge that takes its own votes."""

    def decide(self, inquiry: Inquiry, /) -> Decision | Unscored:
        """Return the decision, Unscored if there is none."""
        ...


def decide(ask: AnsweredBy, inquiry: Inquiry, *, votes: int) -> Decision | Unscored:
    """Return what a majority of `votes` says; if the first does not say `fail`, it alone decides.

    Replies without a grade that was on offer are votes for nothing. Unscored if nothing has a majority, or if there
    is no reply at all.
    """
    tally: Counter[str] = Counter()
    unread: Unscored | None = None
    for vote in range(votes):
        try:
            reply = ask(replace(inquiry, vote=vote))
        except JudgeError as error:
            return Unscored(str(error), cause=error.cause)
        grade = parse_grade(reply, inquiry.grades)
        if isinstance(grade, Unscored):
            unread = grade
            continue
        tally[grade] += 1
        if (vote == 0 and grade != inquiry.fail) or tally[grade] * 2 > votes:
            return Decision(grade, reply, vote + 1)
    said = ", ".join(f"{count} x {grade}" for grade, count in sorted(tally.items()))
    return unread or Unscored(f"the judge's {votes} votes have no majority: {said}")


def ask_judge(judge: Judge, prompt: Prompt, **parts: str) -> Decision | Unscored:
    """Return what a judge decides about one answer; a judge that fails makes it Unscored."""
    inquiry = prompt.inquiry(**parts)
    return judge.decide(inquiry) if isinstance(judge, Decides) else decide(plainly(judge), inquiry, votes=1)


def plainly(judge: Judge) -> AnsweredBy:
    """Return how a judge is asked where nothing is recorded, remembered or limited."""

    def ask(inquiry: Inquiry) -> str:
        try:
            reply = judge.assess(inquiry)
        except Exception as error:
            raise JudgeError(f"the judge failed: {told(error)}") from error
        return str(getattr(reply, "text", reply))

    return ask
