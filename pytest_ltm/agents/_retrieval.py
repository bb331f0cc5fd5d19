"""Retrieving: a memory of the newest exchanges, and of older ones that share words with the message."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORD = re.compile(r"\w+")
_GROWTH = 0.05
"""The index is built anew when it lacks this share of the exchanges, so that building costs linear time in all."""
_RECENT = 0.25
"""The share of the tokens that the newest exchanges get, whatever their words."""


class Retrieving:
    """Sees what fits into so many tokens: the newest exchanges, then older ones ranked by BM25 against the message.

    With `top` it sees so many of the ranked ones, of any length, and no newest ones.
    """

    def __init__(self, tokens: int, count: Callable[[str], int], top: int | None = None) -> None:
        self._tokens, self._count, self._top = tokens, count, top
        self._texts: list[str] = []
        self._sizes: list[int] = []
        self._index: Any = None
        self._indexed = 0
        self._seen: frozenset[int] | None = None
        self._best: list[int] = []
        self._overlooked: set[int] = set()
        self._written: list[str] = []

    def arrive(self, message: str) -> None:
        """Add the message; what is seen depends on it."""
        self._texts.append(message)
        self._sizes.append(self._count(message))
        self._seen, self._best = None, []

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        self._texts[-1] += f"\n{reply}"
        self._sizes[-1] += self._count(reply)

    def overlook(self) -> None:
        """Never retrieve the last message: it only asks."""
        self._overlooked.add(len(self._texts) - 1)

    def sees(self, position: int) -> bool:
        """Return whether the exchange is among those retrieved for the message being answered."""
        if self._seen is None:
            self._seen = frozenset(self._retrieved())
        return position in self._seen

    def shown(self) -> list[str]:
        """Return the texts of the earlier exchanges that were retrieved, message and reply, the best match first.

        None where nobody looked: a message that needs no memory retrieves nothing.
        """
        return [self._texts[position] for position in self._best]

    def state(self) -> list[int]:
        """Return what is never retrieved."""
        return sorted(self._overlooked)

    def lines(self) -> list[str]:
        """Return each exchange as a line of JSON, made once: saving only joins lines."""
        for number in range(len(self._written), len(self._texts) - 1):  # the last one may lack its reply
            self._written.append(self._line(number))
        return [*self._written, *([self._line(-1)] if self._texts else [])]

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""
        self._overlooked = set(state)

    def take(self, lines: Sequence[str]) -> None:
        """Hold the exchanges of `lines` and no others."""
        exchanges = [json.loads(line) for line in lines]
        self._texts, self._sizes = [text for text, _ in exchanges], [size for _, size in exchanges]
        self._written = list(lines[:-1])
        self._index, self._indexed, self._seen, self._best = None, 0, None, []

    def _line(self, number: int) -> str:
        return json.dumps([self._texts[number], self._sizes[number]])

    def _retrieved(self) -> list[int]:
        newest = len(self._texts) - 1
        if self._top is not None:
            self._best = self._ranked(self._texts[newest])[: self._top]
            return [newest, *self._best]
        chosen, left = [newest], self._tokens - self._sizes[newest]
        recent = left * (1 - _RECENT)
        for position in range(newest - 1, -1, -1):
            if position in self._overlooked:
                continue
            if left - self._sizes[position] < recent:
                break
            chosen.append(position)
            left -= self._sizes[position]
        known, ranked = set(chosen), self._ranked(self._texts[newest])
        for position in ranked:
            if position not in known and self._sizes[position] <= left:
                chosen.append(position)
                left -= self._sizes[position]
        places = {position: place for place, position in enumerate(ranked)}
        self._best = sorted(chosen[1:], key=lambda position: (places.get(position, len(places)), -position))
        return chosen

    def _ranked(self, message: str) -> list[int]:
        earlier = len(self._texts) - 1
        if earlier and (self._index is None or self._lacks(earlier)):
            self._build(earlier)
        words = [word for word in _words(message) if self._index and word in self._index.vocab_dict]
        if not words:
            return []
        scores = self._index.get_scores(words)
        ranked = sorted(range(self._indexed), key=lambda position: (-scores[position], position))
        return [position for position in ranked if scores[position] > 0]

    def _lacks(self, earlier: int) -> bool:
        """Return whether the index is out of date; where the newest are not seen anyway, one exchange is enough."""
        if self._top is not None:
            return any(position not in self._overlooked for position in range(self._indexed, earlier))
        return earlier - self._indexed > _GROWTH * self._indexed

    def _build(self, size: int) -> None:
        import bm25s  # noqa: PLC0415 - only agents with this memory need it

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # every failure's report would have a line for each index
        self._index = bm25s.BM25()
        texts = ("" if n in self._overlooked else text for n, text in enumerate(self._texts[:size]))
        self._index.index([_words(text) or [""] for text in texts], show_progress=False)
        self._indexed = size


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
