"""Which questions are generated: kinds in the shares of the published file, rows one after the other."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pytest_ltm.datasets.longmemeval.generate._several import from_series, from_update
from pytest_ltm.datasets.longmemeval.generate._single import from_assistant, from_taste, from_user
from pytest_ltm.datasets.longmemeval.generate._temporal import from_dates
from pytest_ltm.datasets.longmemeval.generate._texts import (
    attributes,
    happenings,
    lists,
    series,
    tastes,
    updates,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.datasets.longmemeval.generate._needle import Needle

_Row = TypeVar("_Row")


class Kind(NamedTuple):
    """One kind of question."""

    type: str
    abstains: bool


SHARES = {
    Kind("single-session-user", abstains=False): 64,
    Kind("single-session-assistant", abstains=False): 54,
    Kind("single-session-preference", abstains=False): 30,
    Kind("multi-session", abstains=False): 121,
    Kind("temporal-reasoning", abstains=False): 127,
    Kind("knowledge-update", abstains=False): 72,
    Kind("multi-session", abstains=True): 12,
    Kind("single-session-user", abstains=True): 6,
    Kind("temporal-reasoning", abstains=True): 6,
    Kind("knowledge-update", abstains=True): 6,
    Kind("single-session-assistant", abstains=True): 2,
}
"""Of 500 questions, nearly as published: the published file has no abstention about what an assistant said."""


def kinds(count: int) -> list[Kind]:
    """Return the kinds of so many questions, in the shares of SHARES as nearly as whole numbers allow.

    The kinds take turns, so that the first eleven are all of them.
    """
    whole = sum(SHARES.values())
    given: dict[Kind, int] = dict.fromkeys(SHARES, 0)
    chosen: list[Kind] = []
    for done in range(count):
        behind = max(SHARES, key=lambda kind: (given[kind] == 0, SHARES[kind] * (done + 1) / whole - given[kind]))
        given[behind] += 1
        chosen.append(behind)
    return chosen


def questions(count: int, seed: int) -> Iterator[Needle]:
    """Yield so many questions; the same ones for a seed, and the first of them for a smaller count."""
    decks = _Decks(Random(f"longmemeval rows {seed}"))
    for number, kind in enumerate(kinds(count)):
        yield _question(Random(f"longmemeval question {seed} {number}"), kind, decks)


class _Decks:
    """Rows in a random order, each kind's in an order of its own, from the beginning again when all have been used."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._left: dict[tuple[str, bool], list[int]] = {}

    def draw(self, kind: Kind, rows: Sequence[_Row], count: int = 1) -> list[_Row]:
        left = self._left.setdefault(kind, [])
        if len(left) < count:
            left[:] = self._rng.sample(range(len(rows)), len(rows))
        return [rows[left.pop()] for _ in range(count)]


def _question(rng: Random, kind: Kind, decks: _Decks) -> Needle:
    match kind.type:
        case "single-session-user":
            return from_user(rng, *decks.draw(kind, attributes()), abstains=kind.abstains)
        case "single-session-assistant":
            return from_assistant(rng, *decks.draw(kind, lists()), abstains=kind.abstains)
        case "single-session-preference":
            return from_taste(rng, *decks.draw(kind, tastes()))
        case "multi-session":
            return from_series(rng, *decks.draw(kind, series()), abstains=kind.abstains)
        case "knowledge-update":
            return from_update(rng, *decks.draw(kind, updates()), abstains=kind.abstains)
        case _:
            return from_dates(rng, decks.draw(kind, happenings(), 3), abstains=kind.abstains)
