"""Pool: facts whose cost in tokens is counted once in a process, when first needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pytest_ltm.fillers._quiz import Cost, Fact, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm._tokens import TokenCounter

VERSION = 1
"""Of the built-in facts; another number for every change, because it is part of the plan's fingerprint."""


class Pool:
    """Facts, and what each costs with each counter that was used."""

    def __init__(self, facts: Iterable[Fact], identity: str) -> None:
        self.facts = tuple(facts)
        self.identity = identity
        """Two pools with one identity hold the same facts in the same order."""
        self._costs: dict[TokenCounter, dict[int, Cost]] = {}

    def cost(self, index: int, counter: TokenCounter) -> Cost:
        """Return what a fact costs with a counter."""
        costs = self._costs.setdefault(counter, {})
        if index not in costs:
            costs[index] = cost_of(self.facts[index], counter)
        return costs[index]


def built_in_identity() -> str:
    """Return the identity of the built-in pool without building it."""
    return f"built-in {VERSION}"


@cache
def built_in() -> Pool:
    """Return the pool of our own facts."""
    from pytest_ltm.fillers._facts import facts  # noqa: PLC0415 - built only where filler is needed

    return Pool(facts(), built_in_identity())
