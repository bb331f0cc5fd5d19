"""Memories: what a system keeps of a conversation, how it is found again, and how it is shown."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm.agents.memory.chunks import Log, Span
from pytest_ltm.agents.memory.reading import MemoryHit, Utterance
from pytest_ltm.agents.memory.searching import Embeds, Ranked, SearchIndex, Vectors, Words, fuse_rankings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ltm.agents.memory.parameters import MemorySettings
    from pytest_ltm.agents.memory.time_ranges import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One memory."""

    span: Span
    """What it is of."""
    session: int
    text: str | None = None
    """What was written of that; None: it is what was said itself."""
    cites: tuple[int, ...] = ()
    """The sayings that it is from, where it is not from all of them."""
    keys: Mapping[str, str]
    """What it is found by beside its value, by kind."""
    times: tuple[Range, ...] = ()
    """Of the events that it tells of."""


class Memories:
    """All memories of one conversation; knows no thinker."""

    def __init__(self, settings: MemorySettings, embeds: Embeds | None = None) -> None:
        self._settings, self._embeds = settings, embeds
        self.log = Log()
        self.items: list[MemoryItem] = []
        kinds = settings.key if settings.join == "ranks" else ("all",)
        self._indexes: dict[str, SearchIndex] = {kind: self._index() for kind in kinds}
        self._alive = bytearray()
        self._firsts = array("I")
        self._oldest = 0

    def _index(self) -> SearchIndex:
        return Words() if self._embeds is None else Vectors(self._embeds)

    def say(self, message: str, reply: str, at: Any) -> int:
        """Take in an exchange; return the number of the message, that of the reply being the next."""
        number = self.log.add(Utterance("user", message, at))
        self.log.add(Utterance("assistant", reply, at))
        return number

    def add(self, item: MemoryItem) -> int:
        """Keep a memory; the oldest go where there are more than may be kept. Return its number."""
        keys = {"value": self._value(item), **item.keys}
        named = {kind: keys.get(kind, "") for kind in self._settings.key}
        for kind, index in self._indexes.items():
            index.add([named[kind] if kind in named else self._joined(named)])
        self.items.append(item)
        self._alive.append(1)
        self._firsts.append(item.span.first)
        if self._settings.retrieval.capacity and len(self.items) - self._oldest > self._settings.retrieval.capacity:
            self._alive[self._oldest] = 0
            self._oldest += 1
        return len(self.items) - 1

    def _joined(self, named: Mapping[str, str]) -> str:
        further = [text for kind, text in named.items() if kind != "value" and text]
        if self._settings.join == "replace" and further:
            return "\n".join(further)
        return "\n".join(text for text in named.values() if text)

    def _value(self, item: MemoryItem) -> str:
        if item.text is not None:
            return item.text
        return "\n".join(one.text for one in self.log.parts(item.span))

    def forget_memory(self, number: int) -> None:
        """Never find a memory again."""
        self._alive[number] = 0

    def forgotten_numbers(self) -> list[int]:
        """Return the numbers of the memories that cannot be found."""
        return [number for number, alive in enumerate(self._alive) if not alive]

    def remembered_numbers(self) -> Iterator[int]:
        """Yield the numbers of the memories that can be found."""
        return (number for number, alive in enumerate(self._alive) if alive)

    def save(self) -> list[Any]:
        """Return as JSON what finding would have to work out again."""
        return [index.save() for index in self._indexes.values()]

    def load(self, saved: Sequence[Any]) -> None:
        """Take over what `save` returned, once the same memories have been added."""
        for index, held in zip(self._indexes.values(), saved, strict=True):
            index.load(held)

    def search(self, queries: Sequence[str], *, before: int, within: Range | None = None) -> Ranked:
        """Return the best memories of what was said before a saying, with what they are worth.

        `within`: only those of that time, or that tell of it; all if there are none.
        """
        import numpy as np

        how = self._settings.retrieval
        alive = np.frombuffer(bytes(self._alive), dtype=np.uint8) * (np.asarray(self._firsts) < before)
        if within is not None:
            timely = np.fromiter((self._falls(item, within) for item in self.items), dtype=np.uint8)
            alive = alive * timely if (alive * timely).any() else alive
        if not alive.any():
            return []
        rankings = []
        for index in self._indexes.values():
            worth: dict[int, float] = {}
            for query in queries:
                for number, value in index.best_keys(query, how.candidates, alive):
                    worth[number] = max(value, worth.get(number, value))
            rankings.append(sorted(worth.items(), key=lambda one: (-one[1], one[0])))
        return fuse_rankings(rankings, how.candidates * len(queries))

    def _falls(self, item: MemoryItem, within: Range) -> bool:
        at = self.log.said[item.span.first].at
        return (at is not None and within.contains_moment(at)) or any(
            one.start < within.end and within.start < one.end for one in item.times
        )

    def notes(self, numbers: Sequence[int], before: int) -> Iterator[tuple[int, MemoryHit]]:
        """Yield memories as they are shown, with their numbers: none that others hold, nothing from `before` on.

        Made one by one, because most are never shown.
        """
        how = self._settings.retrieval
        shown: dict[int, list[tuple[int, int]]] = {}
        for number in numbers:
            item = self.items[number]
            if item.text is not None:
                at = self.log.said[item.span.first].at
                yield number, MemoryHit(str(number), (Utterance("", item.text, at),), str(item.session))
                continue
            span = self._widened(item.span, before)
            if how.distinct < 1 and self._known(span, shown) > how.distinct:
                continue
            for saying, start, end in self._stretches(span):
                shown.setdefault(saying, []).append((start, end))
            yield number, MemoryHit(str(number), self.log.parts(span), str(item.session))

    def _widened(self, span: Span, before: int) -> Span:
        if self._settings.retrieval.expand is None:
            return span
        wide = self.log.expand_span(span, *self._settings.retrieval.expand)
        if wide.last < before:
            return wide
        return replace(wide, last=before - 1, end=self.log.tokens(before - 1))

    def _stretches(self, span: Span) -> Iterator[tuple[int, int, int]]:
        for saying in range(span.first, span.last + 1):
            start = span.start if saying == span.first else 0
            yield saying, start, span.end if saying == span.last else self.log.tokens(saying)

    def _known(self, span: Span, shown: Mapping[int, Sequence[tuple[int, int]]]) -> float:
        """Return the share of a span's tokens that one of the spans shown has as well, at least."""
        total = held = 0
        for saying, start, end in self._stretches(span):
            total += end - start
            held += (
                max((min(end, b) - max(start, a) for a, b in shown.get(saying, ())), default=0) if end > start else 0
            )
        return held / total if total else 1.0

    def sources(self, number: int) -> list[str]:
        """Return the texts that a memory is from, each as it was told: a message, a reply, or both on two lines."""
        item, utterances = self.items[number], self.log.said
        if item.cites:
            return [utterances[saying].text for saying in item.cites]
        if self._settings.value.unit in {"turn", "chunk"} and item.text is None:
            return [utterances[item.span.first].text]
        if item.text is not None and self._settings.value.unit not in {"fact", "observation", "summary"}:
            return [item.text]
        firsts = range(item.span.first - item.span.first % 2, item.span.last + 1, 2)
        return ["\n".join(one.text for one in utterances[first : first + 2] if one.text) for first in firsts]
