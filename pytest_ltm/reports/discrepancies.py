"""What does not hold in a run folder, and how a check of it is run that may meet any file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from msgspec import Struct

from pytest_ltm.api.journal import JOURNAL, find_damages
from pytest_ltm.api.storage import LtmError, describe_error, read_regular

# More differences of one file help nobody.
MOST_DIFFERENCES = 20
MALFORMED = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(OSError, RecursionError, OverflowError, MemoryError, csv.Error),
)
"""What reading a file raises that has another form than it should."""


class Discrepancy(Struct, frozen=True):
    """One thing that does not hold."""

    place: str
    """The file below the run's folder."""
    what: str
    line: int = 0
    """The damaged line of a journal, from 1; 0: not a single line."""
    unfinished: bool = False
    """The run was not finished, or its results were removed."""

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.place}{line}: {self.what}"


def run_check(
    place: str, check: Callable[[], Iterable[Discrepancy]]
) -> list[Discrepancy]:
    """Return what a check finds; a file that has another form than it should is found, too."""
    discrepancies: list[Discrepancy] = []
    try:
        discrepancies.extend(check())
    except LtmError as error:
        discrepancies.append(Discrepancy(place, str(error)))
    except MALFORMED as error:
        problem = f"it does not have the form that it should: {describe_error(error)}"
        discrepancies.append(Discrepancy(place, problem))
    return discrepancies


def find_damaged_lines(path: Path) -> list[Discrepancy]:
    """Return the lines of a journal that are not as they were written; none where there is no journal."""
    if not path.is_file():
        return []
    place = f"{path.parent.name}/{JOURNAL}" if path.name == JOURNAL else path.name
    damages = islice(find_damages(read_regular(path)), MOST_DIFFERENCES)
    return [Discrepancy(place, damage.what, damage.line) for damage in damages]
