"""`gate`: how often the gate's statistics are wrong, tried on imagined agents whose true scores are known.

Every figure is a share of many imagined comparisons; the number after ± is its Monte Carlo error, one standard
error. Everything is seeded: the same size prints the same tables.
"""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._cells import TRIALS, header, line, share
from pytest_ltm._benchmarks._coverage import coverage
from pytest_ltm._benchmarks._worlds import HARD, WORLDS, Drop, World, pairs
from pytest_ltm._statistics import Comparison, compare, compare_scenarios

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._statistics import Pair

SIZE = 500
"""Imagined comparisons for each figure."""
ALPHA = 0.05
LOST = 0.2
"""The share of replies that infrastructure takes away."""
DRAWS = 500
"""Fewer than a gate draws: how often it errs does not depend on it."""
RULES = ("p:0.05", "holm:0.05", "p:0.025, holm:0.025", "mean:5% alone")
DROPS = (
    ("a tenth of all answers", Drop(0.1)),
    ("a quarter of all answers", Drop(0.25)),
    ("three quarters of all answers", Drop(0.75)),
    ("all answers of two scenarios", Drop(1.0, 2)),
)


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield the tables line by line; repeated, with other imagined agents."""
    for repeat in range(repeats):
        yield f"{size:,} imagined comparisons for each figure, seed {repeat}"
        yield from _false_alarms(size, repeat)
        yield from _lost_replies(size, repeat)
        yield from _power(size, repeat)
        yield from _detectable(size, repeat)
        yield from coverage(size, repeat)


def _false_alarms(size: int, seed: int) -> Iterator[str]:
    yield from header("False alarms with two identical agents (nominal: 0.05)")
    for world in (*WORLDS, *HARD):
        yield world.name
        yield from _by_rule(RULES, [_alarms(world, trials, Drop(), size, seed) for trials in TRIALS])


def _lost_replies(size: int, seed: int) -> Iterator[str]:
    yield from header(f"The same with {LOST:.0%} of the later run's replies lost at random")
    for world in (WORLDS[1], WORLDS[3]):
        yield world.name
        yield from _by_rule(RULES[:1], [_alarms(world, trials, Drop(), size, seed, LOST) for trials in TRIALS])


def _power(size: int, seed: int) -> Iterator[str]:
    for world in (WORLDS[1], WORLDS[3]):
        yield from header(f"Drops that are seen ({world.name})")
        for name, drop in DROPS:
            yield f"{name} forgotten: {drop.true(world):+.3f}"
            yield from _by_rule(RULES[:2], [_alarms(world, trials, drop, size, seed) for trials in TRIALS])


def _by_rule(rules: Sequence[str], found: Sequence[Sequence[Sequence[bool | None]]]) -> Iterator[str]:
    """Yield a line for each rule: how often it broke, of the comparisons in which it could tell."""
    for place, rule in enumerate(rules):
        told = [[each[place] for each in column if each[place] is not None] for column in found]
        yield line(f"  {rule}", [share(sum(map(bool, column)), len(column)) for column in told])


def _alarms(
    world: World, trials: int, drop: Drop, size: int, seed: int, lost: float = 0.0
) -> list[tuple[bool | None, ...]]:
    """Return for each comparison which rules broke, None where one cannot tell."""
    chance = random.Random(f"{seed}{world}{trials}{drop}{lost}")
    return [_broken(pairs(world, trials, drop, chance, lost), chance) for _ in range(size)]


def _broken(found: Sequence[Pair], chance: random.Random) -> tuple[bool | None, ...]:
    whole = compare(found, rng=chance, alpha=ALPHA, draws=DRAWS)
    least = _least(compare_scenarios(found, rng=chance, alpha=ALPHA))
    either = [p for p in (whole.p_drop, least) if p is not None]
    loss = -(whole.difference or 0.0)
    return (
        whole.dropped if whole.can_tell else None,
        None if least is None else least <= ALPHA,
        min(either) <= ALPHA / 2 if either else None,
        loss > ALPHA * fmean(pair.before for pair in found),
    )


def _least(found: dict[str, Comparison]) -> float | None:
    return min((one.adjusted for one in found.values() if one.adjusted is not None), default=None)


def _detectable(size: int, seed: int) -> Iterator[str]:
    """Yield what drop is detectable on average, and how often `p:0.05` sees just that drop."""
    yield from header("The detectable drop (power 0.8), and how often p:0.05 sees a true drop of that size")
    for world in WORLDS[:4]:
        drops = [_average(world, trials, size, seed) for trials in TRIALS]
        yield line(world.name, ["beyond all" if drop is None else f"{drop:.3f}" for drop in drops])
        yield line("  seen", [_seen(world, *each, size, seed) for each in zip(TRIALS, drops, strict=True)])


def _average(world: World, trials: int, size: int, seed: int) -> float | None:
    """Return the mean, a total loss where there is none; None if it is more than this world's agents can lose."""
    chance = random.Random(f"detectable{seed}{world}{trials}")
    few = range(max(50, size // 10))
    found = [compare(pairs(world, trials, Drop(0.2), chance), rng=chance, alpha=ALPHA, draws=DRAWS) for _ in few]
    drop = fmean(1.0 if each.detectable is None else each.detectable for each in found)
    return drop if drop <= -Drop(1.0).true(world) else None


def _seen(world: World, trials: int, loss: float | None, size: int, seed: int) -> str:
    if loss is None:
        return "-"
    drop = Drop(loss / -Drop(1.0).true(world))
    chance = random.Random(f"seen{seed}{world}{trials}{drop}")
    found = (compare(pairs(world, trials, drop, chance), rng=chance, alpha=ALPHA, draws=DRAWS) for _ in range(size))
    return share(sum(each.dropped for each in found), size)
