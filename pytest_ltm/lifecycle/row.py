"""Row: what one test saw, cell by cell; the matrix has a row for each test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

State = Literal["ok", "fails", "lacks", "note"]
SIGNS: dict[State, str] = {"ok": "ok", "fails": "FAILS", "lacks": "-", "note": "note"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One look: its outcome, and what showed it."""

    look: str
    state: State
    evidence: str = ""


class NoControl(Exception):
    """What had to be there was not, so its absence later would show nothing."""


@dataclass
class Row:
    """The cells of a test, in order."""

    cells: list[Cell] = field(default_factory=list)

    def expect(self, look: str, evidence: str) -> None:
        """Note a look: `evidence` is what is wrong, "" if nothing is."""
        self.cells.append(Cell(look, "fails" if evidence else "ok", evidence))

    def control(self, look: str, evidence: str) -> None:
        """Note a look without which the others show nothing; NoControl ends the test where it fails."""
        self.expect(look, evidence)
        if evidence:
            raise NoControl(evidence)

    def lacks(self, look: str, missing: str) -> None:
        """Note a look that the store lacks something for."""
        self.cells.append(Cell(look, "lacks", f"not supported: {missing}"))

    def note(self, look: str, text: str) -> None:
        """Note what is told and not judged."""
        self.cells.append(Cell(look, "note", text))

    @property
    def failures(self) -> list[Cell]:
        """The looks that found something wrong."""
        return [cell for cell in self.cells if cell.state == "fails"]

    def lines(self) -> Iterator[str]:
        """Yield each failure as a sentence."""
        for cell in self.failures:
            yield f"{cell.look}: {cell.evidence}"
