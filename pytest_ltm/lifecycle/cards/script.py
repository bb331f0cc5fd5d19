"""Script: what two users tell a memory, repeat, replace and withdraw, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_ltm.lifecycle.told_facts import SUBJECTS, Fact, FactMaker

VERSION = 1
"""Increased whenever the same seed draws a different script."""
ANN = "ann"
BO = "bo"
_OF_ANN = 24
_OF_BO = 12
_NUMBERED = 36
_REPLACED = 6
_WITHDRAWN = 4
_REPEATED = 4


@dataclass(frozen=True, slots=True)
class FactLife:
    """A fact and its later changes."""

    user: str
    told: Fact
    newer: Fact | None = None
    """The fact that replaces it."""
    is_withdrawn: bool = False
    is_repeated: bool = False

    @property
    def name(self) -> str:
        """The user and the subject of the fact."""
        return f"{self.user}'s {self.told.subject}"

    @property
    def current(self) -> Fact:
        """The fact that holds at the end."""
        return self.newer or self.told

    @property
    def current_text(self) -> str:
        """The message that states the fact that holds at the end."""
        if self.newer is None:
            return self.told.text
        return f"The name of my {self.newer.subject} is {self.newer.value} now."


@dataclass(frozen=True, slots=True)
class Script:
    """The messages in order: facts between fillers, repeated facts, new values, then withdrawals."""

    lives: tuple[FactLife, ...]
    others: tuple[str, ...]
    """Filler messages from ann about the same and other subjects, which are never asked for."""

    def lives_of(self, *users: str) -> list[FactLife]:
        """Return the facts of these users."""
        return [life for life in self.lives if life.user in users]

    def first_texts(self, users: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield user and text of all first statements, each fact between two fillers."""
        fillers = iter(self.others)
        for life in self.lives_of(*users):
            yield life.user, life.told.text
            for _ in range(len(self.others) // len(self.lives)):
                yield ANN, next(fillers)
        for text in fillers:
            yield ANN, text


def draw_script(seed: int) -> Script:
    """Draw the script of a seed."""
    rng = random.Random(f"memory card {VERSION}/{seed}")
    maker = FactMaker(rng)
    lives = [FactLife(ANN, fact) for fact in maker.facts(_OF_ANN)]
    subjects = [life.told.subject for life in lives]
    for number in range(_REPLACED):
        newer = lives[number].told.renamed(maker.value())
        lives[number] = replace(lives[number], newer=newer)
    for number in range(_REPLACED, _REPLACED + _WITHDRAWN):
        lives[number] = replace(lives[number], is_withdrawn=True)
    for number in range(_OF_ANN - _REPEATED, _OF_ANN):
        lives[number] = replace(lives[number], is_repeated=True)
    # The same subjects as ann's, so that a memory which mixes up users serves the wrong
    # value.
    shared = rng.sample(subjects, _OF_BO)
    lives += [FactLife(BO, Fact(subject, maker.value())) for subject in shared]
    rng.shuffle(lives)
    colours = [f"The colour of my {name} is {maker.value()}." for name in subjects]
    unused = [name for name in SUBJECTS if name not in subjects]
    names = [f"{rng.choice(unused)} {number}" for number in range(1, _NUMBERED + 1)]
    numbered = [f"The name of my {name} is {maker.value()}." for name in names]
    fillers = colours + numbered
    rng.shuffle(fillers)
    return Script(tuple(lives), tuple(fillers))
