"""What a judge says of an answer, and which questions have an answer that it could be tried with."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct


class KnownQuestion(Struct, frozen=True):
    """A question that was asked for credit, and whose right answer is known."""

    text: str
    answer: str
    messages: tuple[str, ...] = ()
    """What its scenario had told the agent."""


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
        """Whether the judge says yes: `assert ltm_judge.ask(...)` means what it says."""
        return self.yes
