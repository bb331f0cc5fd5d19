"""Deck: facts, or sentences, that just reach a number of tokens; the pool of built-in facts.

Quiz, talk and mixed fillers draw from such decks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from random import Random
from statistics import median_low
from typing import Generic, NamedTuple, TypeVar

from pytest_ltm.api.model import TokenCounter
from pytest_ltm.fillers.quiz import FactTokens, QuizFact, cost_of

T = TypeVar("T")


class Room(NamedTuple):
    """The tokens that are still wanted and allowed."""

    wanted: int
    """Tokens of message and reply together."""
    allowed: int
    """Tokens of the message."""

    def reduce_by(self, cost: FactTokens) -> Room:
        """Return the remaining room after an item of this cost."""
        return Room(self.wanted - cost.both, self.allowed - cost.message)


class Deck(Generic[T]):
    """Takes facts, or sentences, with their costs from an endless iterator, none twice."""

    def __init__(self, facts: Iterator[tuple[T, FactTokens]]) -> None:
        self._facts = facts
        self._ahead: list[tuple[T, FactTokens]] = []
        self._usual = 0

    def take_facts(self, room: Room) -> tuple[list[T], Room]:
        """Take facts that just reach the wanted tokens, usually exactly, and return the remaining room.

        At least one, unless none is allowed; fewer tokens than wanted if no more are
        allowed.
        """
        self._look_ahead()
        facts, room = self._drawn(room)
        while True:
            self._look_ahead()
            last = _closing_facts([cost for _, cost in self._ahead], room)
            for i in sorted(last, reverse=True):
                fact, cost = self._ahead.pop(i)
                room = room.reduce_by(cost)
                facts.append(fact)
            if room.wanted <= 0 or not last:
                return facts, room

    def take_fact(self, room: Room) -> T | None:
        """Take the fact that just reaches the wanted tokens, or else comes closest; None if none is allowed."""
        self._look_ahead()
        chosen = _closing_facts([cost for _, cost in self._ahead], room, most=1)
        return self._ahead.pop(chosen[0])[0] if chosen else None

    def _drawn(self, room: Room) -> tuple[list[T], Room]:
        """Take facts in order, but leave room for one or two that are chosen to fit."""
        drawn: list[T] = []
        wanted = room.wanted - self._usual
        allowed = room.allowed
        while True:
            for i, (fact, cost) in enumerate(self._ahead):  # noqa: B007 - nearly always ends at once
                if cost.both <= wanted and cost.message <= allowed:
                    break
            else:
                return drawn, Room(wanted + self._usual, allowed)
            wanted -= cost.both
            allowed -= cost.message
            drawn.append(fact)
            del self._ahead[i]
            self._ahead.append(next(self._facts))

    def _look_ahead(self) -> None:
        # enough candidates for the last facts of a message to fit exactly
        while len(self._ahead) < 64:
            self._ahead.append(next(self._facts))
        self._usual = self._usual or median_low(cost.both for _, cost in self._ahead)


def _closing_facts(
    costs: Sequence[FactTokens], room: Room, most: int = 2
) -> tuple[int, ...]:
    """Return the positions of one or two facts that just reach the wanted tokens, or else come closest.

    Empty only if none is allowed.
    """
    places: dict[int, list[int]] = {}
    for i, cost in enumerate(costs):
        if cost.message <= room.allowed:
            places.setdefault(cost.both, []).append(i)
    singles = [same[0] for same in places.values()]
    alone = ((i,) for i in singles)
    twins = (tuple(same[:2]) for same in places.values() if len(same) > 1)
    best: tuple[int, ...] = ()
    best_rank = (2, 0)
    for chosen in alone if most == 1 else chain(alone, combinations(singles, 2), twins):
        both = message = 0
        for i in chosen:
            both += costs[i].both
            message += costs[i].message
        over = both - room.wanted
        rank = (0, over) if over >= 0 else (1, -over)
        if rank < best_rank and message <= room.allowed:
            best = chosen
            best_rank = rank
            if not over:
                break
    return best


# --- Pool: facts whose token costs are counted once per process, on first use.

# The version of the built-in facts; increase with every change, because it is part of
# the plan's fingerprint.
VERSION = 1


class Pool:
    """Facts, with their costs for each counter used."""

    def __init__(self, facts: Iterable[QuizFact], identity: str) -> None:
        self.facts = tuple(facts)
        self.identity = identity
        """Pools with the same identity have the same facts in the same order."""
        self._costs: dict[TokenCounter, dict[int, FactTokens]] = {}

    def cost(self, index: int, counter: TokenCounter) -> FactTokens:
        """Return the cost of a fact with a counter."""
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
    from pytest_ltm.fillers.knowledge import known_facts

    return Pool(known_facts(), built_in_identity())


def shuffled_range(n: int, rng: Random) -> Iterator[int]:
    """Yield 0 to n - 1 in random order, lazily (Fisher-Yates on a sparse list)."""
    moved: dict[int, int] = {}
    for last in range(n - 1, -1, -1):
        i = rng.randrange(last + 1)
        yield moved.get(i, i)
        moved[i] = moved.pop(last, last)
