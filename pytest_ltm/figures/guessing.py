"""Whether scores show memory at all: the one question that every claim about an agent asks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from pytest_ltm.figures.columns import Column

RISK = 0.05
"""The chance that is taken of calling an agent without memory better than guessing."""
LUCK = 0.05
"""What is granted beyond a scenario's floor, which is an estimate."""


class GuessingTest(Struct, frozen=True, kw_only=True):
    """The score of a column beside what an agent without memory may earn there."""

    share: float
    """The accuracy, without what is open."""
    floor: float
    """The share of full marks that guessing earns."""
    chance: float
    """At most how often an agent without memory earns as much."""

    @property
    def lead(self) -> float:
        """The share beyond guessing; negative below it."""
        return self.share - self.floor

    def shows_memory(self, claims: int = 1) -> bool:
        """Return whether luck is ruled out; `claims`: how many such questions are asked of the agent at once."""
        return self.chance <= RISK / claims


class Draws(Protocol):
    """The examples of one scenario."""

    @property
    def floor(self) -> float:
        """What an agent without memory may earn in it, 0 to 1."""

    @property
    def examples(self) -> int:
        """Their number, scored or not."""


def guessing_test(column: Column) -> GuessingTest:
    """Compare a column with guessing; without any score it shows nothing."""
    share = column.accuracy_lower_bound
    return compare_with_guessing(share or 0.0, column.cells.values())


def compare_with_guessing(share: float, scenarios: Iterable[Draws]) -> GuessingTest:
    """Compare an accuracy with what guessing earns in the same scenarios.

    `chance` bounds the tail of a weighted sum of independent scores in 0…1 (Hoeffding
    1963, theorem 1), in which each scenario weighs the same, however many examples it
    has. It holds for any distribution, so also for one conversation.
    """
    counted = [scenario for scenario in scenarios if scenario.examples]
    if not counted:
        return GuessingTest(share=0.0, floor=0.0, chance=1.0)
    number = len(counted)
    floor = math.fsum(scenario.floor for scenario in counted) / number
    luck = math.fsum(min(1.0, scenario.floor + LUCK) for scenario in counted) / number
    # The heaviest example decides: a scenario with a single one is a single draw.
    draws = number * min(scenario.examples for scenario in counted)
    chance = math.exp(-draws * _divergence(share, luck)) if share > luck else 1.0
    return GuessingTest(share=share, floor=floor, chance=chance)


def only_guesses(columns: Iterable[Column]) -> bool:
    """Return whether nothing of this is shown to be better than guessing, where anything has a score."""
    scored = [column for column in columns if column.out_of]
    return bool(scored) and not columns_with_memory(scored)


def columns_with_memory(columns: Sequence[Column]) -> list[Column]:
    """Return the columns whose score is shown to be better than guessing, all of them claimed at once."""
    return [
        column
        for column in columns
        if guessing_test(column).shows_memory(claims=len(columns))
    ]


def _divergence(share: float, expected: float) -> float:
    """Return the relative entropy of two shares, in nats."""
    if expected >= 1.0:
        return 0.0
    gained = share * math.log(share / expected) if share else 0.0
    lost_part = (
        (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    )
    return gained + lost_part
