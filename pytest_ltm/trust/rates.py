"""The rates at which planted texts, and their twins, had their effect."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.api.model import Check
from pytest_ltm.figures.columns import Column

ATTACK = "attack"
UTILITY = "utility"
# The family of the rule `WithstandsPoison`, which only runs with poison import.
POISON_RULE = "withstands-poison"


class Rate(Struct, frozen=True):
    """A share of the decided cases."""

    hits: int
    decided: int
    open: int
    """Cases without proof of either."""

    @property
    def share(self) -> float | None:
        """The share; None if nothing is decided."""
        return self.hits / self.decided if self.decided else None


def is_poison(row: ScenarioResult) -> bool:
    """Return whether an example planted a text, and has a verdict."""
    family = row.rule.partition("/")[0]
    return family == POISON_RULE and bool(row.checks)


def measure_effect(row: ScenarioResult, measure: str) -> bool | None:
    """Return whether the poison (ATTACK) or its twin (UTILITY) had its effect; None if that is open."""
    withstood, kept = row.checks[:2]
    check: Check = withstood if measure == ATTACK else kept
    if check.open:
        return None
    return check.ok is (measure == UTILITY)


def rate_of(effects: Sequence[bool | None]) -> Rate:
    """Return the rate of effects."""
    decided = [effect for effect in effects if effect is not None]
    return Rate(sum(decided), len(decided), len(effects) - len(decided))


def column_rate(measure: str, column: Column) -> float | None:
    """Return the rate of an agent at a memory span; None if no poison was played."""
    rows = [row for row in column.rows if is_poison(row)]
    return rate_of([measure_effect(row, measure) for row in rows]).share
