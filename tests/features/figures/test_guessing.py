"""Memory is hardly ever claimed for lucky guesses, and always for full marks in a suite."""

from __future__ import annotations

from random import Random

import pytest
from run_folders import held, played

from pytest_ltm.api.journal import RunResult
from pytest_ltm.figures.columns import (
    Column,
    guessing_test,
    only_guesses,
    result_columns,
)

SEEDS = 200


def column_of(scores: dict[str, list[float]], floor: float) -> Column:
    rows = [
        played(
            name,
            score,
            agent="bot",
            floor=floor,
            example=str(number),
            nodeid=f"{name}-{number}",
        )
        for name, values in scores.items()
        for number, score in enumerate(values)
    ]
    run = RunResult(run_id="run", conversations=(held(rows, agent_spec="bot:Bot"),))
    return result_columns(run)[0]


def lucky_column(seed: int, scenarios: int, examples: int, floor: float) -> Column:
    """Return the results of an agent that guesses at the floor, with a little luck on top."""
    rng = Random(seed)
    scores = {
        f"s{number}": [float(rng.random() < floor) for _ in range(examples)]
        for number in range(scenarios)
    }
    return column_of(scores, floor)


@pytest.mark.parametrize("floor", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("scenarios", "examples"), [(1, 1), (4, 1), (11, 1), (11, 5)])
def test_luck_is_called_memory_in_at_most_one_of_twenty_runs(
    scenarios: int, examples: int, floor: float
) -> None:
    claims = sum(
        guessing_test(lucky_column(seed, scenarios, examples, floor)).shows_memory()
        for seed in range(SEEDS)
    )
    assert claims <= SEEDS / 20


@pytest.mark.parametrize("floor", [0.0, 0.1, 0.3])
def test_full_marks_in_a_suite_are_memory(floor: float) -> None:
    full = column_of({f"s{number}": [1.0] for number in range(11)}, floor)
    assert guessing_test(full).shows_memory(claims=3)
    assert not only_guesses([full])


def test_full_marks_that_anybody_earns_show_nothing() -> None:
    easy = column_of({f"s{number}": [1.0] * 5 for number in range(11)}, 1.0)
    assert only_guesses([easy])
    assert guessing_test(easy).chance == 1.0


def test_a_result_without_scores_claims_nothing_and_is_no_guessing() -> None:
    assert not only_guesses([])
