"""Discrepancies in a run folder, and a guard for checks that may meet malformed files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from msgspec import Struct

from pytest_ltm.api.journal import JOURNAL, find_damages
from pytest_ltm.api.storage import LtmError, describe_error, read_regular

# Listing more differences of one file helps no reader.
MOST_DIFFERENCES = 20
MALFORMED = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(OSError, RecursionError, OverflowError, MemoryError, csv.Error),
)
"""Exceptions raised while reading a malformed file."""


class Discrepancy(Struct, frozen=True):
    """One discrepancy in a run folder."""

    place: str
    """The file, relative to the run's folder."""
    what: str
    line: int = 0
    """The damaged line of a journal, from 1; 0 if the problem is not a single line."""
    unfinished: bool = False
    """The run is unfinished, or its results were removed."""

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.place}{line}: {self.what}"


def run_check(
    place: str, check: Callable[[], Iterable[Discrepancy]]
) -> list[Discrepancy]:
    """Return the discrepancies that a check finds; a malformed file is reported as one."""
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
    """Return the damaged lines of a journal; none if there is no journal."""
    if not path.is_file():
        return []
    place = f"{path.parent.name}/{JOURNAL}" if path.name == JOURNAL else path.name
    damages = islice(find_damages(read_regular(path)), MOST_DIFFERENCES)
    return [Discrepancy(place, damage.what, damage.line) for damage in damages]
