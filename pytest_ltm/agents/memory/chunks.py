"""Log: all that was said, and pieces of it by tokens: chunks, and a chunk with the lines around it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_ltm._model.tokens import load_encoding
from pytest_ltm.agents.reader.memory_policies import ENCODING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.agents.memory.reading import Utterance


# Characters that are encoded at a time.
_LONGEST = 50_000


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Tokens of one saying, or of several that follow one another: from the first's `start` up to the last's `end`."""

    first: int
    start: int
    last: int
    end: int


class Log:
    """All that was said, in order."""

    def __init__(self) -> None:
        self.said: list[Utterance] = []
        self._starts: dict[int, array[int]] = {}

    def add(self, saying: Utterance) -> int:
        """Take in what was said; return its number."""
        self.said.append(saying)
        return len(self.said) - 1

    def tokens(self, number: int) -> int:
        """Return how many tokens a saying has."""
        return len(self._offsets(number)) - 1

    def text(self, number: int, start: int, end: int) -> str:
        """Return those tokens of a saying."""
        offsets = self._offsets(number)
        return self.said[number].text[offsets[start] : offsets[min(end, len(offsets) - 1)]]

    def parts(self, span: Span) -> tuple[Utterance, ...]:
        """Return what a span holds, a part for each saying."""
        result = []
        for number in range(span.first, span.last + 1):
            start = span.start if number == span.first else 0
            end = span.end if number == span.last else self.tokens(number)
            result.append(structs.replace(self.said[number], text=self.text(number, start, end).strip()))
        return tuple(part for part in result if part.text)

    def chunks(self, number: int, size: int, step: int) -> Iterator[Span]:
        """Yield a saying in chunks of `size` tokens, each `step` after the one before."""
        total = self.tokens(number)
        for start in range(0, max(1, total - size + step), step):
            yield Span(number, start, number, min(start + size, total))

    def expand_span(self, span: Span, least: int, most: int) -> Span:
        """Return a span with at least and at most that many tokens more on each side, up to the end of a line.

        Each saying ends a line. Where no line ends in between, `most` are added.
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
                return number, self._token_at(number, self._offsets(number)[low] + result + 1)
            return number, low
        return self._back(number - 1, self.tokens(number - 1), least - start, most - start)

    def _on(self, number: int, end: int, least: int, most: int) -> tuple[int, int]:
        left = self.tokens(number) - end
        if left >= least or number == len(self.said) - 1:
            least = min(least, left)
            text = self.text(number, end + least, end + most)
            reply = text.find("\n")
            if reply >= 0:
                return number, self._token_at(number, self._offsets(number)[end + least] + reply)
            return number, min(end + most, self.tokens(number))
        return self._on(number + 1, 0, least - left, most - left)

    def _token_at(self, number: int, character: int) -> int:
        return bisect_left(self._offsets(number), character)

    def _offsets(self, number: int) -> array[int]:
        if number not in self._starts:
            text = self.said[number].text
            known = load_encoding(ENCODING)
            offsets, at = array("I", [0]), 0
            for begin in range(0, len(text), _LONGEST):
                part = text[begin : begin + _LONGEST]
                for token in known.decode_tokens_bytes(known.encode_ordinary(part)):
                    at += sum(byte & 0xC0 != 0x80 for byte in token)
                    offsets.append(at)
                at = offsets[-1] = begin + len(part)
            self._starts[number] = offsets
        return self._starts[number]
