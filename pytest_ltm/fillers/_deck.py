"""Deck: facts in an order of their own, of which as many are taken as just reach a number of tokens."""

from __future__ import annotations

from itertools import chain, combinations
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.fillers._quiz import Cost, Fact

_AHEAD = 64
"""How many facts wait to be chosen from, so that a message's last ones can be those that just fit."""


class Room(NamedTuple):
    """What is still wanted and allowed."""

    wanted: int
    """Tokens of message and reply together."""
    allowed: int
    """Tokens of the message."""

    def less(self, cost: Cost) -> Room:
        """Return what is left after something of this cost."""
        return Room(self.wanted - cost.both, self.allowed - cost.message)


class Deck:
    """Takes facts with their costs from an iterator without end, none twice."""

    def __init__(self, facts: Iterator[tuple[Fact, Cost]]) -> None:
        self._facts = facts
        self._ahead: list[tuple[Fact, Cost]] = []
        self._usual = 0

    def several(self, room: Room) -> tuple[list[Fact], Room]:
        """Take facts that just reach what is wanted, as a rule exactly, and return what is left of the room.

        One at least, unless none is allowed; less than is wanted where more is not allowed.
        """
        self._look_ahead()
        facts, room = self._drawn(room)
        last, room = self._closed(room)
        return facts + last, room

    def one(self, room: Room) -> Fact | None:
        """Take the fact that just reaches what is wanted, or else comes nearest to it; None if none is allowed."""
        self._look_ahead()
        chosen = _closing([cost for _, cost in self._ahead], room, most=1)
        return self._ahead.pop(chosen[0])[0] if chosen else None

    def _drawn(self, room: Room) -> tuple[list[Fact], Room]:
        """Take facts in their order, but leave room for one or two that are chosen to fit."""
        drawn: list[Fact] = []
        wanted, allowed = room.wanted - self._usual, room.allowed
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

    def _closed(self, room: Room) -> tuple[list[Fact], Room]:
        """Take the facts that just reach what is wanted; one at least, if it is allowed."""
        taken: list[Fact] = []
        while True:
            self._look_ahead()
            last = _closing([cost for _, cost in self._ahead], room)
            for i in sorted(last, reverse=True):
                fact, cost = self._ahead.pop(i)
                room = room.less(cost)
                taken.append(fact)
            if room.wanted <= 0 or not last:
                return taken, room

    def _look_ahead(self) -> None:
        while len(self._ahead) < _AHEAD:
            self._ahead.append(next(self._facts))
        self._usual = self._usual or median_low(cost.both for _, cost in self._ahead)


def _closing(costs: Sequence[Cost], room: Room, most: int = 2) -> tuple[int, ...]:
    """Return the places of the one or two facts that just reach what is wanted, or else come nearest to it.

    None are returned only if not one is allowed.
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
        if len(chosen) > 1 and sum(costs[i].message for i in chosen) > room.allowed:
            continue
        over = sum(costs[i].both for i in chosen) - room.wanted
        rank = (0, over) if over >= 0 else (1, -over)
        if rank < best_rank:
            best, best_rank = chosen, rank
    return best
