"""Agents with equal means but unequal shapes: the gate's test against two that use only the observed scores.

If no conversation crashed, an agent that sometimes crashes and one that is always
better have produced the same data. So a test that holds its level when the earlier run
crashes cannot detect a steady drop of that size in more than level / (chance of no
crash) of the runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from statistics import fmean, variance

from benchmarks.worlds import CRASHES, EMPTIED, Drop, World, pairs
from pytest_ltm.figures.statistics.paired_comparison import COLLAPSES, compare_runs
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.statistics.totals import group_by

ALPHA, TRIALS, DRAWS = 0.05, (3, 5, 10), 300
TESTS = (
    "the gate's test",
    "the same, of what was seen alone",
    "studentised permutation of conversations",
)
STEADY = replace(CRASHES[1], name="nobody crashes", wrecked=0.0, wrecks=(True, True))
RARER, OFTENER = (
    replace(
        CRASHES[1],
        name=f"the earlier run crashes in {share:.0%}, the other is steady",
        wrecked=share,
    )
    for share in (0.06, 0.2)
)
_LEAST = 1e-9


def compare_tests(size: int, seed: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield for each world the share of drops that each test detects, by number of trials."""
    crashing = (CRASHES[1], CRASHES[0], RARER, OFTENER)
    worlds = (
        *((world, Drop()) for world in crashing),
        (EMPTIED, Drop()),
        *((STEADY, Drop(share)) for share in (0.12, 0.25, 0.4)),
    )
    for world, drop in worlds:
        columns = [_seen(world, drop, trials, size, seed) for trials in TRIALS]
        name = (
            f"{world.name}: {drop.share:.0%} of all answers forgotten"
            if drop.share
            else world.name
        )
        yield name, [[column[test] for column in columns] for test in range(len(TESTS))]


def _seen(world: World, drop: Drop, trials: int, size: int, seed: int) -> list[float]:
    chance = random.Random(f"{seed}{world}{trials}{drop}shapes")
    hits = [0] * len(TESTS)
    for _ in range(size):
        found = pairs(world, trials, drop, chance)
        ours, plain = (
            compare_runs(found, draws=DRAWS, collapses=each).p_drop
            for each in (COLLAPSES, 0)
        )
        before, after = _means(found, "before"), _means(found, "after")
        for test, p in enumerate((ours, plain, _permuted(before, after, chance))):
            hits[test] += p is not None and p <= ALPHA
    return [hit / size for hit in hits]


def _means(found: Sequence[Pair], side: str) -> list[float]:
    """Return the mean over scenarios of each conversation of a run."""
    return [
        fmean(
            fmean(getattr(pair, side) for pair in of)
            for of in group_by(held, lambda pair: pair.scenario).values()
        )
        for held in group_by(found, lambda pair: pair.trial).values()
    ]


def _studentised(before: Sequence[float], after: Sequence[float]) -> float:
    error = sqrt((variance(before) + variance(after)) / len(before))
    return (fmean(after) - fmean(before)) / max(error, _LEAST)


def _permuted(
    before: Sequence[float], after: Sequence[float], chance: random.Random
) -> float:
    """Return p of a drop under permutations of conversations between the runs."""
    both, half = [*after, *before], len(after)
    chosen = (
        [set(combination) for combination in combinations(range(2 * half), half)]
        if half <= TRIALS[1]
        else [set(range(half))]
    )
    chosen += (
        [set(chance.sample(range(2 * half), half)) for _ in range(DRAWS)]
        if half > TRIALS[1]
        else []
    )
    found = _studentised(before, after)
    as_low = [
        _studentised(
            [both[n] for n in range(2 * half) if n not in of], [both[n] for n in of]
        )
        <= found + _LEAST
        for of in chosen
    ]
    return sum(as_low) / len(as_low)
