"""How well two judges agree beyond what chance would make them."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, isfinite, sqrt
from typing import TYPE_CHECKING

from pytest_ltm._statistics._intervals import LEVEL, Interval, wilson
from pytest_ltm._statistics._quantiles import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Cohen's kappa of a table of counts."""

    value: float | None
    """1: they always agree; 0: as often as chance would make them; None: see `reason`."""
    interval: Interval | None
    agreement: float | None
    """The share of cases in which they agree."""
    by_chance: float | None
    """The share in which judges with these habits agree without looking."""
    cases: int
    reason: str = ""
    """Why there is no kappa; "" where there is one."""


def kappa(table: Sequence[Sequence[int]], level: float = LEVEL) -> Kappa:
    """Return (agreement - by chance) / (1 - by chance) of a square table: rows one judge, columns the other.

    by chance = sum over verdicts of the product of both judges' shares (Cohen, 1960). The interval is the hull of the
    large-sample one (Fleiss, Cohen and Everitt, 1969) and Wilson's for the agreement, carried over with chance as
    found: the former alone is too short for few cases and a point where the judges always agree, the latter alone
    minds no error of the chance part. ValueError if the table is not square or holds what is no count.
    """
    size = len(table)
    if any(len(row) != size for row in table) or not all(isfinite(n) and n >= 0 for row in table for n in row):
        raise ValueError(f"kappa wants a square table of counts, not {[list(row) for row in table]!r}")
    cases = sum(map(sum, table))
    if not cases:
        return Kappa(
            value=None, interval=None, agreement=None, by_chance=None, cases=0, reason="no case was judged twice"
        )
    ours = [sum(row) / cases for row in table]
    theirs = [sum(column) / cases for column in zip(*table, strict=True)]
    agreed = sum(table[i][i] for i in range(size))
    agreement, chance = agreed / cases, fsum(one * other for one, other in zip(ours, theirs, strict=True))
    if max(ours) == 1 == max(theirs) and chance == 1:
        reason = "both judges gave one and the same verdict throughout: chance alone would make them agree"
        return Kappa(value=None, interval=None, agreement=agreement, by_chance=chance, cases=cases, reason=reason)
    value = (agreement - chance) / (1 - chance)
    half = normal_quantile((1 + level) / 2) * _error(table, cases, ours, theirs)
    carried = [
        (bound - chance) / (1 - chance)
        for bound in (wilson(agreed, cases, level).low, wilson(agreed, cases, level).high)
    ]
    interval = Interval(max(-1.0, min(value - half, carried[0])), min(1.0, max(value + half, carried[1])))
    return Kappa(value=value, interval=interval, agreement=agreement, by_chance=chance, cases=cases)


def _error(table: Sequence[Sequence[int]], cases: int, ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the large-sample standard error (Fleiss, Cohen and Everitt, 1969, equation 13)."""
    size = range(len(table))
    share = [[table[i][j] / cases for j in size] for i in size]
    agreement = fsum(share[i][i] for i in size)
    chance = fsum(ours[i] * theirs[i] for i in size)
    same = fsum(share[i][i] * ((1 - chance) - (theirs[i] + ours[i]) * (1 - agreement)) ** 2 for i in size)
    apart = fsum(share[i][j] * (theirs[i] + ours[j]) ** 2 for i in size for j in size if i != j)
    variance = same + (1 - agreement) ** 2 * apart - (agreement * chance - 2 * chance + agreement) ** 2
    return sqrt(max(0.0, variance) / cases) / (1 - chance) ** 2
