"""ConversationScheduling: xdist's view of the schedule; a worker gets a conversation when it has room for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """The items of one conversation, which stay together on one worker."""

    name: str
    """The labels that name the conversation."""
    items: tuple[str, ...]
    """Node ids, in the order of the collection."""
    expected: int
    """Its approximate number of tokens."""


def work_units(
    nodeids: Iterable[str], unit_of: Callable[[str], str], expected: Mapping[str, int]
) -> list[WorkUnit]:
    """Return the units of a collection, longest first, equally long ones in the order of the collection."""
    texts: dict[str, list[str]] = {}
    for nodeid in nodeids:
        texts.setdefault(unit_of(nodeid), []).append(nodeid)
    units: list[WorkUnit] = []
    for name, items in texts.items():
        units.append(WorkUnit(name, tuple(items), expected.get(name, 0)))
    return sorted(units, key=lambda unit: -unit.expected)


# The number of node ids named if collections differ.
MAX_NAMED_ITEMS = 5


class Dispatcher(Protocol):
    """Assigns conversations as the scheduler decides."""

    expected: dict[str, int]
    """The approximate number of tokens of each unit, by name."""

    def unit_of(self, nodeid: str, /) -> str:
        """Return the name of an item's unit."""

    def send(self, node: Any, unit: WorkUnit, indices: list[int], /) -> None:
        """Assign a unit to a worker."""

    def lost(self, node: Any, unit: WorkUnit, /) -> bool:
        """Handle the death of a worker in the middle of a unit; return whether the unit must be played again."""

    def differ(self, worker: str, text: str, /) -> None:
        """Report that a worker has collected different items."""

    def may_play(self, node: Any, unit: WorkUnit, /) -> bool:
        """Return whether a worker can play a unit: a unit begun on one machine continues there."""

    def beside(self, playing: Sequence[WorkUnit], unit: WorkUnit, /) -> bool:
        """Return whether a worker that plays these units may play another one at once."""


class ConversationScheduling:
    """A scheduler for xdist (its `Scheduling` protocol): one conversation, one worker, the longest first.

    Nothing is assigned ahead of time: the first free worker plays the next
    conversation.
    """

    def __init__(self, workers: int, dispatcher: Dispatcher) -> None:
        self.numnodes = workers
        self._dispatcher = dispatcher
        self.collection: list[str] | None = None
        """The node ids that are played, once all workers have collected."""
        self._playing: dict[Any, list[WorkUnit]] = {}
        self._indices: dict[Any, dict[str, int]] = {}
        self._collections = 0
        self._queue: list[WorkUnit] = []
        """The units still to be played."""
        self._stranded: list[WorkUnit] = []
        """The units that no worker can play."""

    # --- xdist's queries

    @property
    def nodes(self) -> list[Any]:
        """All workers that are up."""
        return list(self._playing)

    @property
    def collection_is_completed(self) -> bool:
        """Whether all expected workers have collected."""
        return self._collections >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        """Whether everything has been played."""
        return self.collection_is_completed and not self.has_pending

    @property
    def has_pending(self) -> bool:
        """Whether any unit is being played, or waits to be played."""
        return bool(self._queue) or any(self._playing.values())

    @property
    def waiting_conversations(self) -> int:
        """The number of conversations not assigned yet."""
        return len(self._queue)

    @property
    def unplayed(self) -> list[WorkUnit]:
        """The units that have not been played to their ends."""
        return [
            *self._stranded,
            *self._queue,
            *chain.from_iterable(self._playing.values()),
        ]

    # --- xdist's notifications

    def add_node(self, node: Any) -> None:
        """Add a worker that is up."""
        self._playing[node] = []

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Add a worker's collection."""
        self._collections += 1
        self._indices[node] = {nodeid: index for index, nodeid in enumerate(collection)}

    def schedule(self) -> None:
        """Assign conversations, once all workers, or a further one, have collected."""
        if self.collection is None:
            self.collection = list(next(iter(self._indices.values())))
            # The longest first: a long one that begins last would keep all other
            # workers waiting.
            result = work_units(
                self.collection, self._dispatcher.unit_of, self._dispatcher.expected
            )
            self._queue = []
            self._stranded = []
            for unit in result:
                nodes = (self._dispatcher.may_play(node, unit) for node in self.nodes)
                (self._queue if any(nodes) else self._stranded).append(unit)
        reference = self.collection
        for node in self.nodes:
            mine = self._indices.get(node)
            if mine is not None and mine.keys() != set(reference):
                self._dispatcher.differ(
                    node.gateway.id,
                    _collection_difference(node.gateway.id, reference, mine),
                )
                self._queue = []
        self._serve()

    def over(self, node: Any, name: str) -> None:
        """Called when a worker has played a conversation to its end."""
        for unit in [unit for unit in self._playing.get(node, ()) if unit.name == name]:
            self._playing[node].remove(unit)
            self._serve()

    def mark_test_complete(
        self, node: Any, item_index: int, duration: float = 0
    ) -> None:
        """Do nothing when an item ends: its conversation continues."""

    def remove_node(self, node: Any) -> None:
        """Remove a dead worker; another one plays its units. xdist never blames an item."""
        units = self._playing.pop(node)
        self._indices.pop(node, None)
        lost_units = [unit for unit in units if self._dispatcher.lost(node, unit)]
        if lost_units:
            self._queue[:0] = lost_units  # these have waited the longest
            self._serve()

    def mark_test_pending(self, item: str) -> None:
        """Raise: items cannot be repeated individually."""
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Raise: nothing is ever withdrawn from a worker."""
        raise NotImplementedError

    def _next_unit(self, node: Any) -> WorkUnit | None:
        """Return the first unit in the queue that a worker may play now."""
        playing = self._playing[node]
        for unit in self._queue:
            if playing and not self._dispatcher.beside(playing, unit):
                continue
            if self._dispatcher.may_play(node, unit):
                return unit
        return None

    def _serve(self) -> None:
        """Assign units to the least busy workers with room, and shut down workers that have nothing to play."""
        ready: list[Any] = []
        for node in self.nodes:
            if node in self._indices and not node.shutting_down:
                ready.append(node)
        full: set[Any] = set()
        while len(full) < len(ready):
            node = min(
                (node for node in ready if node not in full),
                key=lambda node: len(self._playing[node]),
            )
            unit = self._next_unit(node)
            if unit is None:
                full.add(node)
                continue
            self._queue.remove(unit)
            self._playing[node].append(unit)
            indices = self._indices[node]
            self._dispatcher.send(
                node, unit, [indices[nodeid] for nodeid in unit.items]
            )
        for node in ready:
            if not self._playing[node]:
                node.shutdown()


def _collection_difference(
    worker: str, reference: Sequence[str], mine: Mapping[str, int]
) -> str:
    missing = [nodeid for nodeid in reference if nodeid not in mine]
    extra = [nodeid for nodeid in mine if nodeid not in set(reference)]
    lines = [
        f"worker {worker} collected different scenarios from the first worker, so nothing is played."
    ]
    for difference, ids in (("it lacks", missing), ("only it has", extra)):
        lines += [f"{difference}: {nodeid}" for nodeid in ids[:MAX_NAMED_ITEMS]]
        if len(ids) > MAX_NAMED_ITEMS:
            lines.append(f"... and {len(ids) - MAX_NAMED_ITEMS} more")
    return "\n".join(
        [
            *lines,
            "Collection must not depend on chance, on the time or on the order of a set",
        ]
    )
