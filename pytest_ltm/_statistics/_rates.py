"""The share of examples that pass, with an interval that minds that examples of a conversation resemble each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._statistics._intervals import LEVEL, Interval, wilson
from pytest_ltm._statistics._pairs import Pair, passed
from pytest_ltm._statistics._quantiles import normal_quantile, t_quantile
from pytest_ltm._statistics._units import members, unit_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._statistics._pairs import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRate:
    """How many of the examples that have a score passed."""

    passed: int
    of: int
    interval: Interval
    """Of the share; 0 to 1 where nothing has a score."""
    effective: float
    """So many independent examples would tell as much."""

    @property
    def share(self) -> float | None:
        """Passed out of those with a score; None if there is none."""
        return self.passed / self.of if self.of else None


def pass_rate(rows: Iterable[Row], level: float = LEVEL) -> PassRate:
    """Return the share that passed with Wilson's interval for the effective number of examples.

    effective = n / (design effect of clusters) · (z / t)², at most n (Kish, 1965; Korn and Graubard, 1998, with
    Wilson's interval in place of theirs, as Dean and Pagano, 2015, advise). Clusters are those of `compare`, and
    whole conversations where there are two or more: what tells least counts. Of one conversation the interval is of
    such conversations as that one. Where all pass or all fail the design effect is unknown and taken for the size of
    the clusters.
    """
    scored = [_as_pair(row) for row in rows if row.score is not None]
    count = sum(pair.after > 0 for pair in scored)
    effective = _effective(scored, level) if scored else 0.0
    share = count / len(scored) if scored else 0.0
    interval = wilson(share * effective, effective, level)
    return PassRate(passed=count, of=len(scored), interval=interval, effective=effective)


def _as_pair(row: Row) -> Pair:
    return Pair(
        scenario=row.scenario, example=row.example, span_label=row.span_label, trial=row.trial,
        before=0.0, after=float(passed(row)),
    )  # fmt: skip


def _effective(pairs: Sequence[Pair], level: float) -> float:
    cells = list(members(pairs, unit_kind(pairs, level)).values())
    share = fsum(pair.after for pair in pairs) / len(pairs)
    if share in {0.0, 1.0}:
        return float(len(cells))
    conversations = list(members(pairs, "conversation").values())
    found = [_worth(clusters, share, level) for clusters in (cells, conversations) if len(clusters) > 1]
    return min(found, default=1.0)


def _worth(clusters: Sequence[Sequence[Pair]], share: float, level: float) -> float:
    """Return how many independent examples would scatter as much as the clusters, two at least."""
    count, groups = sum(map(len, clusters)), len(clusters)
    if groups == count:
        return float(count)
    squares = fsum(fsum(pair.after - share for pair in cluster) ** 2 for cluster in clusters)
    variance = squares * groups / (groups - 1) / count**2
    quantile = (1 + level) / 2
    narrowed = (normal_quantile(quantile) / t_quantile(quantile, groups - 1)) ** 2
    return min(float(count), share * (1 - share) / variance * narrowed) if variance else float(count)
