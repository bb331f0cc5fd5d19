"""Intervals and exact tests for counts, and several tests at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, isfinite, sqrt
from typing import TYPE_CHECKING

from pytest_ltm._statistics._quantiles import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
"""Of intervals, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a value lies, at some confidence level."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"an interval goes from low to high, not from {self.low!r} to {self.high!r}")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(passed: float, of: float, level: float = LEVEL) -> Interval:
    """Return the score interval of a share, 0 to 1; all of it, 0 to 1, where nothing was counted.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z the quantile of the normal distribution at
    (1 + level) / 2 (Wilson, 1927). Trials are taken for independent; counts need not be whole numbers, so that
    an effective sample size may stand for those that are not. ValueError for counts that cannot be.
    """
    _check_level(level)
    if not (isfinite(of) and 0 <= passed <= of):
        raise ValueError(f"{passed!r} of {of!r} cannot have passed")
    if not of:
        return Interval(0.0, 1.0)
    z = normal_quantile((1 + level) / 2)
    share, extra = passed / of, z * z / of
    centre = (share + extra / 2) / (1 + extra)
    half = z * sqrt(share * (1 - share) / of + extra / (4 * of)) / (1 + extra)
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if passed == of else min(1.0, centre + half))


def mcnemar(only_before: int, only_after: int, *, sided: int = 2, mid: bool = False) -> float:
    """Return the exact probability that equally good agents differ so much in pairs of pass and fail.

    `only_before` pairs passed before and not after, `only_after` the other way round; pairs that agree say
    nothing. Of n = both, Binomial(n, 1/2) lose (McNemar, 1947; exact: Cochran, 1950). `sided=1`: at least so
    many losses; 2: twice the smaller tail, at most 1. `mid` counts half of the case found (Fagerland, Lydersen
    and Laake, 2013): closer to the nominal level on average, but it may exceed it, so no gate of ours uses it.
    1.0 where all pairs agree. Pairs are taken for independent: see `compare` for those that are not.
    """
    if min(only_before, only_after) < 0 or sided not in {1, 2}:
        raise ValueError(f"no exact test of {only_before!r} and {only_after!r} pairs with {sided!r} sides")
    n = only_before + only_after
    if not n:
        return 1.0
    found = only_before if sided == 1 else max(only_before, only_after)
    tail = sum(comb(n, losses) for losses in range(found, n + 1))
    doubled = (2 * tail - comb(n, found) if mid else 2 * tail) * sided
    return min(1.0, doubled / (1 << (n + 1)))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return each probability corrected for being one of many, in the order given.

    Those at or below alpha are told apart with at most alpha chance of any false alarm, however the tests depend
    on each other: the i-th smallest of m times m - i + 1, made monotonous, at most 1 (Holm, 1979).
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"probabilities lie between 0 and 1: {list(p_values)!r}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Return the chance that at least one of k trials passes, from c passes in n trials; None if k > n.

    1 - C(n-c, k) / C(n, k), unbiased (Chen et al., 2021, equation 1).
    """
    _check_trials(n, c, k)
    return None if k > n else (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Return the chance that all of k trials pass, from c passes in n trials; None if k > n.

    C(c, k) / C(n, k), unbiased (Yao et al., 2024, section 3, pass^k).
    """
    _check_trials(n, c, k)
    return None if k > n else comb(c, k) / comb(n, k)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level!r}")


def _check_trials(n: int, c: int, k: int) -> None:
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"no k = {k!r} of n = {n!r} trials with c = {c!r} passes")
