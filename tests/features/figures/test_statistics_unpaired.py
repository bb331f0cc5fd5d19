"""Means over different texts, their sums and differences."""

from __future__ import annotations

import random

import pytest

from pytest_ltm.figures.statistics.counts import mean_estimate, sum_estimates


def test_a_difference_of_shares_has_newcombes_interval() -> None:
    # the paper's example (a)
    one, other = (
        mean_estimate([1.0] * 56 + [0.0] * 14),
        mean_estimate([1.0] * 48 + [0.0] * 32),
    )
    found = one - other
    assert found.value == pytest.approx(0.2)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (0.0524, 0.3339), abs=5e-5
    )


def test_what_is_always_the_same_is_not_certain() -> None:
    found = mean_estimate([1.0] * 9) - mean_estimate([1.0] * 30)
    assert found.value == 0
    assert found.interval.low < -0.2
    assert found.interval.high > 0.1


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        mean_estimate([])


@pytest.mark.slow
@pytest.mark.parametrize("certain", [0.0, 0.1, 0.5])
def test_intervals_of_totals_and_differences_hold_the_true_ones(certain: float) -> None:
    rng = random.Random(f"totals {certain}")
    worlds, held = 400, [0, 0]
    for _ in range(worlds):
        chances = [
            (rng.random(), rng.random()) if rng.random() >= certain else (1.0, 1.0)
            for _ in range(11)
        ]
        sides = [
            sum_estimates(
                mean_estimate([float(rng.random() < both[side]) for _ in range(size)])
                for both in chances
            )
            for side, size in enumerate((9, 30))
        ]
        true = [sum(both[side] for both in chances) for side in range(2)]
        held[0] += true[0] in sides[0].interval
        held[1] += true[1] - true[0] in (sides[1] - sides[0]).interval
    assert min(held) >= 0.93 * worlds
