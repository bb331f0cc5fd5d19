"""The standard error of a difference between runs, also where whole conversations go well or badly."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, fsum, inf, sqrt
from typing import TYPE_CHECKING

from pytest_ltm._statistics._intervals import Interval
from pytest_ltm._statistics._quantiles import t_below, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._statistics._units import Unit

SUPPOSED = 1.0
"""What befalls a whole conversation scatters by so many times the variance of what befalls a scenario in it: supposed
where there is one conversation only, which cannot show it."""
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


def of_conversations(cells: Sequence[Unit], conversations: Sequence[Unit]) -> Scatter:
    """Return the standard error that minds what befalls whole conversations, of which there are few.

    Of T >= 2 it is seen between them: T - 1 degrees of freedom, nothing supposed. One shows nothing of it. Then the
    variance v that its scenarios (`cells`, with weights w) give the mean is widened by what a conversation would add
    that scatters `SUPPOSED` times as much as a scenario: v · (1 + SUPPOSED / sum of w²), the design effect of a
    correlation of one half (Kish, 1965). `benchmark gate` shows what that takes and what it gives.
    """
    if len(conversations) > 1:
        between = scatter(conversations)
        return Scatter(difference=between.difference, error=between.error, degrees=len(conversations) - 1)
    within = scatter(cells)
    return Scatter(
        difference=within.difference, error=within.error * sqrt(_widened(cells, conversations)), degrees=within.degrees
    )


def unseen(cells: Sequence[Unit], conversations: Sequence[Unit], alpha: float, power: float) -> float:
    """Return the drop that is mostly seen where no pair differs, so that the scatter is not 0 but unknown.

    A drop x of units that lose a whole point or nothing has the variance x (1 - x) · sum of w²; the smallest that is
    (t + t) standard errors large is q / (1 + q), q = (t + t)² · sum of w².
    """
    squares = fsum(unit.weight**2 for unit in cells)
    degrees = [len(cells) - 1, *([len(conversations) - 1] if len(conversations) > 1 else [])]
    wide = max((t_quantile(1 - alpha, each) + t_quantile(power, each)) ** 2 for each in degrees)
    apart = wide * squares * _widened(cells, conversations)
    return apart / (1 + apart)


def _widened(cells: Sequence[Unit], conversations: Sequence[Unit]) -> float:
    """Return how much more the mean scatters than its scenarios show, where there is one conversation."""
    return 1 + SUPPOSED / fsum(unit.weight**2 for unit in cells) if len(conversations) == 1 else 1.0
