"""A judge that always says the same: the floor that any other must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm._judge import Inquiry


@dataclass(frozen=True, slots=True)
class Always:
    """Passes everything, or nothing."""

    yes: bool

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the first grade that passes, or the one that fails."""
        passing = next((grade for grade in inquiry.grades if grade != inquiry.fail), inquiry.fail)
        return f"GRADE: {passing if self.yes else inquiry.fail}"
