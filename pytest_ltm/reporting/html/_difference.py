"""Whether the difference between two series is real: a paired sign-flip test over the examples that both have."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm.reporting.html._material import Row, Series

EXACT = 14
"""Up to so many differing examples every assignment of signs is tried; else a sample of them."""
DRAWS = 5_000
REAL = 0.05
"""Below this probability a difference is called real."""
_CHUNK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one series has over another, on the examples in which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    p: float
    """How often series that are equally good differ at least as much."""
    pairs: int
    """Examples in which both have a score."""
    better: int
    worse: int

    @property
    def real(self) -> bool:
        """Whether chance alone would hardly make it."""
        return self.p < REAL

    @property
    def can_be_real(self) -> bool:
        """Whether so few differing examples could ever show a real difference."""
        return 2.0 ** (1 - self.better - self.worse) < REAL


def difference(one: Series, other: Series) -> Difference | None:
    """Return what `one` has over `other`; None if they share no example with a score.

    The null hypothesis: which of the two earned which score of an example is chance (Fisher, 1935; as the
    approximate randomisation of Noreen, 1989, where not all assignments are tried).
    """
    ours, theirs = _scores(one.rows), _scores(other.rows)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return None
    counts: dict[str, int] = {}
    for key in shared:
        counts[key[0]] = counts.get(key[0], 0) + 1
    gains = [ours[key] - theirs[key] for key in shared]
    weights = [gain / counts[key[0]] for gain, key in zip(gains, shared, strict=True)]
    return Difference(
        gain=fsum(weights),
        p=sign_flip(weights, random.Random(0)),
        pairs=len(shared),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
    )


def sign_flip(weights: Sequence[float], rng: random.Random) -> float:
    """Return the share of sign assignments whose sum is at least as far from 0 as that of the weights, two-sided."""
    found = [abs(weight) for weight in weights if weight]
    if not found:
        return 1.0
    limit = abs(fsum(weights)) - 1e-9
    tables = [_sums(found[i : i + _CHUNK]) for i in range(0, len(found), _CHUNK)]
    if len(found) <= EXACT:
        totals: list[float] = [0.0]
        for table in tables:
            totals = [total + part for total in totals for part in table]
        return sum(abs(total) >= limit for total in totals) / len(totals)
    hits = 0
    for _ in range(DRAWS):
        bits = rng.getrandbits(_CHUNK * len(tables))
        total = 0.0
        for table in tables:
            total += table[bits & (len(table) - 1)]
            bits >>= _CHUNK
        hits += abs(total) >= limit
    return (hits + 1) / (DRAWS + 1)


def _sums(weights: Sequence[float]) -> list[float]:
    sums = [0.0]
    for weight in weights:
        sums = [sign * weight + total for sign in (1, -1) for total in sums]
    return sums


def _scores(rows: Iterable[Row]) -> dict[tuple[str, str, str], float]:
    found = ((row.result, row.result.score) for row in rows)
    return {(each.scenario, each.example, each.trial): score for each, score in found if score is not None}
