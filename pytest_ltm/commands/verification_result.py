"""The result of verifying a run."""

from __future__ import annotations

from msgspec import Struct, field

from pytest_ltm.api.storage import pluralize
from pytest_ltm.reports.discrepancies import Discrepancy

# Exit statuses: verified; different; or parts that could not be checked.
HOLDS = 0
DIFFERS = 1
UNCHECKED = 2


class Verification(Struct, frozen=True, kw_only=True):
    """The checks of a run with their results."""

    run: str
    made_by: str
    """The version of pytest-ltm that recorded it; "" if unknown."""
    differs: list[Discrepancy]
    of_versions: list[Discrepancy] = field(default_factory=list)
    """Differences due to another version of pytest-ltm, without any change to the record."""
    unfinished: list[Discrepancy] = field(default_factory=list)
    """Parts that are missing because the run was interrupted, or because they were removed."""
    amended: int = 0
    """Number of amended verdicts, which cannot be recomputed."""
    graded: int = 0
    """Number of a judge's grades, which are not requested again."""
    unchecked: list[str] = field(default_factory=list)
    """Sentences on parts that could not be checked."""
    held: list[str] = field(default_factory=list)
    """Sentences on passed checks, and notes for readers."""

    @property
    def status(self) -> int:
        """The exit status."""
        if self.differs:
            return DIFFERS
        if self.of_versions or self.unfinished or self.unchecked or self.amended:
            return UNCHECKED
        return HOLDS

    @property
    def verdict(self) -> str:
        """The exit status as a word."""
        return {HOLDS: "holds", DIFFERS: "differs", UNCHECKED: "unchecked"}[self.status]

    @property
    def sentence(self) -> str:
        """The result by classes: recomputed, taken on trust, not compared."""
        if self.differs:
            does = "do" if len(self.differs) > 1 else "does"
            return f"{pluralize(len(self.differs), 'thing')} {does} not hold"
        if self.of_versions:
            text = "versions differ, so not all of it could be checked"
        elif self.unfinished:
            text = "it is not finished, or parts were removed; what is there holds"
        elif self.unchecked:
            text = "not all of it could be checked"
        elif self.amended:
            text = "whole, but not all of its scores follow from it"
        else:
            text = "whole, and its scores follow from it"
        trusted = []
        if self.amended:
            trusted.append(f"{pluralize(self.amended, 'verdict')} amended by hand")
        if self.graded:
            grades = pluralize(self.graded, "grade")
            trusted.append(f"{grades} of a judge that was not asked again")
        if trusted:
            return f"{text}; taken on trust: {', '.join(trusted)}"
        return text
