"""The standard error of a difference between runs, and the t test that minds what befalls whole conversations."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, fsum, inf, sqrt
from typing import TYPE_CHECKING

from pytest_ltm._statistics._intervals import Interval
from pytest_ltm._statistics._quantiles import t_below, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._statistics._units import Unit

PRIOR = 1
"""How many degrees of freedom the scatter of scenarios weighs beside that of two or three conversations."""
_TOO_FEW = 3
"""Up to so many conversations need a prior."""
_NOISE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """How far a mean difference moves by chance."""

    difference: float
    error: float
    """Its standard error."""
    degrees: int
    """Degrees of freedom that the standard error has."""

    @property
    def p_drop(self) -> float:
        """How often equally good agents lose at least as much, one-sided."""
        return t_below(self._t, self.degrees)

    @property
    def p_gain(self) -> float:
        """How often equally good agents gain at least as much, one-sided."""
        return t_below(-self._t, self.degrees)

    def interval(self, level: float) -> Interval:
        """Return difference ± t · error."""
        half = t_quantile((1 + level) / 2, self.degrees) * self.error
        return Interval(self.difference - half, self.difference + half)

    def detectable(self, alpha: float, power: float) -> float:
        """Return the smallest drop that a one-sided test at alpha sees with a power: (t + t) · error (Bloom, 1995)."""
        return (t_quantile(1 - alpha, self.degrees) + t_quantile(power, self.degrees)) * self.error

    @property
    def _t(self) -> float:
        if abs(self.difference) < _NOISE:
            return 0.0
        return self.difference / self.error if self.error > _NOISE else copysign(inf, self.difference)


def scatter(units: Sequence[Unit]) -> Scatter:
    """Return the standard error of the mean over independent units, two at least.

    sqrt(n / (n - 1) · sum of (gain - weight · mean)²): the cluster-robust error of a mean (Liang and Zeger, 1986).
    It has n - 1 degrees of freedom, fewer where a few units make most of it: 2n / (kurtosis - 1), from the variance
    of a variance.
    """
    difference = fsum(unit.gain for unit in units)
    squares = [(unit.gain - unit.weight * difference) ** 2 for unit in units]
    count, whole = len(units), fsum(squares)
    peaked = count * fsum(each**2 for each in squares) / whole**2 - 1 if whole > _NOISE**2 else 0.0
    degrees = min(count - 1, max(1, round(2 * count / peaked))) if peaked > _NOISE else count - 1
    return Scatter(difference=difference, error=sqrt(whole * count / (count - 1)), degrees=degrees)


def moderated(cells: Sequence[Unit], conversations: Sequence[Unit]) -> Scatter:
    """Return the standard error from a few conversations, two at least, moderated by that from their scenarios.

    What befalls a whole conversation shows only between conversations. Two or three of them hardly tell; so their
    variance V of T - 1 degrees of freedom is averaged with that of the cells, v, as a prior of `PRIOR` degrees:
    (PRIOR · v + (T - 1) · V) / (PRIOR + T - 1), with PRIOR + T - 1 degrees (the moderated t of Smyth, 2004). From four
    on V stands alone. `benchmark gate` shows that this nearly keeps the level where whole conversations go wrong.
    """
    within, between, few = scatter(cells), scatter(conversations), len(conversations) - 1
    prior = PRIOR if len(conversations) <= _TOO_FEW else 0
    degrees = prior + few
    variance = (prior * within.error**2 + few * between.error**2) / degrees
    return Scatter(difference=within.difference, error=sqrt(variance), degrees=degrees)


def unseen(units: Sequence[Unit], alpha: float) -> Scatter:
    """Return the scatter that units which do not differ at all leave possible.

    It is not 0 but unknown: up to a share 1 - alpha^(1/n) of units may differ, by a whole point, and still none of n
    is seen to (the exact binomial bound of Clopper and Pearson, 1934).
    """
    share = 1 - alpha ** (1 / len(units))
    error = sqrt(share * fsum(unit.weight**2 for unit in units))
    return Scatter(difference=0.0, error=error, degrees=len(units) - 1)
