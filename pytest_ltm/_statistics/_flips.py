"""The sign-flip test over independent units and the interval that it excludes nothing from.

If before and after are exchangeable, the difference of every unit might as well have had the other sign (Fisher,
1935). Over clusters this is the wild cluster bootstrap with the null hypothesis imposed and Rademacher weights, which
keeps its level with few clusters where percentile and BCa bootstraps do not (Cameron, Gelbach and Miller, 2008;
Canay, Santos and Shaikh, 2021). Studentising would change nothing: the sum of squares is the same under every flip.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from operator import truediv
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
    """What all assignments of signs say, or a sample of them; the one found is one of them."""

    assignments: int
    p_drop: float
    """How often exchangeable runs lose at least as much (one-sided)."""
    p_gain: float
    """How often exchangeable runs gain at least as much (one-sided)."""
    means: tuple[float, ...]
    """For each assignment but the one found what the flipped units alone say of the difference, sorted."""

    def interval(self, level: float) -> Interval | None:
        """Return the differences that the two-sided test at 1 - level would not reject; None if it rejects none.

        A difference x is rejected by the test of gains less x. The bounds are the k-th smallest and largest of the
        means over flipped units, k = (1 - level) / 2 of all assignments: the typical values of Hartigan (1969).
        """
        k = int((1 - level) / 2 * self.assignments + _NOISE)
        return Interval(self.means[k - 1], self.means[-k]) if k else None


def flips(units: Sequence[Unit], rng: random.Random, draws: int = DRAWS) -> Flips:
    """Return what all assignments of signs say, or a sample: each draw and its opposite, and no flip.

    An assignment loses at least as much as was found if the units that it flips gained nothing together. With a
    sample the test is still exact (Hemerik and Goeman, 2018): chance decides only which of the assignments the one
    found is ranked among.
    """
    gains = [unit.gain for unit in units]
    weights = [unit.weight for unit in units]
    if len(units) <= EXACT:
        flipped, heavy = _subsets(gains)[1:], _subsets(weights)[1:]
    else:
        masks = [rng.randbytes(draws) for _ in range(0, len(units), _CHUNK)]
        flipped, heavy = _with_opposites(_drawn(gains, masks), _drawn(weights, masks))
    assignments = len(flipped) + 1
    return Flips(
        assignments=assignments,
        p_drop=(1 + sum(map((-_NOISE).__le__, flipped))) / assignments,
        p_gain=(1 + sum(map(_NOISE.__ge__, flipped))) / assignments,
        means=tuple(sorted(map(truediv, flipped, heavy))),
    )


def _drawn(values: Sequence[float], masks: Sequence[bytes]) -> list[float]:
    """Return for each draw the sum over the units that its bits choose, and last the sum over all."""
    tables = [_subsets(values[i : i + _CHUNK]) for i in range(0, len(values), _CHUNK)]
    columns = [[table[byte & (len(table) - 1)] for byte in mask] for table, mask in zip(tables, masks, strict=True)]
    return [*map(sum, zip(*columns, strict=True)), fsum(values)]


def _with_opposites(gains: Sequence[float], weights: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the sums of all draws, of the units that each leaves out, and of all units; no draw is empty or all."""
    gain, whole = gains[-1], weights[-1]
    drawn = [each for each in zip(gains, weights, strict=True) if _NOISE < each[1] < whole - _NOISE]
    found = [*drawn, *((gain - more, whole - heavy) for more, heavy in drawn), (gain, whole)]
    return [more for more, _ in found], [heavy for _, heavy in found]


def _subsets(values: Sequence[float]) -> list[float]:
    """Return the sum of every subset; bit i of its place says whether value i is in."""
    sums = [0.0]
    for value in values:
        sums += [each + value for each in sums]
    return sums
