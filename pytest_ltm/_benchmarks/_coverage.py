"""How often the intervals hold the truth, beside simpler ones that do not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeAlias

from pytest_ltm._benchmarks._cells import TRIALS, header, line, share
from pytest_ltm._benchmarks._worlds import HARD, TROUBLED, WORLDS, Drop, World, pairs, remembered
from pytest_ltm._statistics import Interval, ScoredRow, compare, effective_span, kappa, pass_rate, percentile, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_ltm._statistics import Pair

    Method: TypeAlias = Callable[[Sequence[Pair], random.Random], Interval | None]

DRAWS = 500
BOOTSTRAPS = 200
_SLACK = 1e-9
KEPT = {2_000: 1.0, 8_000: 0.95, 32_000: 0.8, 128_000: 0.5}
"""What an imagined agent keeps of its answers: 0.85 of its isolated score up to 8,000 tokens."""
FAR = 8_000
JUDGED = ((30, 0.6), (30, 0.9), (100, 0.6), (100, 0.9))
"""Cases that two judges saw, and their true kappa."""


def coverage(size: int, seed: int) -> Iterator[str]:
    """Yield how often each interval holds the truth; nominal is 0.95."""
    yield from header("Intervals of the difference that hold the true one (nominal: 0.95)")
    for world in (*WORLDS, *HARD):
        for name, drop in (("no drop", Drop()), ("a tenth forgotten", Drop(0.1))):
            held = [_held(world, trials, drop, _ours, size, seed) for trials in TRIALS]
            yield line(f"{world.name}: {name}", held)
    yield from header("The same by simpler intervals, which no gate of ours uses (scenarios alike, a tenth forgotten)")
    for name, method in (("bootstrap of examples", _by_examples), ("bootstrap of scenarios", _by_scenarios)):
        yield line(name, [_held(WORLDS[1], trials, Drop(0.1), method, max(50, size // 5), seed) for trials in TRIALS])
    yield from _rates(size, seed)
    yield from _far(max(50, size // 5), seed)
    yield from _judges(size, seed)


def _held(world: World, trials: int, drop: Drop, method: Method, size: int, seed: int) -> str:
    """Return the share of intervals that hold the true difference, of those that could be told."""
    chance = random.Random(f"{seed}{world}{trials}{drop}")
    true = drop.true(world)
    found = [method(pairs(world, trials, drop, chance), chance) for _ in range(size)]
    told = [each for each in found if each is not None]
    return share(sum(each.low - _SLACK <= true <= each.high + _SLACK for each in told), len(told))


def _ours(found: Sequence[Pair], chance: random.Random) -> Interval | None:
    return compare(found, rng=chance, draws=DRAWS).interval


def _by_examples(found: Sequence[Pair], chance: random.Random) -> Interval:
    return _percentiles([pair.gain for pair in found], chance)


def _by_scenarios(found: Sequence[Pair], chance: random.Random) -> Interval:
    cells: dict[tuple[str, str], list[float]] = {}
    for pair in found:
        cells.setdefault((pair.scenario, pair.trial), []).append(pair.gain)
    return _percentiles([sum(gains) / len(gains) for gains in cells.values()], chance)


def _percentiles(values: Sequence[float], chance: random.Random) -> Interval:
    """Return the percentile bootstrap interval of a mean."""
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(BOOTSTRAPS))
    return Interval(percentile(means, 0.025), percentile(means, 0.975))


def _rates(size: int, seed: int) -> Iterator[str]:
    yield from header("Intervals of the pass rate that hold the true one (nominal: 0.95)")
    for world in (*WORLDS[:4], *HARD[:2]):
        true = sum(marks.full for marks in world.scenarios) / len(world.scenarios)
        held, plain = [], []
        for trials in TRIALS:
            chance = random.Random(f"rate{seed}{world}{trials}")
            found = [pass_rate(_rows(pairs(world, trials, Drop(), chance))) for _ in range(size)]
            held.append(share(sum(true in each.interval for each in found), size))
            plain.append(share(sum(true in wilson(each.passed, each.of) for each in found), size))
        yield line(world.name, held)
        yield line("  Wilson's, taken as independent", plain)


def _rows(found: Sequence[Pair]) -> list[ScoredRow]:
    return [
        ScoredRow(
            scenario=pair.scenario, example=pair.example, span_label="2k", trial=pair.trial, score=pair.before
        )
        for pair in found
    ]  # fmt: skip


def _far(size: int, seed: int) -> Iterator[str]:
    """Yield how often low to high holds the true effective span, and how often the span itself is right."""
    yield from header("Effective spans: low to high holds the true one (nominal: 0.95)")
    for world in (WORLDS[1], WORLDS[3], TROUBLED):
        held, right = [], []
        for trials in TRIALS:
            chance = random.Random(f"far{seed}{world}{trials}")
            found = [effective_span(remembered(world, trials, KEPT, chance), rng=chance) for _ in range(size)]
            held.append(share(sum((one.low or 0) <= FAR <= (one.high or 0) for one in found), size))
            right.append(share(sum(one.span == FAR for one in found), size))
        yield line(world.name, held)
        yield line("  the span itself is right", right)


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
            found = kappa([[cells.count(0), cells.count(1)], [cells.count(2), cells.count(3)]])
            if found.interval is not None:
                told += 1
                hits += true in found.interval
        yield line(f"{cases} cases, kappa {true}", [share(hits, told)])
