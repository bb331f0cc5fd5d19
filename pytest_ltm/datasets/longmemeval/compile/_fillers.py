"""What stands around the evidence: sources of filler sessions, and the one that needs no corpus."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ltm.datasets.longmemeval.compile._clash import Clash
from pytest_ltm.datasets.longmemeval.generate._sessions import Aside, session
from pytest_ltm.datasets.longmemeval.generate._talk import LEAST, theme_of
from pytest_ltm.datasets.longmemeval.generate._texts import attributes, tastes, themes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm.datasets.longmemeval.compile._needles import NeedleRecord

SESSION_TOKENS = (700, 3600)
"""A generated filler session is about so long: 2,100 tokens on average, near the published histories."""
_WITH_ASIDE = 0.5
"""So many filler sessions tell something else about the user, as in the published mixture (Wu et al., 2025)."""


@dataclass(frozen=True, slots=True)
class Filler:
    """One filler session."""

    id: str
    turns: list[dict[str, Any]]
    tokens: int


class Supply(Protocol):
    """Fillers for one history."""

    def next(self, room: int | None) -> Filler | None:
        """Return another filler of at most `room` tokens; None: there is none that fits."""


class Fillers(Protocol):
    """A source of fillers."""

    def supply(self, record: NeedleRecord, seed: str) -> Supply:
        """Return the fillers of one question's history, the same ones for a seed."""


@dataclass(frozen=True, slots=True)
class GeneratedFillers:
    """Endless task-oriented sessions; half of them mention something else about the user, each thing once."""

    count: Callable[[str], int]

    def supply(self, record: NeedleRecord, seed: str) -> Supply:
        """Return fillers of which none is about anything that the question or its evidence speaks of."""
        return _Generated(Random(seed), self.count, _asides(Random(f"asides {seed}"), Clash(record)))


class _Generated:
    def __init__(self, rng: Random, count: Callable[[str], int], asides: list[tuple[str, Aside]]) -> None:
        self._rng, self._count, self._asides, self._made = rng, count, asides, 0

    def next(self, room: int | None) -> Filler | None:
        size = self._rng.randint(*SESSION_TOKENS)
        if room is not None:
            if room < LEAST:
                return None
            size = room if room < SESSION_TOKENS[0] else min(size, room)
        theme, aside = theme_of(self._rng), None
        if self._asides and size >= SESSION_TOKENS[0] and self._rng.random() < _WITH_ASIDE:
            name, aside = self._asides.pop()
            theme = themes()[name]
        turns = session(self._rng, theme, self._count, tokens=size, aside=aside)
        for turn in turns:
            turn.pop("has_answer", None)
        self._made += 1
        tokens = sum(self._count(turn["content"]) for turn in turns)
        if room is not None and tokens > room:
            return None
        return Filler(f"task_{self._rng.getrandbits(32):08x}", turns, tokens)


def _asides(rng: Random, clash: Clash) -> list[tuple[str, Aside]]:
    """Return what fillers may tell about the user, with its theme, in a random order."""
    said = [
        (row.theme, rng.choice(row.say).format(v=rng.choice(row.values)), " ".join((*row.words, *row.ask)))
        for row in attributes()
    ]
    said += [(row.theme, row.said, row.said) for row in tastes()]
    kept = [(theme, Aside(text)) for theme, text, words in said if not clash.with_aside(theme, words)]
    rng.shuffle(kept)
    return kept
