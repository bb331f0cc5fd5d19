"""The sign-flip test over independent units and the interval that it excludes nothing from.

If before and after are exchangeable, the difference of every unit might as well have had the other sign (Fisher,
1935). Over clusters this is the wild cluster bootstrap with the null hypothesis imposed and Rademacher weights, which
keeps its level with few clusters where percentile and BCa bootstraps do not (Cameron, Gelbach and Miller, 2008;
Canay, Santos and Shaikh, 2021). Studentising would change nothing: the sum of squares is the same under every flip.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._statistics._intervals import Interval

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from pytest_ltm._statistics._units import Unit

EXACT = 14
"""Up to so many units every assignment of signs is tried; else a sample of them."""
DRAWS = 2_000
"""So many assignments are drawn beyond that, each together with its opposite."""
_CHUNK = 8
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Flips:
    """The sums over the flipped units, one for each assignment of signs but the one found."""

    sums: tuple[float, ...]
    """Of their gains."""
    means: tuple[float, ...]
    """Of their gains, as a mean: what the flipped units alone say of the difference. Sorted."""

    @property
    def assignments(self) -> int:
        """How many there are, the one found included."""
        return len(self.sums) + 1

    @property
    def p_drop(self) -> float:
        """How often exchangeable runs lose at least as much (one-sided)."""
        return (1 + sum(each >= -_NOISE for each in self.sums)) / self.assignments

    @property
    def p_gain(self) -> float:
        """How often exchangeable runs gain at least as much (one-sided)."""
        return (1 + sum(each <= _NOISE for each in self.sums)) / self.assignments

    @property
    def p(self) -> float:
        """How often exchangeable runs differ at least as much, either way."""
        return min(1.0, 2 * min(self.p_drop, self.p_gain))

    def interval(self, level: float) -> Interval | None:
        """Return the differences that the two-sided test at 1 - level would not reject; None if it rejects none.

        A difference x is rejected by the test of gains less x. The bounds are the k-th smallest and largest of the
        means over flipped units, k = (1 - level) / 2 of all assignments: the typical values of Hartigan (1969).
        """
        k = int((1 - level) / 2 * self.assignments + _NOISE)
        return Interval(self.means[k - 1], self.means[-k]) if k else None


def flips(units: Sequence[Unit], rng: random.Random, draws: int = DRAWS) -> Flips:
    """Return the sums of all assignments of signs, or of a sample: each draw and its opposite, and no flip.

    With a sample the test is still exact (Hemerik and Goeman, 2018): chance decides only which of the
    assignments the one found is ranked among.
    """
    chunks = [_subsets(units[i : i + _CHUNK]) for i in range(0, len(units), _CHUNK)]
    everything = fsum(unit.gain for unit in units)
    count = len(units)
    whole = (1 << count) - 1
    if count <= EXACT:
        found = [_sum(chunks, mask) for mask in range(1, whole + 1)]
    else:
        drawn = [_sum(chunks, mask) for mask in (rng.getrandbits(count) for _ in range(draws))]
        drawn = [each for each in drawn if 0 < each[1] < 1 - _NOISE]
        found = [*drawn, *((everything - gain, 1 - weight) for gain, weight in drawn), (everything, 1.0)]
    return Flips(tuple(gain for gain, _ in found), tuple(sorted(gain / weight for gain, weight in found)))


def _sum(chunks: Sequence[Sequence[tuple[float, float]]], mask: int) -> tuple[float, float]:
    gain = weight = 0.0
    for chunk in chunks:
        more, heavier = chunk[mask & (len(chunk) - 1)]
        gain += more
        weight += heavier
        mask >>= _CHUNK
    return gain, weight


def _subsets(units: Sequence[Unit]) -> list[tuple[float, float]]:
    """Return gain and weight of every subset; bit i of its place says whether unit i is in."""
    sums = [(0.0, 0.0)]
    for unit in units:
        sums += [(gain + unit.gain, weight + unit.weight) for gain, weight in sums]
    return sums
