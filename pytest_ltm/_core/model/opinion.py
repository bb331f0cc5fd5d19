"""Opinion: a judge's view of an answer; KnownQuestion: a question with an answer to test a judge with."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct


class KnownQuestion(Struct, frozen=True):
    """A question asked for credit whose correct answer is known."""

    text: str
    answer: str
    messages: tuple[str, ...] = ()
    """The messages that its scenario had sent to the agent."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's answer to a yes-or-no question, with its reason; it is true if the judge said yes.

    >>> bool(Opinion(yes=False, reason="The answer names teal."))
    False
    """

    yes: bool
    """Whether the judge said yes."""
    reason: str
    """The judge's own words."""

    def __bool__(self) -> bool:
        """Return whether the judge said yes, so that `assert ltm_judge.ask(...)` works."""
        return self.yes
