"""Counts: intervals and exact tests, several tests at once, and the agreement of two judges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, product
from math import atan, comb, cos, fsum, isfinite, pi, sin, sqrt
from operator import mul
from statistics import NormalDist

from msgspec import Struct


def t_below(value: float, degrees: int) -> float:
    """Return the probability that Student's t with these degrees of freedom lies below a value.

    Exact finite sums for integer degrees (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4).
    """
    angle = atan(value / sqrt(degrees))
    square = cos(angle) ** 2
    odd = degrees % 2
    term = total = cos(angle) if odd else 1.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= square * (power - 1) / power
        total += term
    sine = sin(angle) * total if degrees > 1 else 0.0
    inner = 2 / pi * (angle + sine) if odd else sine
    return (1 + inner) / 2


normal_quantile = NormalDist().inv_cdf


# A report asks for the same quantiles thousands of times, and a search for enough
# trials for hundreds of others.
@lru_cache(maxsize=4_096)
def t_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t at `share` (0 to 1, exclusive), by bisection."""
    if share < 1 / 2:
        return -t_quantile(1 - share, degrees)
    low = 0.0
    high = 1.0
    while t_below(high, degrees) < share:
        low = high
        high = 2 * high
    for _ in range(60):  # more halvings are lost in floating point
        middle = (low + high) / 2
        low, high = (
            (middle, high) if t_below(middle, degrees) < share else (low, middle)
        )
    return high


# The default confidence level.
LEVEL = 0.95


class Interval(Struct, frozen=True):
    """An interval at some confidence level."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:  # written so that nan is refused, too
            raise ValueError(
                f"an interval goes from low to high, not from {self.low!r} to {self.high!r}"
            )

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson_interval(passed: float, of: float, level: float = LEVEL) -> Interval:
    """Return the score interval of a share, 0 to 1; the whole range if nothing was counted.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), z the quantile of the normal
    distribution at (1 + level) / 2 (Wilson, 1927). Trials are assumed to be independent;
    counts need not be whole numbers, so that an effective sample size may stand for
    those that are not. ValueError for counts that cannot be.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level!r}")
    if not (isfinite(of) and 0 <= passed <= of):
        raise ValueError(f"{passed!r} of {of!r} cannot have passed")
    if not of:
        return Interval(0.0, 1.0)
    z = normal_quantile((1 + level) / 2)
    share = passed / of
    extra = z * z / of
    centre = (share + extra / 2) / (1 + extra)
    half = z * sqrt(share * (1 - share) / of + extra / (4 * of)) / (1 + extra)
    # exact ends, where rounding would leave a hair's breadth to the bound
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if passed == of else min(1.0, centre + half))


def mcnemar_probability(
    only_before: int, only_after: int, *, sided: int = 2, mid: bool = False
) -> float:
    """Return the exact probability that equally good agents differ at least this much in pass/fail pairs.

    `only_before` pairs passed before and not after, `only_after` the other way round; pairs that agree carry no
    information. Of n = both, Binomial(n, 1/2) lose (McNemar, 1947; exact: Cochran, 1950). `sided=1`: at least this many
    losses; 2: twice the smaller tail, at most 1. `mid` counts half of the observed case (Fagerland, Lydersen and Laake,
    2013): closer to the nominal level on average, but it may exceed it, so none of our gates uses it. 1.0 if all pairs
    agree. Pairs are assumed to be independent: see `compare` for those that are not.
    """
    if min(only_before, only_after) < 0 or sided not in {1, 2}:
        raise ValueError(
            f"no exact test of {only_before!r} and {only_after!r} pairs with {sided!r} sides"
        )
    n = only_before + only_after
    if not n:
        return 1.0
    result = only_before if sided == 1 else max(only_before, only_after)
    # divide integers once: floating point would lose the tail of large n
    tail = sum(comb(n, losses) for losses in range(result, n + 1))
    doubled = (2 * tail - comb(n, result) if mid else 2 * tail) * sided
    return min(1.0, doubled / (1 << (n + 1)))


def holm_correction(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return each p-value corrected for multiple testing, in the given order.

    Values at or below alpha are significant with a probability of at most alpha for any false alarm, however the tests
    depend on each other: the i-th smallest of m times m - i + 1, made monotonous, at most 1 (Holm, 1979).
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"probabilities lie between 0 and 1: {list(p_values)!r}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(
        sorted(range(len(p_values)), key=lambda place: p_values[place])
    ):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Return the probability that at least one of k trials passes, from c passes in n; None if k > n.

    1 - C(n-c, k) / C(n, k), unbiased (Chen et al., 2021, equation 1).
    """
    _check_trials(n, c, k)
    if k > n:
        return None
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Return the probability that all of k trials pass, from c passes in n; None if k > n.

    C(c, k) / C(n, k), unbiased (Yao et al., 2024, section 3, pass^k).
    """
    _check_trials(n, c, k)
    return None if k > n else comb(c, k) / comb(n, k)


def _check_trials(n: int, c: int, k: int) -> None:
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"no k = {k!r} of n = {n!r} trials with c = {c!r} passes")


# --- Agreement of two judges beyond chance.


class Kappa(Struct, frozen=True, kw_only=True):
    """Cohen's kappa of a table of counts."""

    value: float | None = None
    """1: they always agree; 0: as often as by chance; None: see `reason`."""
    interval: Interval | None = None
    agreement: float | None = None
    """The share of cases in which they agree."""
    by_chance: float | None = None
    """The share in which judges with these habits agree by chance."""
    cases: int
    reason: str = ""
    """Why there is no kappa; "" if there is one."""


def cohen_kappa(table: Sequence[Sequence[int]]) -> Kappa:
    """Return Cohen's kappa of a square table whose rows are one judge's and whose columns the other's.

    kappa = (agreement - by chance) / (1 - by chance), by chance = sum over verdicts of the product of both judges'
    shares (Cohen, 1960). The interval is the hull of the large-sample one (Fleiss, Cohen and Everitt, 1969) and
    Wilson's for the agreement, transformed with the observed chance agreement: the former alone is too short for few
    cases and a point if the judges always agree, the latter alone ignores errors of the chance part. ValueError if the
    table is not square or contains anything but counts.
    """
    size = len(table)
    counts = list(chain.from_iterable(table))
    is_square = all(len(row) == size for row in table)
    if not is_square or not all(isfinite(n) and n >= 0 for n in counts):
        raise ValueError(
            f"kappa wants a square table of counts, not {[list(row) for row in table]!r}"
        )
    cases = sum(map(sum, table))
    if not cases:
        return Kappa(cases=0, reason="no case was judged twice")
    ours = [sum(row) / cases for row in table]
    theirs = [sum(column) / cases for column in zip(*table, strict=True)]
    agreed = sum(table[i][i] for i in range(size))
    agreement = agreed / cases
    chance = fsum(map(mul, ours, theirs))
    if max(ours) == 1 == max(theirs) and chance == 1:
        reason = "both judges gave one and the same verdict throughout: chance alone would make them agree"
        return Kappa(agreement=agreement, by_chance=chance, cases=cases, reason=reason)
    value = (agreement - chance) / (1 - chance)
    half = normal_quantile((1 + LEVEL) / 2) * _kappa_error(table, cases, ours, theirs)
    share = wilson_interval(agreed, cases)
    low = min(value - half, (share.low - chance) / (1 - chance))
    high = max(value + half, (share.high - chance) / (1 - chance))
    interval = Interval(max(-1.0, low), min(1.0, high))
    return Kappa(
        value=value,
        interval=interval,
        agreement=agreement,
        by_chance=chance,
        cases=cases,
    )


def _kappa_error(
    table: Sequence[Sequence[int]],
    cases: int,
    ours: Sequence[float],
    theirs: Sequence[float],
) -> float:
    """Return the large-sample standard error (Fleiss, Cohen and Everitt, 1969, equation 13)."""
    size = range(len(table))
    agreement = fsum(table[i][i] / cases for i in size)
    chance = fsum(ours[i] * theirs[i] for i in size)
    on_diagonal: list[float] = []
    off_diagonal: list[float] = []
    for i, j in product(size, repeat=2):
        cell = table[i][j] / cases
        marginals = theirs[i] + ours[j]
        if i == j:
            error = (1 - chance) - marginals * (1 - agreement)
            on_diagonal.append(cell * error**2)
        else:
            off_diagonal.append(cell * marginals**2)
    same = fsum(on_diagonal)
    apart = fsum(off_diagonal)
    variance = (
        same
        + (1 - agreement) ** 2 * apart
        - (agreement * chance - 2 * chance + agreement) ** 2
    )
    return sqrt(max(0.0, variance) / cases) / (1 - chance) ** 2


# --- Two unpaired samples of different texts.


class IntervalEstimate(Struct, frozen=True):
    """A value with its interval."""

    value: float
    interval: Interval

    def __neg__(self) -> IntervalEstimate:
        return IntervalEstimate(
            -self.value, Interval(-self.interval.high, -self.interval.low)
        )

    def __sub__(self, other: IntervalEstimate) -> IntervalEstimate:
        return sum_estimates([self, -other])


def mean_estimate(scores: Sequence[float]) -> IntervalEstimate:
    """Return the mean of independent scores between 0 and 1. ValueError without any.

    Its interval is Wilson's for that many marks in that many examples: exact in form for passes and fails, too wide for
    partial credit, which scatters less; never empty, however alike the scores are.
    """
    if not scores:
        raise ValueError("there is no mean of nothing")
    total = min(fsum(scores), float(len(scores)))
    return IntervalEstimate(total / len(scores), wilson_interval(total, len(scores)))


def sum_estimates(parts: Iterable[IntervalEstimate]) -> IntervalEstimate:
    """Return the sum of independent estimates; for a difference, negate one of them.

    The distance from the sum to either bound is the root of the sum of the squared distances of the
    parts, each to the same side (Zou and Donner, Stat. Med. 27, 2008); of two shares
    this is Newcombe's interval (Stat. Med. 17, 1998, method 10).
    """
    listed = list(parts)
    value = fsum(part.value for part in listed)
    below = sqrt(fsum((part.value - part.interval.low) ** 2 for part in listed))
    above = sqrt(fsum((part.interval.high - part.value) ** 2 for part in listed))
    return IntervalEstimate(value, Interval(value - below, value + above))
