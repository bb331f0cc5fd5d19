"""What chance does to a difference, by all the tests that apply together."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._statistics._flips import Flips, flips
from pytest_ltm._statistics._intervals import Interval
from pytest_ltm._statistics._scatter import Scatter, of_conversations
from pytest_ltm._statistics._units import Unit, units_of

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from pytest_ltm._statistics._pairs import Pair
    from pytest_ltm._statistics._units import UnitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Each test is right on its own supposition, so the more careful one counts."""

    flipped: Flips
    few: Scatter | None
    """What a few conversations, or a single one, leave open; None where there are enough to flip them."""

    @property
    def p_drop(self) -> float:
        """How often equally good agents lose at least as much."""
        return max(self.flipped.p_drop, self.few.p_drop if self.few else 0.0)

    @property
    def p_gain(self) -> float:
        """How often equally good agents gain at least as much."""
        return max(self.flipped.p_gain, self.few.p_gain if self.few else 0.0)

    @property
    def p(self) -> float:
        """How often equally good agents differ at least as much, either way."""
        return min(1.0, 2 * min(self.p_drop, self.p_gain))

    def interval(self, level: float) -> Interval | None:
        """Return the differences that some of the tests would not reject; None if there are too few units."""
        found = self.flipped.interval(level)
        if found is None or self.few is None:
            return found
        other = self.few.interval(level)
        return Interval(max(-1.0, min(found.low, other.low)), min(1.0, max(found.high, other.high)))


def chance(units: Sequence[Unit], few: Sequence[Unit], rng: random.Random, draws: int) -> Chance:
    """Return what chance does to the mean difference of units; `few`: the conversations, if they are not the units."""
    return Chance(flipped=flips(units, rng, draws), few=of_conversations(units, few) if few else None)


def few_conversations(pairs: Sequence[Pair], kind: UnitKind) -> tuple[Unit, ...]:
    """Return the conversations, where smaller units stand in their place; else none."""
    return () if kind == "conversation" else units_of(pairs, "conversation")


def with_one_more(units: Sequence[Unit], imagined: Unit) -> tuple[Unit, ...]:
    """Return the units and an imagined one, with weights that make 1 again."""
    everything = [*units, imagined]
    whole = fsum(unit.weight for unit in everything)
    return tuple(Unit(unit.gain / whole, unit.weight / whole) for unit in everything)
