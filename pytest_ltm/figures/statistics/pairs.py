"""Two runs of one plan, row by row: what both have a score for, and what fell out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, fsum, log2
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by

# Scenario, example, span label, trial: what is the same in both runs. Never the agent.
Key: TypeAlias = "tuple[str, str, str, str]"


class ScoredRow(Struct, frozen=True, kw_only=True):
    """The least that a comparison needs of one example, such as a baseline keeps."""

    scenario: str
    example: str
    span_label: str
    trial: str
    score: float | None
    threshold: float = 1.0
    span: int | None = None
    """The memory span in tokens; None where examples are isolated."""


# What the statistics read of one example.
Row: TypeAlias = "ScenarioResult | ScoredRow"


class Pair(Struct, frozen=True):
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


class Paired(Struct, frozen=True, kw_only=True):
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


def pair_rows(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return what two runs have in common. The order of rows changes nothing; agents' labels are not looked at.

    A row without a score in either run is in no pair: what infrastructure took away
    moves no score. ValueError if a run has two rows of one key, as with several agents:
    choose one first.
    """
    earlier = _by_key(before)
    later = _by_key(after)
    both = sorted(earlier.keys() & later.keys())
    scores = [(key, earlier[key].score, later[key].score) for key in both]
    missing = Counter(
        (earlier_score is None, later_score is None)
        for _, earlier_score, later_score in scores
    )
    return Paired(
        pairs=tuple(
            Pair(*key, earlier_score, later_score)
            for key, earlier_score, later_score in scores
            if earlier_score is not None and later_score is not None
        ),
        unscored_before=missing[True, False],
        unscored_after=missing[False, True],
        unscored_both=missing[True, True],
        only_before=len(earlier) - len(both),
        only_after=len(later) - len(both),
    )


def pass_pairs(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return the same pairs with 1.0 for a pass and 0.0 for a fail, each by its own row's threshold."""

    def as_pass(row: Row) -> ScoredRow:
        return as_scored_row(
            row, score=None if row.score is None else float(reached_threshold(row))
        )

    return pair_rows(map(as_pass, before), map(as_pass, after))


# What the name of a metric ends in that says what would be without whatever another one
# is about.
CONTROL = "_control"


def against_control(rows: Iterable[ScenarioResult]) -> dict[str, list[Pair]]:
    """Return each metric that has a control in the same example, `forward` beside `forward_control`, as pairs."""
    pairs: dict[str, list[Pair]] = {}
    for row in rows:
        values = {metric.name: metric.value for metric in row.metrics}
        for name, value in values.items():
            if (control := values.get(name + CONTROL)) is not None:
                pair = Pair(
                    row.scenario, row.example, row.span_label, row.trial, control, value
                )
                pairs.setdefault(name, []).append(pair)
    return pairs


def reached_threshold(row: Row) -> bool:
    """Return whether the score reaches the row's own threshold; without a score it does not."""
    return row.score is not None and row.score >= row.threshold - (1 - FULL_MARKS)


def as_scored_row(row: Row, **changed: Any) -> ScoredRow:
    """Return as much of a row as pairs are made of, with some of it changed."""
    names = ("scenario", "example", "span_label", "trial", "score", "threshold")
    return ScoredRow(**{name: getattr(row, name) for name in names} | changed)


def _by_key(rows: Iterable[Row]) -> dict[Key, Row]:
    result: dict[Key, Row] = {}
    for row in rows:
        key = (row.scenario, row.example, row.span_label, row.trial)
        if key in result:
            raise ValueError(
                f"two rows of {key!r} in one run: compare one agent at a time"
            )
        result[key] = row
    return result


# --- What is independent of the rest, given the agent: the units that tests and
# intervals resample.

# Whole conversations; the examples of a scenario in one conversation; or single
# examples.
UnitKind: TypeAlias = Literal["conversation", "scenario", "example"]

_NOISE = 1e-9


class SignUnit(Struct, frozen=True):
    """What may have had the other sign as a whole."""

    gain: float
    """Its weighted differences, summed; all units together make the mean difference."""
    weight: float
    """Its share of the mean; all units together make 1."""


def unit_kind(pairs: Sequence[Pair], level: float) -> UnitKind:
    """Return the unit of a comparison: conversations where they are enough, else the scenarios in them.

    Two more than an interval of that level takes at all, so that its bounds are not the
    outermost values: eight at 95 %.
    """
    conversations = {(pair.span_label, pair.trial) for pair in pairs}
    if len(conversations) >= min_units((1 - level) / 2) + 2:
        return "conversation"
    return "scenario"


def min_units(alpha: float) -> int:
    """Return how many units a one-sided test needs at least: 2^-n <= alpha; two, to have any scatter."""
    if not 0 < alpha < 1:
        raise ValueError(f"a level lies between 0 and 1, not {alpha!r}")
    return max(2, ceil(log2(1 / alpha) - _NOISE))


def units_of(pairs: Sequence[Pair], kind: UnitKind) -> tuple[SignUnit, ...]:
    """Return the units with the weights that make their sum the mean over scenarios; sorted by their keys."""
    counts = Counter(pair.scenario for pair in pairs)
    weights = {name: 1 / (len(counts) * count) for name, count in counts.items()}
    units = []
    for group in unit_members(pairs, kind).values():
        gain = fsum(weights[pair.scenario] * pair.gain for pair in group)
        weight = fsum(weights[pair.scenario] for pair in group)
        units.append(SignUnit(gain, weight))
    return tuple(units)


def unit_members(
    pairs: Sequence[Pair], kind: UnitKind
) -> dict[tuple[str, ...], list[Pair]]:
    """Return the pairs of each unit, sorted by its key."""
    # sorted, because sums of floating point depend on their order, and a result must
    # not
    labels = ("span_label", "trial", "scenario", "example")[
        : {"conversation": 2, "scenario": 3, "example": 4}[kind]
    ]
    return dict(sorted(group_by(pairs, attrgetter(*labels)).items()))
