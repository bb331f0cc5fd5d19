"""What has been checked of a run, and what came of it."""

from __future__ import annotations

from msgspec import Struct, field

from pytest_ltm.api.storage import pluralize
from pytest_ltm.reports.discrepancies import Discrepancy

# The exit statuses: all holds; something does not; something that belongs to it could
# not be checked.
HOLDS = 0
DIFFERS = 1
UNCHECKED = 2


class Verification(Struct, frozen=True, kw_only=True):
    """What has been checked of a run, and what came of it."""

    run: str
    made_by: str
    """The version of pytest-ltm that recorded it; "" where that is not known."""
    differs: list[Discrepancy]
    of_versions: list[Discrepancy] = field(default_factory=list)
    """What another version of pytest-ltm does otherwise: nobody need have changed the record."""
    unfinished: list[Discrepancy] = field(default_factory=list)
    """What is not there because the run was interrupted, or because somebody removed it."""
    amended: int = 0
    """Verdicts that a person has amended: nothing can compute them again."""
    graded: int = 0
    """Grades of a judge, which is not asked again."""
    unchecked: list[str] = field(default_factory=list)
    """Sentences on what belongs to it and could not be checked."""
    held: list[str] = field(default_factory=list)
    """Sentences on what was checked, and on what a reader should know of it."""

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
        """What came of it, in its classes: computed again, taken on trust, not compared."""
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
