"""The share of examples that pass, with an interval that minds that examples of a conversation are alike."""

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

# Conversations that all fail, or all pass, and may have been missed.
IMAGINED = 2


class PassRate(Struct, frozen=True, kw_only=True):
    """How many of the examples that have a score passed."""

    passed: int
    of: int
    interval: Interval | None
    """Of the share, in other conversations as well; None where there is one conversation at most: it needs trials."""
    effective: float
    """The number of independent examples with the same information."""

    @property
    def share(self) -> float | None:
        """Passed out of those with a score; None if there is none."""
        return self.passed / self.of if self.of else None


def pass_rate(rows: Iterable[Row], level: float = LEVEL) -> PassRate:
    """Return the share that passed, with an interval where there are two conversations or more.

    That is Wilson's for the effective number of examples, n / (design effect of
    clusters) · (z / t)², at most n (Kish, 1965; Korn and Graubard, 1998, with Wilson's
    interval in place of theirs, as Dean and Pagano, 2015, advise). Clusters are those
    of `compare`, and whole conversations: what tells least counts. Where all pass or
    all fail the design effect is unknown and taken for the size of the clusters.
    Conversations that go wrong now and then are mostly not seen in a few: so the
    interval goes at least as far as `IMAGINED` more would bring the share, in which
    nothing passes, or everything.
    """
    scored = [
        (row, float(reached_threshold(row))) for row in rows if row.score is not None
    ]
    count = sum(int(passed) for _, passed in scored)
    interval, effective = _clustered_interval(
        scored, count / max(len(scored), 1), level
    )
    return PassRate(
        passed=count, of=len(scored), interval=interval, effective=effective
    )


def score_interval(rows: Iterable[Row], value: float) -> Interval | None:
    """Return the same interval of a mean score, `value`; None where there is one conversation at most.

    Partial credit scatters less than passes and fails, so it rather is too wide.
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
    pairs = [
        Pair(row.scenario, row.example, row.span_label, row.trial, 0.0, value)
        for row, value in values
    ]
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
    # as if some conversations more had failed, or passed, as a whole
    low = count * share / (count + IMAGINED)
    high = (count * share + IMAGINED) / (count + IMAGINED)
    return Interval(min(interval.low, low), max(interval.high, high)), effective


def _independent_examples(
    clusters: Sequence[Sequence[Pair]], share: float, level: float
) -> float:
    """Return how many independent examples would scatter as much as the clusters, two at least."""
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
