"""Invented words: names of worlds, towns, people and machines that nobody can know from anywhere else."""

from __future__ import annotations

import random

from pytest_ltm.language.invented_words import NAME_PARTS


class Inventions:
    """Invents words, no two of which begin with the same four letters."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._beginnings: set[str] = set()

    def name(self) -> str:
        """Return a new name, such as `Velarmere`."""
        while True:
            word = "".join(self._rng.choice(parts) for parts in NAME_PARTS)
            if word[:4] not in self._beginnings:
                self._beginnings.add(word[:4])
                return word

    def person(self) -> str:
        """Return a first and a last name."""
        return f"{self.name()} {self.name()}"
