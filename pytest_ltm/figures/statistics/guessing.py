"""Whether a score shows memory, given what an agent without memory may earn by luck."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from msgspec import Struct

RISK = 0.05
"""The accepted probability of calling an agent without memory better than guessing."""
LUCK = 0.05
"""The tolerance added to a scenario's floor, which is an estimate, when a whole agent is judged."""


class GuessingTest(Struct, frozen=True, kw_only=True):
    """A score compared with what an agent without memory may earn."""

    share: float
    """The accuracy, without open scores."""
    floor: float
    """The share of full marks that guessing earns."""
    chance: float
    """An upper bound on the probability that an agent without memory earns as much."""

    @property
    def lead(self) -> float:
        """The share beyond guessing; negative below it."""
        return self.share - self.floor

    def shows_memory(self, claims: int = 1) -> bool:
        """Return whether luck is ruled out; `claims`: the number of such tests made of the agent together."""
        return self.chance <= RISK / claims


class Draws(Protocol):
    """The examples of one scenario."""

    @property
    def floor(self) -> float:
        """The score that an agent without memory may earn in the scenario, 0 to 1."""

    @property
    def examples(self) -> int:
        """The number of examples, scored or not."""


class ScoredDraws(NamedTuple):
    """The scored examples of one scenario."""

    floor: float
    examples: int


def compare_with_guessing(
    share: float, scenarios: Iterable[Draws], *, granted: float = LUCK
) -> GuessingTest:
    """Compare an accuracy with the guessing score of the same scenarios.

    `chance` bounds the tail of a weighted sum of independent scores in 0…1 (Hoeffding 1963, theorem 1), in which each
    scenario weighs the same, however many examples it has. It holds for any distribution, and so for a single
    conversation. `granted` is added to each floor.
    """
    counted = [scenario for scenario in scenarios if scenario.examples]
    if not counted:
        return GuessingTest(share=0.0, floor=0.0, chance=1.0)
    number = len(counted)
    floor = math.fsum(scenario.floor for scenario in counted) / number
    luck = (
        math.fsum(min(1.0, scenario.floor + granted) for scenario in counted) / number
    )
    # The heaviest example decides: a scenario with a single example is a single draw.
    draws = number * min(scenario.examples for scenario in counted)
    chance = math.exp(-draws * _divergence(share, luck)) if share > luck else 1.0
    return GuessingTest(share=share, floor=floor, chance=chance)


def _divergence(share: float, expected: float) -> float:
    """Return the relative entropy of two shares, in nats."""
    if expected >= 1.0:
        return 0.0
    gained = share * math.log(share / expected) if share else 0.0
    if share < 1:
        lost_part = (1 - share) * math.log((1 - share) / (1 - expected))
    else:
        lost_part = 0.0
    return gained + lost_part
