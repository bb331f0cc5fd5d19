"""The published mixture of fillers: half of them evidence of other questions, the rest in equal parts from files."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval.compile._clash import Clash
from pytest_ltm.datasets.longmemeval.compile._fillers import Filler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_ltm.datasets.longmemeval.compile._corpus import Corpus
    from pytest_ltm.datasets.longmemeval.compile._needles import NeedleRecord

_TRIES = 40
"""So many sessions are looked at for one that fits into what is left."""


@dataclass(frozen=True, slots=True)
class MixedFillers:
    """Fillers from files (Wu et al., ICLR 2025: 50 % sessions of other attributes, 25 % and 25 % public chats)."""

    others: Corpus
    """The needles' own file: the evidence of its other questions."""
    chats: Sequence[Corpus]
    count: Callable[[str], int]

    def supply(self, record: NeedleRecord, seed: str) -> _Mixed:
        """Return the fillers of one question: none twice, none that clashes with it, the same ones for a seed."""
        weights = [1.0, *(1 / len(self.chats) for _ in self.chats)]
        streams = [one.draws(Random(f"{number} {seed}")) for number, one in enumerate((self.others, *self.chats))]
        return _Mixed(Random(seed), streams, weights, Clash(record), self.count)


class _Mixed:
    def __init__(
        self,
        rng: Random,
        streams: list[Iterator[tuple[str, list[dict[str, Any]]]]],
        weights: list[float],
        clash: Clash,
        count: Callable[[str], int],
    ) -> None:
        self._rng, self._streams, self._weights, self._clash, self._count = rng, streams, weights, clash, count
        self._used: set[str] = set()

    def next(self, room: int | None) -> Filler | None:
        """Return another filler of at most `room` tokens, None where none of some dozens fits or none is left."""
        tries = 0
        while self._streams and (room is None or tries < _TRIES):
            place = self._rng.choices(range(len(self._streams)), self._weights)[0]
            drawn = next(self._streams[place], None)
            if drawn is None:
                del self._streams[place], self._weights[place]
                continue
            tries += 1
            filler = self._usable(*drawn)
            if filler is not None and (room is None or filler.tokens <= room):
                self._used.add(filler.id)
                return filler
        return None

    def _usable(self, name: str, turns: list[dict[str, Any]]) -> Filler | None:
        user = "\n".join(turn["content"] for turn in turns if turn["role"] == "user")
        if not turns or name in self._used or self._clash.with_session(name, user):
            return None
        return Filler(name, turns, sum(self._count(turn["content"]) for turn in turns))
