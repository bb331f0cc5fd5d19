"""Pairs the rows of two runs of one plan, and counts the rows that have no partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, fsum, log2
from operator import attrgetter, mul
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by

# Scenario, example, span label, trial: what is equal in both runs. Never the agent.
Key: TypeAlias = "tuple[str, str, str, str]"


# These hold no references to others of their kind, so the garbage collector can ignore
# the many that a comparison creates.
class ScoredRow(Struct, frozen=True, kw_only=True, gc=False):
    """The minimal data on an example that a comparison needs, as kept by a baseline."""

    scenario: str
    example: str
    span_label: str
    trial: str
    score: float | None
    threshold: float = 1.0
    span: int | None = None
    """The memory span in tokens; None for isolated examples."""


# The row types that the statistics read.
Row: TypeAlias = "ScenarioResult | ScoredRow"


class Pair(Struct, frozen=True, gc=False):
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
        """Later minus earlier score; negative for a loss."""
        return self.after - self.before


class Paired(Struct, frozen=True, kw_only=True):
    """The pairs of two runs, sorted by key, with the number of dropped rows by reason."""

    pairs: tuple[Pair, ...]
    unscored_before: int = 0
    """Rows in both runs that lack a score only in the earlier one."""
    unscored_after: int = 0
    """Rows in both runs that lack a score only in the later one."""
    unscored_both: int = 0
    only_before: int = 0
    """Rows missing in the later run."""
    only_after: int = 0
    """Rows missing in the earlier run."""


def pair_rows(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return the pairs of two runs, whatever the order of rows and the labels of agents.

    A row without a score in either run is in no pair: losses to infrastructure move no score. ValueError if a run has
    two rows of one key, as with several agents: choose one first.
    """
    earlier = _by_key(before)
    later = _by_key(after)
    both = sorted(earlier.keys() & later.keys())
    pairs: list[Pair] = []
    missing = Counter[tuple[bool, bool]]()
    for key in both:
        earlier_score = earlier[key].score
        later_score = later[key].score
        if earlier_score is not None and later_score is not None:
            pairs.append(Pair(*key, earlier_score, later_score))
        else:
            missing[earlier_score is None, later_score is None] += 1
    return Paired(
        pairs=tuple(pairs),
        unscored_before=missing[True, False],
        unscored_after=missing[False, True],
        unscored_both=missing[True, True],
        only_before=len(earlier) - len(both),
        only_after=len(later) - len(both),
    )


def pass_pairs(before: Iterable[Row], after: Iterable[Row]) -> Paired:
    """Return the same pairs with 1.0 for a pass and 0.0 for a fail, by each row's own threshold."""

    def as_pass(row: Row) -> ScoredRow:
        return as_scored_row(
            row, score=None if row.score is None else float(reached_threshold(row))
        )

    return pair_rows(map(as_pass, before), map(as_pass, after))


# Suffix of a metric that measures the same without the thing under study.
CONTROL = "_control"


def against_control(rows: Iterable[ScenarioResult]) -> dict[str, list[Pair]]:
    """Return the pairs of each metric and its control in the same example, `forward` and `forward_control`."""
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
    """Return whether a score reaches the row's own threshold; False without a score."""
    return row.score is not None and row.score >= row.threshold - (1 - FULL_MARKS)


def as_scored_row(row: Row, **changed: Any) -> ScoredRow:
    """Return the part of a row that pairs are made of, optionally with changes."""
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


# --- Independent units, given the agent: what tests and intervals resample.

# Whole conversations, all examples of a scenario in one conversation, or single
# examples.
UnitKind: TypeAlias = Literal["conversation", "scenario", "example"]

_NOISE = 1e-9


class SignUnit(Struct, frozen=True, gc=False):
    """A unit whose sign may flip as a whole."""

    gain: float
    """The sum of its weighted differences; over all units, the mean difference."""
    weight: float
    """Its share of the mean; over all units, 1."""


def unit_kind(pairs: Sequence[Pair], level: float) -> UnitKind:
    """Return the unit of a comparison: conversations if there are enough, else the scenarios in them.

    Enough means two more than an interval of that level requires, so that its bounds are not the outermost values:
    eight at 95 %.
    """
    conversations = {(pair.span_label, pair.trial) for pair in pairs}
    if len(conversations) >= min_units((1 - level) / 2) + 2:
        return "conversation"
    return "scenario"


def min_units(alpha: float) -> int:
    """Return the minimum number of units for a one-sided test: 2^-n <= alpha, and two for any scatter."""
    if not 0 < alpha < 1:
        raise ValueError(f"a level lies between 0 and 1, not {alpha!r}")
    return max(2, ceil(log2(1 / alpha) - _NOISE))


def units_of(pairs: Sequence[Pair], kind: UnitKind) -> tuple[SignUnit, ...]:
    """Return the units, sorted by key, with weights that make their sum the mean over scenarios."""
    weights = scenario_weights(pairs)
    units = []
    for group in unit_members(pairs, kind).values():
        group_weights = [weights[pair.scenario] for pair in group]
        gains = map(attrgetter("gain"), group)
        gain = fsum(map(mul, group_weights, gains))
        units.append(SignUnit(gain, fsum(group_weights)))
    return tuple(units)


def scenario_weights(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the weight of a pair of each scenario, so that every scenario counts the same."""
    counts = Counter(pair.scenario for pair in pairs)
    return {name: 1 / (len(counts) * count) for name, count in counts.items()}


def unit_members(
    pairs: Sequence[Pair], kind: UnitKind
) -> dict[tuple[str, ...], list[Pair]]:
    """Return the pairs of each unit, sorted by its key."""
    # sorted, because floating-point sums depend on the order, and results must not
    labels = ("span_label", "trial", "scenario", "example")[
        : {"conversation": 2, "scenario": 3, "example": 4}[kind]
    ]
    return dict(sorted(group_by(pairs, attrgetter(*labels)).items()))
