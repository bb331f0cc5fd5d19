"""FakeJudge: a judge for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._judge._inquiry import Inquiry


@dataclass(frozen=True, slots=True)
class FakeJudge:
    """A judge for tests: says what it was given, by prompt name, and records what it was asked."""

    replies: Mapping[str, str] = field(default_factory=dict)
    """What it says to the prompt of that name."""
    otherwise: str = "GRADE: no"
    """What it says to any other."""
    asked: list[Inquiry] = field(default_factory=list)
    """Every question, in order."""

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the canned reply."""
        self.asked.append(inquiry)
        return self.replies.get(inquiry.prompt, self.otherwise)
