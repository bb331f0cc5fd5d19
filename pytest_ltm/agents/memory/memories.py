"""Memories: the whole conversation, what a system keeps of it, and how that is found and shown."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from pytest_ltm.agents.memory.reading import MemoryHit, Utterance
from pytest_ltm.agents.memory.searching import (
    EmbeddingFunction,
    Ranked,
    Vectors,
    Words,
    fuse_rankings,
)
from pytest_ltm.agents.reader.memory_policies import ENCODING
from pytest_ltm.api.model import load_encoding

if TYPE_CHECKING:
    from pytest_ltm.agents.memory.parameters import MemorySettings


# Characters to encode at a time.
_LONGEST = 50_000


class Span(Struct, frozen=True, array_like=True):
    """Tokens of one or more consecutive utterances: from `start` in the first up to `end` in the last."""

    first: int
    start: int
    last: int
    end: int


class Range(Struct, frozen=True, array_like=True):
    """A range of time between two aware moments."""

    start: datetime
    end: datetime

    def contains_moment(self, moment: datetime) -> bool:
        """Return whether a moment is within the range."""
        return self.start <= moment <= self.end

    def concerns(self, moment: datetime | None, times: Iterable[Range]) -> bool:
        """Return whether the moment is within the range, or one of the times overlaps it."""
        if moment is not None and self.contains_moment(moment):
            return True
        for time_range in times:
            if time_range.start < self.end and self.start < time_range.end:
                return True
        return False


class Log:
    """All utterances, in order."""

    def __init__(self) -> None:
        self.utterances: list[Utterance] = []
        self._starts: dict[int, array[int]] = {}

    def add(self, utterance: Utterance) -> int:
        """Add an utterance; return its number."""
        self.utterances.append(utterance)
        return len(self.utterances) - 1

    def tokens(self, number: int) -> int:
        """Return the number of tokens of an utterance."""
        return len(self._offsets(number)) - 1

    def text(self, number: int, start: int, end: int) -> str:
        """Return the text of these tokens of an utterance."""
        offsets = self._offsets(number)
        return self.utterances[number].text[
            offsets[start] : offsets[min(end, len(offsets) - 1)]
        ]

    def span(self, first: int, last: int) -> Span:
        """Return the span of whole utterances from `first` to `last`."""
        return Span(first, 0, last, self.tokens(last))

    def parts(self, span: Span) -> tuple[Utterance, ...]:
        """Return the contents of a span, one part per utterance."""
        parts = []
        for number, start, end in self.stretches(span):
            text = self.text(number, start, end).strip()
            if text:
                parts.append(structs.replace(self.utterances[number], text=text))
        return tuple(parts)

    def stretches(self, span: Span) -> Iterator[tuple[int, int, int]]:
        """Yield each utterance of a span with its first and last token there."""
        for number in range(span.first, span.last + 1):
            start = span.start if number == span.first else 0
            yield (
                number,
                start,
                span.end if number == span.last else self.tokens(number),
            )

    def chunks(self, number: int, size: int, step: int) -> Iterator[Span]:
        """Yield an utterance in chunks of `size` tokens that begin every `step` tokens."""
        total = self.tokens(number)
        for start in range(0, max(1, total - size + step), step):
            yield Span(number, start, number, min(start + size, total))

    def expand_span(self, span: Span, least: int, most: int) -> Span:
        """Return a span with `least` to `most` more tokens on each side, up to the end of a line.

        Each utterance ends a line. If no line ends within that range, `most` tokens are
        added.
        """
        first, start = self._back(span.first, span.start, least, most)
        last, end = self._on(span.last, span.end, least, most)
        return Span(first, start, last, end)

    def _back(self, number: int, start: int, least: int, most: int) -> tuple[int, int]:
        if start >= least or not number:
            least = min(least, start)
            low = max(0, start - most)
            result = self.text(number, low, start - least).rfind("\n")
            if result >= 0:
                return number, self._token_at(
                    number, self._offsets(number)[low] + result + 1
                )
            return number, low
        return self._back(
            number - 1, self.tokens(number - 1), least - start, most - start
        )

    def _on(self, number: int, end: int, least: int, most: int) -> tuple[int, int]:
        remaining = self.tokens(number) - end
        if remaining >= least or number == len(self.utterances) - 1:
            least = min(least, remaining)
            text = self.text(number, end + least, end + most)
            reply = text.find("\n")
            if reply >= 0:
                return number, self._token_at(
                    number, self._offsets(number)[end + least] + reply
                )
            return number, min(end + most, self.tokens(number))
        return self._on(number + 1, 0, least - remaining, most - remaining)

    def _token_at(self, number: int, character: int) -> int:
        return bisect_left(self._offsets(number), character)

    def _offsets(self, number: int) -> array[int]:
        # Cached: an utterance is measured for each span that ends in it, and cut each
        # time a part of it is shown.
        if number not in self._starts:
            text = self.utterances[number].text
            encoding = load_encoding(ENCODING)
            offsets = array("I", [0])
            offset = 0
            for begin in range(0, len(text), _LONGEST):
                part = text[begin : begin + _LONGEST]
                # A token may end inside a character, so only bytes that begin a
                # character are counted.
                for token in encoding.decode_tokens_bytes(
                    encoding.encode_ordinary(part)
                ):
                    offset += sum(byte & 0xC0 != 0x80 for byte in token)
                    offsets.append(offset)
                offset = offsets[-1] = begin + len(part)
            self._starts[number] = offsets
        return self._starts[number]


class MemoryItem(Struct, frozen=True, kw_only=True):
    """One memory."""

    span: Span
    """The utterances that it is about."""
    session: int
    text: str | None = None
    """The text derived from them; None: the memory is the utterances themselves."""
    cites: tuple[int, ...] = ()
    """The utterances that it is derived from, if not from all of them."""
    keys: dict[str, str] = {}
    """Additional search keys, by kind."""
    times: tuple[Range, ...] = ()
    """The times of the events in it."""


class Memories:
    """All memories of one conversation; independent of any thinker."""

    def __init__(
        self, settings: MemorySettings, embeds: EmbeddingFunction | None = None
    ) -> None:
        self._settings = settings
        self.log = Log()
        self.items: list[MemoryItem] = []
        kinds = settings.key if settings.join == "ranks" else ("all",)
        self._indexes: dict[str, Words | Vectors] = {}
        for kind in kinds:
            self._indexes[kind] = Words() if embeds is None else Vectors(embeds)
        # Bytes and an array, which numpy reads without creating objects.
        self._alive = bytearray()
        self._firsts = array("I")
        self._oldest = 0

    def say(self, message: str, reply: str, moment: datetime | None) -> int:
        """Add an exchange; return the number of the message (the reply has the next one)."""
        number = self.log.add(Utterance("user", message, moment))
        self.log.add(Utterance("assistant", reply, moment))
        return number

    def add(self, item: MemoryItem) -> int:
        """Add a memory, dropping the oldest beyond the capacity; return its number."""
        value = item.text
        if value is None:
            value = "\n".join(part.text for part in self.log.parts(item.span))
        keys = {"value": value, **item.keys}
        text_by_key = {kind: keys.get(kind, "") for kind in self._settings.key}
        more_texts = []
        for kind, text in text_by_key.items():
            if kind != "value" and text:
                more_texts.append(text)
        if self._settings.join == "replace" and more_texts:
            text_by_key["all"] = "\n".join(more_texts)
        else:
            text_by_key["all"] = "\n".join(filter(None, text_by_key.values()))
        for kind, index in self._indexes.items():
            index.add([text_by_key[kind]])
        self.items.append(item)
        self._alive.append(1)
        self._firsts.append(item.span.first)
        if (
            self._settings.retrieval.capacity
            and len(self.items) - self._oldest > self._settings.retrieval.capacity
        ):
            self._alive[self._oldest] = 0
            self._oldest += 1
        return len(self.items) - 1

    def forget_memory(self, number: int) -> None:
        """Exclude a memory from all further searches."""
        self._alive[number] = 0

    def forgotten_numbers(self) -> list[int]:
        """Return the numbers of the memories that cannot be found."""
        return [number for number, alive in enumerate(self._alive) if not alive]

    def remembered_numbers(self) -> Iterator[int]:
        """Yield the numbers of the memories that can be found."""
        return (number for number, alive in enumerate(self._alive) if alive)

    def save(self) -> list[Any]:
        """Return, as JSON, the index data that is expensive to compute."""
        return [index.save() for index in self._indexes.values()]

    def load(self, saved: Sequence[Any]) -> None:
        """Restore what `save` returned, after the same memories have been added."""
        for index, vectors in zip(self._indexes.values(), saved, strict=True):
            index.load(vectors)

    def search(
        self, queries: Sequence[str], *, before: int, within: Range | None = None
    ) -> Ranked:
        """Return the best memories from before an utterance, with their scores.

        `within`: only memories from, or about, that time; all if there are none.
        """
        import numpy as np

        how = self._settings.retrieval
        alive = np.frombuffer(bytes(self._alive), dtype=np.uint8) * (
            np.asarray(self._firsts) < before
        )
        if within is not None:
            timed = []
            for item in self.items:
                moment = self.log.utterances[item.span.first].at
                timed.append(within.concerns(moment, item.times))
            timely = np.fromiter(timed, dtype=np.uint8)
            # If nothing is kept about that time, the question searches everything.
            alive = alive * timely if (alive * timely).any() else alive
        if not alive.any():
            return []
        rankings = []
        for index in self._indexes.values():
            worth: dict[int, float] = {}
            for query in queries:
                for number, value in index.best_keys(query, how.candidates, alive):
                    worth[number] = max(value, worth.get(number, value))
            rankings.append(
                sorted(worth.items(), key=lambda entry: (-entry[1], entry[0]))
            )
        return fuse_rankings(rankings, how.candidates * len(queries))

    def notes(self, numbers: Sequence[int], before: int) -> Iterator[MemoryHit]:
        """Yield memories as shown, their numbers as ids; none that others cover, and nothing from `before` on.

        Generated lazily, because most are never shown.
        """
        how = self._settings.retrieval
        intervals: dict[int, list[tuple[int, int]]] = {}
        for number in numbers:
            item = self.items[number]
            if item.text is not None:
                # Derived text is shown whole: it repeats no tokens of the conversation.
                moment = self.log.utterances[item.span.first].at
                derived = Utterance("", item.text, moment)
                yield MemoryHit(str(number), (derived,), str(item.session))
                continue
            if how.expand is None:
                span = item.span
            else:
                span = self.log.expand_span(item.span, *how.expand)
            if span.last >= before and how.expand is not None:
                span = structs.replace(
                    span, last=before - 1, end=self.log.tokens(before - 1)
                )
            if how.distinct < 1 and self._known(span, intervals) > how.distinct:
                continue
            for place, start, end in self.log.stretches(span):
                intervals.setdefault(place, []).append((start, end))
            yield MemoryHit(str(number), self.log.parts(span), str(item.session))

    def _known(
        self, span: Span, intervals: Mapping[int, Sequence[tuple[int, int]]]
    ) -> float:
        """Return the share of a span's tokens that the shown spans already cover, at least."""
        total = covered = 0
        for number, start, end in self.log.stretches(span):
            total += end - start
            if end > start:
                covered += max(
                    (min(end, b) - max(start, a) for a, b in intervals.get(number, ())),
                    default=0,
                )
        return covered / total if total else 1.0

    def sources(self, number: int) -> list[str]:
        """Return the source texts of a memory as they were told: a message, a reply, or both on two lines."""
        item = self.items[number]
        utterances = self.log.utterances
        if item.cites:
            return [utterances[number].text for number in item.cites]
        if self._settings.value.unit in {"turn", "chunk"} and item.text is None:
            return [utterances[item.span.first].text]
        if item.text is not None and self._settings.value.unit not in {
            "fact",
            "observation",
            "summary",
        }:
            return [item.text]
        firsts = range(item.span.first - item.span.first % 2, item.span.last + 1, 2)
        sources = []
        for first in firsts:
            texts = [utterance.text for utterance in utterances[first : first + 2]]
            sources.append("\n".join(filter(None, texts)))
        return sources
