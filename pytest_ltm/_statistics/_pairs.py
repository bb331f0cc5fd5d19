"""Two runs of one plan, row by row: what both have a score for, and what fell out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pytest_ltm._statistics._totals import FULL_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable

Key: TypeAlias = "tuple[str, str, str, str]"
"""Scenario, example, span label, trial: what is the same in both runs. Never the agent."""


class Row(Protocol):
    """What the statistics read of one example: a ScenarioResult has it, and so has a `ScoredRow`."""

    @property
    def scenario(self) -> str:
        """Its name."""

    @property
    def example(self) -> str:
        """Its number, or the stem of its definition file."""

    @property
    def span_label(self) -> str:
        """As in the node id."""

    @property
    def trial(self) -> str:
        """The third label of the node id."""

    @property
    def span(self) -> int | None:
        """The memory span in tokens; None where examples are isolated."""

    @property
    def score(self) -> float | None:
        """0 to 1; None where there is none."""

    @property
    def pass_mark(self) -> float:
        """The lowest score that passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow:
    """The least that a comparison needs of one example, such as a baseline keeps."""

    scenario: str
    example: str
    span_label: str
    trial: str
    score: float | None
    pass_mark: float = 1.0
    span: int | None = None
    """The memory span in tokens; None where examples are isolated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One example that both runs have a score for."""

    scenario: str
    example: str
    span_label: str
    trial: str
    before: float
    """The score in the earlier run, 0 to 1."""
    after: float
    """The score in the later run, 0 to 1."""

    @property
    def gain(self) -> float:
        """What the later run has over the earlier one; below 0 it lost."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The pairs of two runs, sorted by their key, and how many rows fell out and why."""

    pairs: tuple[Pair, ...]
    unscored_before: int = 0
    """Rows of both runs without a score in the earlier one only."""
    unscored_after: int = 0
    """Rows of both runs without a score in the later one only."""
    unscored_both: int = 0
    only_before: int = 0
    """Rows that the later run does not have."""
    only_after: int = 0
    """Rows that the earlier run does not have."""

    @property
    def dropped(self) -> int:
        """Rows that are in no pair."""
        return self.unscored_before + self.unscored_after + self.unscored_both + self.only_before + self.only_after


def paired(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return what two runs have in common. The order of rows changes nothing; agents' labels are not looked at.

    A row without a score in either run is in no pair: what infrastructure took away moves no score.
    ValueError if a run has two rows of one key, as with several agents: choose one first.
    """
    earlier, later = _by_key(before), _by_key(after)
    both = sorted(earlier.keys() & later.keys())
    scores = [(key, earlier[key].score, later[key].score) for key in both]
    return Paired(
        pairs=tuple(_pair(key, one, other) for key, one, other in scores if one is not None and other is not None),
        unscored_before=sum(one is None and other is not None for _, one, other in scores),
        unscored_after=sum(one is not None and other is None for _, one, other in scores),
        unscored_both=sum(one is None and other is None for _, one, other in scores),
        only_before=len(earlier) - len(both),
        only_after=len(later) - len(both),
    )


def passes(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return the same pairs with 1.0 for a pass and 0.0 for a fail, each by its own row's pass mark."""
    return paired(map(_passed, before), map(_passed, after))


def passed(row: Row) -> bool:
    """Return whether the score reaches the row's own pass mark; without a score it does not."""
    return row.score is not None and row.score >= row.pass_mark - (1 - FULL_MARKS)


def _passed(row: Row) -> ScoredRow:
    score = None if row.score is None else float(passed(row))
    return ScoredRow(
        scenario=row.scenario, example=row.example, span_label=row.span_label, trial=row.trial, score=score
    )


def _pair(key: Key, before: float, after: float) -> Pair:
    scenario, example, span_label, trial = key
    return Pair(scenario=scenario, example=example, span_label=span_label, trial=trial, before=before, after=after)


def _by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for row in rows:
        key = (row.scenario, row.example, row.span_label, row.trial)
        if key in found:
            raise ValueError(f"two rows of {key!r} in one run: compare one agent at a time")
        found[key] = row
    return found
