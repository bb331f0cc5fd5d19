"""Row: the observations of one test, cell by cell; the matrix has one row per test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

State = Literal["ok", "fails", "lacks", "note"]
SIGNS: dict[State, str] = {"ok": "ok", "fails": "FAILS", "lacks": "-", "note": "note"}


class Cell(NamedTuple):
    """One check: its outcome and the evidence."""

    look: str
    state: State
    evidence: str = ""


class NoControl(Exception):
    """A control failed: something was missing from the start, so its later absence would show nothing."""


@dataclass
class Row:
    """The cells of a test, in order."""

    cells: list[Cell] = field(default_factory=list)

    def expect(self, look: str, evidence: str) -> None:
        """Record a check that fails if there is `evidence` of a fault."""
        self.cells.append(Cell(look, "fails" if evidence else "ok", evidence))

    def control(self, look: str, evidence: str) -> None:
        """Record a check that the others depend on; a failure raises NoControl and ends the test."""
        self.expect(look, evidence)
        if evidence:
            raise NoControl(evidence)

    def lacks(self, look: str, missing: str) -> None:
        """Record a check for which the store lacks something."""
        self.cells.append(Cell(look, "lacks", f"not supported: {missing}"))

    def note(self, look: str, text: str) -> None:
        """Record an observation that is not judged."""
        self.cells.append(Cell(look, "note", text))

    @property
    def failures(self) -> list[Cell]:
        """The checks that failed."""
        return [cell for cell in self.cells if cell.state == "fails"]

    def lines(self) -> Iterator[str]:
        """Yield each failure as a sentence."""
        for cell in self.failures:
            yield f"{cell.look}: {cell.evidence}"
