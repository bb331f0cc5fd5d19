"""Data sets as suites: every question is an example, asked in a conversation whose history the data set gives."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._history import PastExchange
    from pytest_ltm._scenario import Definition
    from pytest_ltm._suite import Suite

SPAN = "all"
"""The label of the only memory span that a data set has."""
SPAN_TOKENS = 10**12
"""That span in tokens: longer than any history."""

_HOMES: Mapping[str, str] = {
    "locomo": "pytest_ltm.datasets.locomo._suite",
    "longmemeval": "pytest_ltm.datasets.longmemeval._suite",
}
NAMES = tuple(_HOMES)
"""The suites that are data sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldConversation:
    """What is told in one conversation of a data set."""

    history: Sequence[PastExchange]
    """By date; told as far as the questions wait for it."""
    opening: str
    """The message that begins the conversation; "": none."""
    described: object
    """JSON values for the plan's fingerprint: which part of which file, told in which form."""


class DatasetSuite(Protocol):
    """A data set that a run plays."""

    suite: Suite
    """Its entries are kinds of questions, so that results are told apart by kind."""
    title: str
    """What the report's header says of it, one line."""
    notes: Sequence[str]
    """What is odd about the file, a sentence each."""

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return thread and example of every question of an entry: labels of letters, digits, `_` and `.`."""
        ...

    def told(self, thread: str) -> ToldConversation:
        """Return what is told in the conversation of a thread; made when it begins, kept by nobody."""
        ...

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the options, without the data set's name in front, that leave the conversation of a thread alone."""
        ...

    def definition(self, entry: str, thread: str, example: str) -> Definition:
        """Return one question: what it waits for, what is asked, what is expected."""
        ...


def open_dataset(
    name: str, path: Path | None, options: Mapping[str, str], *, seed: int, cache: Path | None = None
) -> DatasetSuite:
    """Return the suite of a data set; DatasetError for a file that cannot be used, ConfigurationError for an option.

    `options`: those of this data set by name, without its name in front: `conversations`, `asking`, ...
    `cache`: a folder in which it may remember between runs what a file holds.
    """
    suite: DatasetSuite = import_module(_HOMES[name]).open_suite(path, options, seed=seed, cache=cache)
    return suite
