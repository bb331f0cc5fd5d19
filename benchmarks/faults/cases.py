"""Cases: what a row of the matrix is made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Outcome(NamedTuple):
    """The outcome of a case."""

    tried: int
    lost: Sequence[str] = ()
    """A sentence for each of those tried that did not survive."""


class Case(NamedTuple):
    """One thing to try; its name is that of its folder."""

    name: str
    play: Callable[..., Outcome]
    """Takes the case's folder, which is empty, and what follows."""
    given: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the cases of a row need to know."""

    folder: Path
    """For what the cases share, such as undisturbed runs."""
    size: int
    """How many are to be tried."""
    seed: int = 0

    def chance(self, of: object) -> random.Random:
        """Return the source of a case's random choices."""
        return random.Random(f"{self.seed} {self.folder.name} {of}")

    def some(self, all_of: Sequence[T]) -> list[T]:
        """Return as many as are to be tried, in order; all where there are no more."""
        if len(all_of) <= self.size:
            return list(all_of)
        return [
            all_of[place]
            for place in sorted(
                self.chance("some").sample(range(len(all_of)), self.size)
            )
        ]


Cases = Callable[[Setting], Iterator[Case]]


def one(survived: str | None) -> Outcome:
    """Return the outcome of a case that tries one thing: None if it survived, otherwise why it is lost."""
    return Outcome(1, () if survived is None else (survived,))
