"""Index of a told history: every passage once, found by the words that it shares with a question."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._history_lines import Saying, dated, sayings
from pytest_ltm.agents.reading._history_words import stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from pytest_ltm.agents.reading._notes import Note

PASSAGE = 320
"""Characters up to which sentences that follow one another are one passage."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SATURATION, _LENGTH = 1.2, 0.6
"""BM25's k1 and b; a word counts once in a passage."""
_NEIGHBOUR = 0.3
"""So much of the worth of what was said just before goes to what follows: an answer follows its question."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some sentences that one speaker said at a time."""

    number: int
    note: int
    """The number of its note."""
    speaker: str
    text: str
    at: date | None


@dataclass(frozen=True, slots=True)
class Found:
    """A passage and what it is worth for a question."""

    passage: Passage
    worth: float
    share: float
    """How much of the question's weight it has words of, 0 to 1."""


class Index:
    """All passages of the notes so far; grows with them, in time linear in what is added."""

    def __init__(self) -> None:
        self.speakers: dict[str, int] = {}
        """Who speaks, and how many passages are theirs."""
        self._passages: list[Passage] = []
        self._sizes = array("I")
        self._places: dict[str, array[int]] = {}
        self._notes: list[int] = []
        """The exchange's number of each note."""
        self._at: date | None = None

    def grow(self, notes: Sequence[Note]) -> None:
        """Take in the notes that it does not hold yet."""
        for note in notes[len(self._notes) :]:
            message, reply, day = note.content
            when, rest = dated(message)
            self._at = when or (None if day is None else date.fromisoformat(day)) or self._at
            for saying in sayings(rest, reply):
                for text in passages(saying.text):
                    self._add(saying, text)
            self._notes.append(note.position)

    def _add(self, saying: Saying, text: str) -> None:
        number = len(self._passages)
        self._passages.append(Passage(number, len(self._notes), saying.speaker, text, self._at))
        self.speakers[saying.speaker] = self.speakers.get(saying.speaker, 0) + 1
        known = set(stems(text))
        self._sizes.append(len(known))
        for one in known:
            self._places.setdefault(one, array("I")).append(number)

    def search(self, words: AbstractSet[str], sees: Callable[[int], bool]) -> list[Found]:
        """Return the passages that can be seen and share a word, best first; of equals the newest."""
        seen = [sees(position) for position in self._notes]
        if not any(seen):
            return []
        shown = bytearray(seen[passage.note] for passage in self._passages)
        places = {word: [n for n in self._places.get(word, ()) if shown[n]] for word in words}
        total, rarity = shown.count(1), {}
        for word, found in places.items():
            rarity[word] = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
        worth = self._worth(places, rarity)
        weight = sum(rarity.values()) or 1.0
        shares = self._shares(places, rarity, weight)
        ranked = sorted(worth, key=lambda n: (-worth[n], -n))
        return [Found(self._passages[n], worth[n], shares.get(n, 0.0)) for n in ranked]

    def _worth(self, places: dict[str, list[int]], rarity: dict[str, float]) -> dict[int, float]:
        mean = sum(self._sizes) / len(self._sizes)
        own: dict[int, float] = {}
        for word, found in places.items():
            gain = rarity[word] * (1 + _SATURATION)
            for n in found:
                norm = 1 - _LENGTH + _LENGTH * self._sizes[n] / mean
                own[n] = own.get(n, 0.0) + gain / (1 + _SATURATION * norm)
        return {n: value + _NEIGHBOUR * self._before(n, own) for n, value in own.items()}

    def _before(self, n: int, own: dict[int, float]) -> float:
        same = n and self._passages[n - 1].at == self._passages[n].at
        return own.get(n - 1, 0.0) if same else 0.0

    @staticmethod
    def _shares(places: dict[str, list[int]], rarity: dict[str, float], weight: float) -> dict[int, float]:
        shares: dict[int, float] = {}
        for word, found in places.items():
            for n in found:
                shares[n] = shares.get(n, 0.0) + rarity[word] / weight
        return shares

    def passage(self, number: int) -> Passage | None:
        """Return the passage of a number, None if there is none."""
        return self._passages[number] if 0 <= number < len(self._passages) else None


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def passages(text: str) -> Iterator[str]:
    """Yield a text in passages of whole sentences."""
    yield from _packed(sentences(text))


def _packed(parts: Iterable[str]) -> Iterator[str]:
    held = ""
    for part in parts:
        if held and len(held) + len(part) > PASSAGE:
            yield held
            held = ""
        held = f"{held} {part}" if held else part
    if held:
        yield held
