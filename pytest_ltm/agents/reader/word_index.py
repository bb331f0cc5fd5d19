"""BM25 (Robertson and Zaragoza, 2009; k1 = 1.5, b = 0.75, rarities above 0) over texts that are added one by one."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SATURATION, LENGTH = 1.5, 0.75
"""k1 and b."""


class WordIndex:
    """Ranks texts by the words that they share with a query; texts have numbers from 0, in the order of adding."""

    def __init__(self) -> None:
        # Arrays: each number in a list would be an object, eight times the size.
        self._once: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        """By word, the texts that have it once: nearly all that have it, and quickly scored."""
        self._often: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        """By word, the texts that have it more often, each with how often behind it."""
        self._sizes = array("I")
        self._norms: array[float] = array("d")
        self._worth_once: array[float] = array("d")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, words: Sequence[str]) -> None:
        """Add a text, as its words."""
        number = len(self._sizes)
        for word, times in Counter(words).items():
            if times == 1:
                self._once[word].append(number)
            else:
                self._often[word].extend((number, times))
        self._sizes.append(max(len(words), 1))

    def rank(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of the texts that share a word with the query, best first; of equals the older first."""
        scores = self._score(words)
        ranked = [number for number, score in enumerate(scores) if score]
        ranked.sort(key=scores.__getitem__, reverse=True)
        return ranked

    def _score(self, words: Sequence[str]) -> list[float]:
        self._measure_sizes()
        norms, worth_once, size = self._norms, self._worth_once, len(self._sizes)
        scores = [0.0] * size
        for word, weight in Counter(words).items():
            once, often = self._once.get(word, ()), self._often.get(word, ())
            holders = len(once) + len(often) // 2
            rarity = weight * math.log(1 + (size - holders + 0.5) / (holders + 0.5))
            for number in once:
                scores[number] += rarity * worth_once[number]
            for number, times in zip(often[::2], often[1::2], strict=True):
                scores[number] += rarity * times / (times + norms[number])
        return scores

    def _measure_sizes(self) -> None:
        if len(self._norms) == len(self._sizes):
            return
        slope = SATURATION * LENGTH * len(self._sizes) / sum(self._sizes)
        self._norms = array("d", (SATURATION * (1 - LENGTH) + slope * size for size in self._sizes))
        self._worth_once = array("d", (1 / (1 + norm) for norm in self._norms))
