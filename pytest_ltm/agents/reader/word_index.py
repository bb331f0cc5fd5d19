"""BM25 (Robertson and Zaragoza, 2009; k1 = 1.5, b = 0.75, rarities above 0) over texts that are added one by one."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SATURATION, LENGTH = 1.5, 0.75
"""k1 and b."""


class WordIndex:
    """Ranks texts by the words that they share with a query; texts have numbers from 0, in the order of adding."""

    def __init__(self) -> None:
        self._once: dict[str, list[int]] = {}
        """By word, the texts that have it once: nearly all that have it, and quickly scored."""
        self._often: dict[str, list[tuple[int, int]]] = {}
        """By word, the texts that have it more often, with how often."""
        self._sizes: list[int] = []
        self._norms: list[float] = []
        self._worth_once: list[float] = []

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, words: Sequence[str]) -> None:
        """Add a text, as its words."""
        number = len(self._sizes)
        for word, times in Counter(words).items():
            if times == 1:
                self._once.setdefault(word, []).append(number)
            else:
                self._often.setdefault(word, []).append((number, times))
        self._sizes.append(max(len(words), 1))

    def rank(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of the texts that share a word with the query, best first; of equals the older first."""
        if len(self._norms) != len(self._sizes):
            slope = SATURATION * LENGTH * len(self._sizes) / sum(self._sizes)
            self._norms = [SATURATION * (1 - LENGTH) + slope * size for size in self._sizes]
            self._worth_once = [1 / (1 + norm) for norm in self._norms]
        norms, worth_once, size = self._norms, self._worth_once, len(self._sizes)
        scores = [0.0] * size
        for word, weight in Counter(words).items():
            once, often = self._once.get(word, ()), self._often.get(word, ())
            holders = len(once) + len(often)
            rarity = weight * math.log(1 + (size - holders + 0.5) / (holders + 0.5))
            for number in once:
                scores[number] += rarity * worth_once[number]
            for number, times in often:
                scores[number] += rarity * times / (times + norms[number])
        ranked = [number for number, score in enumerate(scores) if score]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return ranked
