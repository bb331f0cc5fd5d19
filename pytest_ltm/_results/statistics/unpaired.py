"""Two samples of different texts, which no pairing connects: means, sums and differences with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt
from typing import TYPE_CHECKING

from pytest_ltm._results.statistics.counts import LEVEL, Interval, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A value and where it may lie."""

    value: float
    interval: Interval

    def __neg__(self) -> IntervalEstimate:
        return IntervalEstimate(-self.value, Interval(-self.interval.high, -self.interval.low))

    def __sub__(self, other: IntervalEstimate) -> IntervalEstimate:
        return summed([self, -other])


def mark(scores: Sequence[float], level: float = LEVEL) -> IntervalEstimate:
    """Return the mean of independent scores between 0 and 1. ValueError without any.

    Its interval is Wilson's for as many marks in as many examples: exact in form for passes and fails, too wide for
    partial credit, which scatters less; never empty, however alike the scores are.
    """
    if not scores:
        raise ValueError("there is no mean of nothing")
    whole = min(fsum(scores), float(len(scores)))
    return IntervalEstimate(whole / len(scores), wilson(whole, len(scores), level))


def summed(parts: Iterable[IntervalEstimate]) -> IntervalEstimate:
    """Return the sum of independent estimates; a difference is the sum with what is negative.

    Its distance to either bound is the root of the sum of the squared distances of the parts, each to the same side
    (Zou and Donner, Stat. Med. 27, 2008); of two shares this is Newcombe's interval (Stat. Med. 17, 1998, method 10).
    """
    held = list(parts)
    value = fsum(part.value for part in held)
    below = sqrt(fsum((part.value - part.interval.low) ** 2 for part in held))
    above = sqrt(fsum((part.interval.high - part.value) ** 2 for part in held))
    return IntervalEstimate(value, Interval(value - below, value + above))
