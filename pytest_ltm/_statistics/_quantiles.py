"""Tails and quantiles of the normal distribution and of Student's t."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt


def normal_quantile(share: float) -> float:
    """Return the value below which `share` (0 to 1, exclusive) of the standard normal distribution lies."""
    from statistics import NormalDist  # noqa: PLC0415 - brings fractions and decimals, which only intervals need

    return NormalDist().inv_cdf(share)


def t_below(value: float, degrees: int) -> float:
    """Return the share of Student's t with so many degrees of freedom that lies below a value.

    Exact finite sums for whole degrees (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4).
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


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: int) -> float:
    """Return the value below which `share` (0 to 1, exclusive) of Student's t lies, by bisection."""
    if share < 1 / 2:
        return -t_quantile(1 - share, degrees)
    low, high = 0.0, 1.0
    while t_below(high, degrees) < share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_below(middle, degrees) < share else (low, middle)
    return high
