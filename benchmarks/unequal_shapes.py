"""Agents with equal means of unequal shape: the gate's test beside two others, and what no test can do better.

Where no conversation has crashed, an agent that crashes at times and one that is better throughout have said the same.
So a test that sees the steady drop of that size with a power has a false alarm in at least that share of the runs
without a crash.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from math import sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING

from benchmarks.worlds import CRASHES, Drop, World, pairs
from pytest_ltm._results.statistics.comparison import compare_runs
from pytest_ltm._results.statistics.counts import t_below
from pytest_ltm._results.statistics.totals import group_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._results.statistics.pairs import Pair


ALPHA, TRIALS, DRAWS = 0.05, (3, 5, 10), 300
TESTS = ("the gate's test", "Welch's t test of conversations", "studentised permutation of conversations")
STEADY = replace(CRASHES[1], name="nobody crashes", wrecked=0.0, wrecks=(True, True))
SIZE_OF_CRASHES = Drop(CRASHES[1].wrecked)
_LEAST = 1e-9


def compare_tests(size: int, seed: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield for each world the share of drops that each test sees, by test and number of trials."""
    worlds = ((CRASHES[1], Drop()), (CRASHES[0], Drop()), (STEADY, SIZE_OF_CRASHES), (STEADY, Drop(0.25)))
    for world, drop in worlds:
        columns = [_seen(world, drop, trials, size, seed) for trials in TRIALS]
        name = f"{world.name}: {drop.share:.0%} of all answers forgotten" if drop.share else world.name
        yield name, [[column[test] for column in columns] for test in range(len(TESTS))]


def least_false_alarms(powers: Sequence[float]) -> list[float]:
    """Return how often a test errs at least that sees the steady drop so often, by number of trials."""
    return [power * (1 - CRASHES[1].wrecked) ** trials for power, trials in zip(powers, TRIALS, strict=True)]


def _seen(world: World, drop: Drop, trials: int, size: int, seed: int) -> list[float]:
    chance = random.Random(f"{seed}{world}{trials}{drop}shapes")
    hits = [0] * len(TESTS)
    for _ in range(size):
        found = pairs(world, trials, drop, chance)
        ours = compare_runs(found, rng=chance, draws=DRAWS).p_drop
        before, after = _means(found, "before"), _means(found, "after")
        for test, p in enumerate((ours, _welch(before, after), _permuted(before, after, chance))):
            hits[test] += p is not None and p <= ALPHA
    return [each / size for each in hits]


def _means(found: Sequence[Pair], side: str) -> list[float]:
    """Return the mean over scenarios of each conversation of a run."""
    return [
        fmean(fmean(getattr(pair, side) for pair in of) for of in group_by(held, lambda pair: pair.scenario).values())
        for held in group_by(found, lambda pair: pair.trial).values()
    ]


def _studentised(before: Sequence[float], after: Sequence[float]) -> float:
    error = sqrt((variance(before) + variance(after)) / len(before))
    return (fmean(after) - fmean(before)) / max(error, _LEAST)


def _welch(before: Sequence[float], after: Sequence[float]) -> float:
    """Return p of a drop, with the degrees of freedom of Satterthwaite."""
    one, other = variance(before), variance(after)
    degrees = (one + other) ** 2 * (len(before) - 1) / max(one**2 + other**2, _LEAST**2)
    return t_below(_studentised(before, after), max(1, int(degrees)))


def _permuted(before: Sequence[float], after: Sequence[float], chance: random.Random) -> float:
    """Return p of a drop under permutations of conversations between the runs."""
    both, half = [*after, *before], len(after)
    chosen = [set(each) for each in combinations(range(2 * half), half)] if half <= TRIALS[1] else [set(range(half))]
    chosen += [set(chance.sample(range(2 * half), half)) for _ in range(DRAWS)] if half > TRIALS[1] else []
    found = _studentised(before, after)
    as_low = [
        _studentised([both[n] for n in range(2 * half) if n not in of], [both[n] for n in of]) <= found + _LEAST
        for of in chosen
    ]
    return sum(as_low) / len(as_low)
