"""The share of examples that pass, with an interval for examples that are alike within a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from msgspec import Struct

from pytest_ltm.figures.statistics.counts import (
    LEVEL,
    Interval,
    normal_quantile,
    t_quantile,
    wilson_interval,
)
from pytest_ltm.figures.statistics.pairs import (
    Pair,
    Row,
    reached_threshold,
    unit_kind,
    unit_members,
)

# Number of assumed unseen conversations in which everything fails, or everything
# passes.
IMAGINED = 2


class PassRate(Struct, frozen=True, kw_only=True):
    """How many of the scored examples passed."""

    passed: int
    of: int
    interval: Interval | None
    """The share's interval over other conversations; None with fewer than two conversations: it needs trials."""
    effective: float
    """The number of independent examples with the same information."""

    @property
    def share(self) -> float | None:
        """The share of scored examples that passed; None if there are none."""
        return self.passed / self.of if self.of else None


def pass_rate(rows: Iterable[Row], level: float = LEVEL) -> PassRate:
    """Return the share that passed, with an interval if there are two or more conversations.

    The interval is Wilson's for the effective number of examples, n / (design effect of clusters) · (z / t)², at most n
    (Kish, 1965; Korn and Graubard, 1998, with Wilson's interval in place of theirs, as Dean and Pagano, 2015, advise).
    Clusters are those of `compare`, and whole conversations: the less informative count. If all pass or all fail, the
    design effect is unknown and assumed to be the size of the clusters. Occasional bad conversations are mostly unseen
    in a small sample: so the interval extends at least to the share with `IMAGINED` more conversations in which nothing
    passes, or everything.
    """
    scored: list[tuple[Row, float]] = []
    for row in rows:
        if row.score is not None:
            scored.append((row, float(reached_threshold(row))))
    count = sum(int(passed) for _, passed in scored)
    interval, effective = _clustered_interval(
        scored, count / max(len(scored), 1), level
    )
    return PassRate(
        passed=count, of=len(scored), interval=interval, effective=effective
    )


def score_interval(rows: Iterable[Row], value: float) -> Interval | None:
    """Return the same interval for a mean score, `value`; None with fewer than two conversations.

    Partial credit scatters less than passes and fails, so the interval tends to be too wide.
    """
    scored = [(row, row.score) for row in rows if row.score is not None]
    interval, _ = _clustered_interval(scored, value, LEVEL)
    return interval


def _clustered_interval(
    values: Sequence[tuple[Row, float]], share: float, level: float
) -> tuple[Interval | None, float]:
    """Return the interval, and the number of independent examples with the same information."""
    if not values:
        return None, 0.0
    pairs: list[Pair] = []
    for row, value in values:
        pair = Pair(row.scenario, row.example, row.span_label, row.trial, 0.0, value)
        pairs.append(pair)
    cells = list(unit_members(pairs, unit_kind(pairs, level)).values())
    conversations = list(unit_members(pairs, "conversation").values())
    mean = fsum(pair.after for pair in pairs) / len(pairs)
    count = len(conversations)
    effective = float(len(cells))
    if mean not in {0.0, 1.0}:
        many = [clusters for clusters in (cells, conversations) if len(clusters) > 1]
        effective = min(
            (_independent_examples(clusters, mean, level) for clusters in many),
            default=1.0,
        )
    if count < 2:
        return None, effective
    interval = wilson_interval(share * effective, effective, level)
    # as if further conversations had failed, or passed, as a whole
    low = count * share / (count + IMAGINED)
    high = (count * share + IMAGINED) / (count + IMAGINED)
    return Interval(min(interval.low, low), max(interval.high, high)), effective


def _independent_examples(
    clusters: Sequence[Sequence[Pair]], share: float, level: float
) -> float:
    """Return how many independent examples, at least two, would scatter as much as the clusters."""
    count = sum(map(len, clusters))
    groups = len(clusters)
    if groups == count:
        return float(count)
    distances = []
    for cluster in clusters:
        distances.append(fsum(pair.after - share for pair in cluster))
    squares = fsum(distance**2 for distance in distances)
    variance = squares * groups / (groups - 1) / count**2
    quantile = (1 + level) / 2
    narrowed = (normal_quantile(quantile) / t_quantile(quantile, groups - 1)) ** 2
    if variance:
        return min(float(count), share * (1 - share) / variance * narrowed)
    return float(count)
