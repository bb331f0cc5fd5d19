"""The simulated agents of `benchmark gate` have the declared true scores, and its tables are printed."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from benchmarks.gate import gate
from benchmarks.worlds import EXAMPLES, WORLDS, Drop, World, pairs, remembered


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_imagined_scores_have_the_mean_that_is_said(world: World) -> None:
    found = pairs(world, 60, Drop(0.25, 4), random.Random(0))
    true = fmean(marks.mean for marks in world.scenarios)

    assert fmean(pair.before for pair in found) == pytest.approx(true, abs=0.03)
    assert fmean(pair.gain for pair in found) == pytest.approx(
        Drop(0.25, 4).true(world), abs=0.03
    )


def test_imagined_runs_have_all_examples_unless_some_are_lost() -> None:
    world = WORLDS[0]

    assert len(pairs(world, 2, Drop(), random.Random(0))) == 2 * EXAMPLES * len(
        world.scenarios
    )
    assert (
        30
        < len(pairs(world, 2, Drop(), random.Random(0), lost=0.2))
        < 2 * EXAMPLES * len(world.scenarios)
    )


def test_scores_of_a_scenario_in_one_conversation_are_as_alike_as_is_said() -> None:
    def spread(world: World) -> float:
        found = pairs(world, 40, Drop(), random.Random(1))
        cells: dict[tuple[str, str], list[float]] = {}
        for pair in found:
            cells.setdefault((pair.scenario, pair.trial), []).append(pair.gain)
        means = [fmean(gains) for gains in cells.values()]
        return fmean(mean**2 for mean in means)

    alike = next(world for world in WORLDS if world.name == "passes and fails, alike")
    apart = World(name="apart", scenarios=alike.scenarios, example=alike.example)

    assert spread(alike) > 1.5 * spread(apart)


def test_an_imagined_agent_keeps_what_is_said() -> None:
    rows = list(remembered(WORLDS[3], 30, {2_000: 0.5}, random.Random(2)))
    isolated = fmean(row.score or 0.0 for row in rows if row.span is None)

    assert fmean(
        row.score or 0.0 for row in rows if row.span == 2_000
    ) == pytest.approx(isolated / 2, abs=0.05)
    assert len({row.trial for row in rows if row.span is None}) == 30 * EXAMPLES * len(
        WORLDS[3].scenarios
    )


def test_equal_sizes_print_equal_tables() -> None:
    lines = [line for line, _ in zip(gate(3, 1), range(12), strict=False)]

    assert lines == [line for line, _ in zip(gate(3, 1), range(12), strict=False)]
    assert lines[2] == "False alarms with two identical agents (nominal: 0.05)"
    assert lines[5].startswith("  p:0.05")
    assert lines[5].count("±") == 4
    assert lines[5].count("cannot tell") == 1
    assert lines[6].count("cannot tell") == 4
