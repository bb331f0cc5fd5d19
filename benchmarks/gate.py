"""The error rates of the gate's statistics, measured on simulated agents with known true scores.

Every number is a share of many simulated comparisons; the number after ± is its Monte
Carlo error, one standard error. Everything is seeded: the same size prints the same
tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from math import fsum, sqrt
from statistics import fmean
from typing import NamedTuple

from benchmarks import unequal_shapes as shapes
from benchmarks.worlds import (
    HARD,
    TROUBLED,
    WORLDS,
    Drop,
    World,
    moody,
    pairs,
    remembered,
)
from pytest_ltm.figures.statistics.counts import Interval, cohen_kappa, wilson_interval
from pytest_ltm.figures.statistics.paired_comparison import (
    Comparison,
    chance_here,
    compare_runs,
    compare_scenarios,
    power_of_test,
)
from pytest_ltm.figures.statistics.pairs import Pair, ScoredRow
from pytest_ltm.figures.statistics.pass_rates import pass_rate
from pytest_ltm.figures.statistics.spans_reached import effective_span

ALPHA = 0.05
LOST = 0.2
"""The share of replies lost to infrastructure."""
DRAWS = 300
"""Fewer than a gate draws: the error rates do not depend on it."""
MANY = 8
"""Trials needed to tell one scenario of eleven from chance."""
DROPS = (
    ("a tenth of all answers", Drop(0.1)),
    ("a quarter of all answers", Drop(0.25)),
    ("three quarters of all answers", Drop(0.75)),
    ("all answers of two scenarios", Drop(1.0, 2)),
)
_SLACK = 1e-9


class Tried(NamedTuple):
    """The outcomes of one simulated comparison, None where it is undecided."""

    p: bool | None
    """`p:0.05` broke."""
    holm: bool | None
    either: bool | None
    """`p:0.025` or `holm:0.025` broke."""
    mean: bool
    """`mean:5%` broke."""
    both: bool | None
    """`mean:5%` and `p:0.05` both broke."""
    elsewhere: bool | None
    """The report calls one agent better, beyond these texts and conversations."""
    here: bool | None
    """The report calls one agent better on these texts."""
    wrong: bool | None
    """As `here`, though random effects on whole conversations did not favour that agent."""
    held: bool | None
    """The interval of the difference contains the true one."""


RULES = {
    "p": "p:0.05",
    "holm": "holm:0.05",
    "either": "p:0.025, holm:0.025",
    "mean": "mean:5% alone",
    "both": "mean:5% broken, p:0.05 as well",
    "elsewhere": "called better or worse elsewhere",
    "here": "called better or worse on these texts",
    "wrong": "the same, and nothing befell that one",
}


def gate(size: int, repeats: int) -> Iterator[str]:
    """Yield the tables line by line; each repeat simulates other agents."""
    for repeat in range(repeats):
        yield f"{size:,} imagined comparisons for each figure, seed {repeat}"
        yield from _false_alarms(size, repeat)
        yield from _unequal_shapes(size, repeat)
        yield from _lost_replies(size, repeat)
        yield from _power(size, repeat)
        yield from power_by_collapses(size, repeat)
        yield from _detectable(size, repeat)
        yield from coverage(size, repeat)


def _false_alarms(size: int, seed: int) -> Iterator[str]:
    yield from header("False alarms with two identical agents (nominal: 0.05)")
    for world in (*WORLDS, *HARD):
        yield world.name
        yield from _by_rule(
            RULES, [tried(world, trials, Drop(), size, seed) for trials in TRIALS]
        )


def _unequal_shapes(size: int, seed: int) -> Iterator[str]:
    yield ""
    yield f"Drops called at 0.05 where shapes differ, by {', '.join(map(str, shapes.TRIALS))} trials"
    for name, tests in shapes.compare_tests(size, seed):
        yield name
        for test, rates in zip(shapes.TESTS, tests, strict=True):
            yield line(f"  {test}", [share(round(rate * size), size) for rate in rates])


def _lost_replies(size: int, seed: int) -> Iterator[str]:
    yield from header(
        f"The same with {LOST:.0%} of the later run's replies lost at random"
    )
    for world in (WORLDS[1], WORLDS[3]):
        yield world.name
        yield from _by_rule(
            ["p"], [tried(world, trials, Drop(), size, seed, LOST) for trials in TRIALS]
        )


def _power(size: int, seed: int) -> Iterator[str]:
    for world, drops in (
        (WORLDS[1], DROPS),
        (WORLDS[3], DROPS[:1]),
        (TROUBLED, DROPS[1:3]),
    ):
        yield from header(f"Drops that are seen ({world.name})")
        for name, drop in drops:
            yield f"{name} forgotten: {drop.true(world):+.3f}"
            found = [tried(world, trials, drop, size, seed) for trials in TRIALS]
            yield from _by_rule(
                ("p", "holm", "mean", "both", "elsewhere", "here"), found
            )


def _by_rule(rules: Iterable[str], found: Sequence[Sequence[Tried]]) -> Iterator[str]:
    """Yield a line for each rule: how often it broke, among the comparisons that it could decide."""
    for rule in rules:
        cells = []
        for column in found:
            cells.append(_rate(getattr(trial, rule) for trial in column))
        yield line(f"  {RULES[rule]}", cells)


def _rate(found: Iterable[bool | None]) -> str:
    told = [each for each in found if each is not None]
    return share(sum(told), len(told))


@cache
def tried(
    world: World, trials: int, drop: Drop, size: int, seed: int, lost: float = 0.0
) -> tuple[Tried, ...]:
    """Return the outcomes of simulated comparisons."""
    chance = random.Random(f"{seed}{world}{trials}{drop}{lost}")
    return tuple(_try(world, trials, drop, chance, lost) for _ in range(size))


def _try(
    world: World, trials: int, drop: Drop, chance: random.Random, lost: float
) -> Tried:
    befell: list[float] = []
    found = pairs(world, trials, drop, chance, lost, befell)
    whole = compare_runs(found, rng=chance, alpha=ALPHA, draws=DRAWS)
    least = (
        _least(compare_scenarios(found, rng=chance, alpha=ALPHA))
        if trials >= MANY
        else None
    )
    either = [p for p in (whole.p_drop, least) if p is not None]
    gain, true, p = (
        whole.difference or 0.0,
        drop.true(world),
        chance_here(found, rng=chance, draws=DRAWS),
    )
    lasting = whole.dropped_beyond_chance if whole.can_tell else None
    mean = -gain > ALPHA * fmean(pair.before for pair in found)
    here = None if p is None else p <= ALPHA
    return Tried(
        p=lasting,
        holm=None if least is None else least <= ALPHA,
        either=min(either) <= ALPHA / 2 if either else None,
        mean=mean,
        both=None if lasting is None else mean and lasting,
        elsewhere=None if whole.p is None else whole.p <= ALPHA,
        here=here,
        wrong=None if here is None else here and gain * fsum(befell) <= 0,
        held=_holds(whole.interval, true),
    )


def _holds(interval: Interval | None, true: float) -> bool | None:
    return (
        None
        if interval is None
        else interval.low - _SLACK <= true <= interval.high + _SLACK
    )


def _least(found: dict[str, Comparison]) -> float | None:
    return min(
        (one.adjusted for one in found.values() if one.adjusted is not None),
        default=None,
    )


SUPPOSED = (0.3, 0.125, 0.0)
"""Assumed shares of conversations that may collapse, as set by `--ltm-compare-collapses`."""
SEEN = (0.143, 0.25, 0.5)
"""Shares of all answers that the later agent forgets."""


def power_by_collapses(size: int, seed: int) -> Iterator[str]:
    """Yield how often `p:0.05` detects a drop, and the power it claims, by the assumed share of collapses."""
    yield from header("Drops that p:0.05 sees, and the power that it tells")
    world = WORLDS[1]
    for forgotten, collapses in product(SEEN, SUPPOSED):
        drop = Drop(forgotten)
        cells = []
        for trials in TRIALS[2:]:
            cells.append(_seen_and_told(world, trials, drop, collapses, size, seed))
        yield line(f"{-drop.true(world):.2f}, collapses {collapses:g}", cells)


def _seen_and_told(
    world: World, trials: int, drop: Drop, collapses: float, size: int, seed: int
) -> str:
    chance = random.Random(f"told{seed}{world}{trials}{drop}")
    seen, told = 0, []
    for _ in range(size):
        found = pairs(world, trials, drop, chance)
        seen += compare_runs(
            found, draws=DRAWS, collapses=collapses
        ).dropped_beyond_chance
        told.append(power_of_test(found, -drop.true(world), collapses=collapses) or 0.0)
    return f"{seen / size:.2f}, {fmean(told):.2f}"


def _detectable(size: int, seed: int) -> Iterator[str]:
    """Yield the average detectable drop, and how often `p:0.05` detects a drop of exactly that size."""
    yield from header(
        "The detectable drop (power 0.8), and how often p:0.05 sees a true drop of that size"
    )
    for world in (WORLDS[1], WORLDS[3], TROUBLED):
        drops = [_average(world, trials, size, seed) for trials in TRIALS]
        sizes = ["beyond all" if drop is None else f"{drop:.3f}" for drop in drops]
        yield line(world.name, sizes)
        seen = []
        for trials, drop in zip(TRIALS, drops, strict=True):
            seen.append(_seen(world, trials, drop, size, seed))
        yield line("  seen", seen)


def _average(world: World, trials: int, size: int, seed: int) -> float | None:
    """Return the mean detectable drop, undetectable counting as a total loss; None if larger than any possible drop."""
    chance = random.Random(f"detectable{seed}{world}{trials}")
    detectable = []
    for _ in range(max(50, size // 10)):
        run = pairs(world, trials, Drop(0.2), chance)
        comparison = compare_runs(run, rng=chance, alpha=ALPHA, draws=DRAWS)
        drop = comparison.detectable
        detectable.append(1.0 if drop is None else drop)
    mean_drop = fmean(detectable)
    return mean_drop if mean_drop <= -Drop(1.0).true(world) else None


def _seen(world: World, trials: int, loss: float | None, size: int, seed: int) -> str:
    if loss is None:
        return "-"
    drop = Drop(loss / -Drop(1.0).true(world))
    chance = random.Random(f"seen{seed}{world}{trials}{drop}")
    count = 0
    for _ in range(size):
        run = pairs(world, trials, drop, chance)
        comparison = compare_runs(run, rng=chance, alpha=ALPHA, draws=DRAWS)
        count += comparison.dropped_beyond_chance
    return share(count, size)


# --- coverage of the intervals

KEPT = {2_000: 1.0, 8_000: 0.95, 32_000: 0.8, 128_000: 0.5}
"""The share of its answers that a simulated agent keeps: 0.85 of its isolated score up to 8,000 tokens."""
FAR = 8_000
JUDGED = ((30, 0.6), (30, 0.9), (100, 0.6), (100, 0.9))
"""Number of cases seen by two judges, and their true kappa."""


def coverage(size: int, seed: int) -> Iterator[str]:
    """Yield how often each interval contains the true value; nominal is 0.95."""
    yield from header(
        "Intervals of the difference that hold the true one (nominal: 0.95)"
    )
    for name, drop, worlds in (
        ("no drop", Drop(), (*WORLDS, *HARD)),
        ("a tenth forgotten", DROPS[0][1], (*WORLDS[1::2], *HARD[:3])),
    ):
        for world in worlds:
            held = []
            for trials in TRIALS:
                found = tried(world, trials, drop, size, seed)
                held.append(_rate(trial.held for trial in found))
            yield line(f"{world.name}: {name}", held)
    yield from _rates(size, seed)
    yield from _far(size, seed)
    yield from _judges(size, seed)


def _rates(size: int, seed: int) -> Iterator[str]:
    yield from header(
        "Intervals of the pass rate that hold the true one (nominal: 0.95)"
    )
    for world in (*WORLDS, *HARD):
        true = (
            (1 - world.wrecked)
            * sum(marks.full for marks in world.scenarios)
            / len(world.scenarios)
        )
        held, plain = [], []
        for trials in TRIALS:
            chance = random.Random(f"rate{seed}{world}{trials}")
            rates = []
            for _ in range(size):
                rates.append(pass_rate(_rows(pairs(world, trials, Drop(), chance))))
            held.append(_rate(_holds(rate.interval, true) for rate in rates))
            hits = sum(true in wilson_interval(rate.passed, rate.of) for rate in rates)
            plain.append(share(hits, size))
        yield line(world.name, held)
        yield line("  Wilson's, taken as independent", plain)


def _rows(found: Sequence[Pair]) -> list[ScoredRow]:
    rows = []
    for pair in found:
        row = ScoredRow(
            scenario=pair.scenario,
            example=pair.example,
            span_label="2k",
            trial=pair.trial,
            score=pair.before,
        )
        rows.append(row)
    return rows


def _far(size: int, seed: int) -> Iterator[str]:
    """Yield how often low to high contains the true effective span, and how often the run's own estimate equals it."""
    yield from header("Effective spans: low to high holds the true one (nominal: 0.95)")
    for world in (WORLDS[1], WORLDS[3], TROUBLED, moody(2)):
        held, right = [], []
        for trials in TRIALS:
            chance = random.Random(f"far{seed}{world}{trials}")
            rows = (remembered(world, trials, KEPT, chance) for _ in range(size))
            found = [effective_span(row, rng=chance, draws=DRAWS) for row in rows]
            held.append(
                share(
                    sum((one.low or 0) <= FAR <= (one.high or 0) for one in found), size
                )
            )
            right.append(share(sum(one.span == FAR for one in found), size))
        yield line(world.name, held)
        yield line("  the run itself kept just that", right)


def _judges(size: int, seed: int) -> Iterator[str]:
    yield ""
    yield "Intervals of kappa that hold the true one (nominal: 0.95)"
    for cases, true in JUDGED:
        chance = random.Random(f"kappa{seed}{cases}{true}")
        agree = (1 + true) / 4
        weights = (agree, 0.5 - agree, 0.5 - agree, agree)
        hits = told = 0
        for _ in range(size):
            cells = chance.choices(range(4), weights, k=cases)
            found = cohen_kappa(
                [[cells.count(0), cells.count(1)], [cells.count(2), cells.count(3)]]
            )
            if found.interval is not None:
                told += 1
                hits += true in found.interval
        yield line(f"{cases} cases, kappa {true}", [share(hits, told)])


# --- cells and lines of the tables

TRIALS = (1, 2, 3, 5, 10)
"""Numbers of trials: the columns."""


def share(hits: int, of: int) -> str:
    """Return `0.048 ±0.007`, with the Monte Carlo standard error; `cannot tell` if `of` is 0."""
    if not of:
        return "cannot tell"
    rate = hits / of
    return f"{rate:.3f} ±{sqrt(max(rate * (1 - rate), 1 / of) / of):.3f}"


def line(name: str, cells: Sequence[str]) -> str:
    """Return one line of a table."""
    return f"{name:54}" + "".join(f"{cell:>14}" for cell in cells)


def header(title: str) -> Iterator[str]:
    """Yield an empty line, a table's title and its columns."""
    yield ""
    yield title
    yield line("", [f"{trials} trial{'s' if trials > 1 else ''}" for trials in TRIALS])
