"""Index: finds the keys most similar to a query, by words (BM25) or by vectors.

It grows without being rebuilt.
"""

from __future__ import annotations

import math
from array import array
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm.agents.reader.memory_policies import LENGTH, SATURATION
from pytest_ltm.api.storage import AgentFault, describe_error, lazy_pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray


EmbeddingFunction: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, all of one length."""
Ranked: TypeAlias = "list[tuple[int, float]]"
"""Numbers of keys with their scores, best first; the older of equals first."""
_WORD = lazy_pattern(r"\w+")
# Maximum bytes of vectors saved with each state: those of 5,400 memories by MiniLM.
SAVED_BYTES = 8 << 20


class Words:
    """Keys numbered from 0, searched by BM25.

    Adding takes time linear in the key; a search, in the occurrences of the query's
    words.
    """

    def __init__(self) -> None:
        self._places: dict[str, array[int]] = {}
        """For each word, the keys that contain it, each followed by its count."""
        self._sizes = array("d")

    def add(self, keys: Sequence[str]) -> None:
        """Add keys."""
        for key in keys:
            number = len(self._sizes)
            counts = Counter(_search_words(key))
            for word, times in counts.items():
                self._places.setdefault(word, array("I")).extend((number, times))
            self._sizes.append(sum(counts.values()))

    def best_keys(self, query: str, k: int, alive: Any) -> Ranked:
        """Return the `k` best keys; keys without any word of the query are left out."""
        import numpy as np

        total = len(self._sizes)
        places = []
        for word in dict.fromkeys(_search_words(query)):
            if word in self._places:
                places.append(self._places[word])
        if not places:
            return []
        sizes = np.frombuffer(self._sizes)
        norms = SATURATION * (
            1 - LENGTH + LENGTH * sizes / max(1.0, float(sizes.mean()))
        )
        worth = np.zeros(total)
        for of_word in places:
            pairs = np.frombuffer(of_word, dtype=np.uint32).reshape(-1, 2)
            numbers = pairs[:, 0]
            times = pairs[:, 1]
            rarity = math.log(1 + (total - len(numbers) + 0.5) / (len(numbers) + 0.5))
            worth[numbers] += rarity * times / (times + norms[numbers])
        return _top_ranked(worth * np.asarray(alive), k, above=0.0)

    def save(self) -> None:
        """Return None: counting words again takes almost no time."""

    def load(self, saved: Any) -> None:
        """Do nothing."""


def _search_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class Vectors:
    """Keys numbered from 0, searched by cosine similarity."""

    def __init__(
        self, embeds: EmbeddingFunction, *, saved_bytes: int = SAVED_BYTES
    ) -> None:
        """`saved_bytes`: the maximum bytes of vectors in `save()`; later ones are computed again."""
        self._embeds = embeds
        self._saved_bytes = saved_bytes
        self._size = 0
        self._fresh: list[str] = []
        self._rows: NDArray[Any] | None = None
        """With spare rows, so that adding a vector takes constant time."""

    def add(self, keys: Sequence[str]) -> None:
        """Add keys; they are embedded together, at the first search."""
        self._fresh += keys

    def save(self) -> Any:
        """Return the oldest vectors, exactly, as many as may be saved with every state; None without any."""
        if self._rows is None:
            return None
        count = min(self._size, self._saved_bytes // self._rows[0].nbytes)
        if count:
            return {
                "count": count,
                "rows": b64encode(self._rows[:count].tobytes()).decode(),
            }
        return None

    def load(self, saved: Any) -> None:
        """Restore the vectors of the first keys; the others are embedded as usual."""
        if saved is None:
            return
        import numpy as np

        self._size = saved["count"]
        # Read-only and full: the next vector is written into a larger copy.
        self._rows = np.frombuffer(b64decode(saved["rows"]), dtype=np.float32).reshape(
            self._size, -1
        )
        self._fresh = self._fresh[self._size :]

    def best_keys(self, query: str, k: int, alive: Any) -> Ranked:
        """Return the `k` best keys."""
        import numpy as np

        if self._fresh:
            # Together, as late as possible: an endpoint takes 128 texts in one request.
            vectors = self.vectors(self._fresh)
            needed = self._size + len(vectors)
            if self._rows is None or needed > len(self._rows):
                grown = np.zeros(
                    (max(64, 2 * needed), vectors.shape[1]), dtype=np.float32
                )
                if self._rows is not None:
                    grown[: self._size] = self._rows[: self._size]
                self._rows = grown
            self._rows[self._size : needed] = vectors
            self._size = needed
            self._fresh = []
        if self._rows is None:
            return []
        likeness = self._rows[: self._size] @ self.vectors([query])[0]
        return _top_ranked(
            np.where(np.asarray(alive) > 0, likeness, -np.inf), k, above=-math.inf
        )

    def vectors(self, texts: list[str]) -> NDArray[Any]:
        """Return the vectors of texts, each of length 1; AgentFault for invalid ones."""
        import numpy as np

        try:
            result = np.asarray(
                [list(embed) for embed in self._embeds(texts)], dtype=np.float32
            )
        except AgentFault:
            raise
        except Exception as error:
            raise AgentFault(
                f"the embeddings failed: {describe_error(error)}"
            ) from error
        if result.ndim != 2 or len(result) != len(texts):
            count = len(result)
            raise AgentFault(
                f"the embeddings gave {count} vectors for {len(texts)} texts, or some without numbers"
            )
        size = result.shape[1]
        former_size = result.shape[1] if self._rows is None else self._rows.shape[1]
        if size != former_size:
            raise AgentFault(
                f"the embeddings gave vectors of {size} numbers, and of {former_size} before"
            )
        if not np.isfinite(result).all():
            raise AgentFault(
                "the embeddings gave a vector with NaN or an infinite number"
            )
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        shares: NDArray[Any] = result / np.where(lengths > 0, lengths, 1)
        return shares


def _top_ranked(worth: Any, k: int, *, above: float) -> Ranked:
    import numpy as np

    numbers = np.flatnonzero(worth > above)
    if len(numbers) > k:
        # Only candidates for the k best are sorted: there may be a million keys.
        least = np.partition(worth[numbers], len(numbers) - k)[len(numbers) - k]
        numbers = numbers[worth[numbers] >= least]
    ranked = numbers[np.argsort(-worth[numbers], kind="stable")][:k]
    return [(int(number), float(worth[number])) for number in ranked]


def fuse_rankings(rankings: Sequence[Ranked], k: int) -> Ranked:
    """Return the `k` best of several rankings by the sum of their reciprocal ranks.

    The usual constant of 60 is added to each rank.
    """
    if len(rankings) == 1:
        return rankings[0][:k]
    worth: dict[int, float] = {}
    for ranked in rankings:
        for rank, (number, _) in enumerate(ranked, start=1):
            worth[number] = worth.get(number, 0.0) + 1 / (_RANKS + rank)
    return sorted(worth.items(), key=lambda entry: (-entry[1], entry[0]))[:k]


_RANKS = 60
