"""Units and UnitQueue: which conversation is played next; pure, knows no worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Unit:
    """The items of one conversation: they stay together on one worker."""

    name: str
    """The labels that name the conversation."""
    items: tuple[str, ...]
    """Node ids, in the order of the collection."""
    expected: int
    """About how many tokens it takes."""


def units(nodeids: Iterable[str], unit_of: Callable[[str], str], expected: Mapping[str, int]) -> list[Unit]:
    """Return the units of a collection, the longest first, equally long ones in the order of the collection."""
    found: dict[str, list[str]] = {}
    for nodeid in nodeids:
        found.setdefault(unit_of(nodeid), []).append(nodeid)
    made = [Unit(name, tuple(items), expected.get(name, 0)) for name, items in found.items()]
    return sorted(made, key=lambda unit: -unit.expected)


class UnitQueue:
    """What is still to be played."""

    def __init__(self, waiting: Iterable[Unit] = ()) -> None:
        self._waiting = list(waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Unit]:
        return iter(self._waiting)

    def take(self, fits: Callable[[Unit], bool]) -> Unit | None:
        """Take out the first unit that fits, if any is left."""
        for place, unit in enumerate(self._waiting):
            if fits(unit):
                return self._waiting.pop(place)
        return None

    def give_back(self, unit: Unit) -> None:
        """Put back a unit that was begun and not finished: it is the next, because it has been waited for longest."""
        self._waiting.insert(0, unit)
