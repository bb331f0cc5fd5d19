"""The total, and its variation with the sample of examples."""

from __future__ import annotations

import json
import random
import statistics
from typing import Any

import pytest
from benchmark_data import GOODAI, lines_of

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.figures.statistics.totals import (
    filler_share,
    ltm_reach,
    mean_or_none,
    percentile_of,
    score_share,
    scores_by_scenario,
    spread_by_draws,
    total_score,
)


def row(
    scenario: str, score: float | None, *, measured_span: int | None = 100
) -> ScenarioResult:
    return ScenarioResult(
        scenario=scenario,
        example="0",
        agent="a",
        span_label="2k",
        span=2000,
        trial="0",
        nodeid="n",
        outcome="skipped" if score is None else "passed",
        score=score,
        reason="r",
        measured_span=measured_span,
    )


ROWS = (row("a", 1.0), row("a", 0.0), row("b", 0.5), row("b", None), row("c", None))


def test_the_mean_of_nothing_is_not_zero() -> None:
    assert mean_or_none([]) is None
    assert mean_or_none([0.1] * 10) == 0.1


def test_a_total_adds_the_means_of_scenarios_not_of_rows() -> None:
    assert total_score(scores_by_scenario(ROWS)) == 0.5 + 0.5


def test_rows_without_a_score_are_in_no_mean_and_in_no_denominator() -> None:
    assert scores_by_scenario(ROWS) == {"a": (0.0, 1.0), "b": (0.5,)}
    assert score_share(scores_by_scenario(ROWS)) == 0.5


def test_without_any_score_there_is_no_accuracy_and_no_reach() -> None:
    assert score_share({}) is None
    assert ltm_reach([row("a", None)]) is None


def test_the_spread_is_the_standard_deviation_of_totals_of_one_example_each() -> None:
    scores = {"a": (0.0, 1.0), "b": (0.0, 0.5, 1.0), "c": (0.7,)}
    exact = (statistics.pvariance([0, 1]) + statistics.pvariance([0, 0.5, 1])) ** 0.5

    spread = spread_by_draws(scores, random.Random(0), draws=20_000)

    assert spread is not None
    assert spread.sd == pytest.approx(exact, rel=0.02)
    assert (spread.low, spread.high) == pytest.approx((0.7, 2.7))


def test_one_example_for_each_scenario_has_no_known_spread() -> None:
    assert spread_by_draws({"a": (1.0,), "b": (0.0,)}, random.Random(0)) is None


def test_equal_seeds_give_equal_spreads_whatever_the_order_of_the_rows() -> None:
    rows = [row(name, score) for name in "ab" for score in (0.0, 0.2, 0.9)]

    forwards = spread_by_draws(scores_by_scenario(rows), random.Random(3))

    assert forwards == spread_by_draws(scores_by_scenario(rows[::-1]), random.Random(3))


@pytest.mark.parametrize(
    ("share", "expected"), [(0, 1.0), (0.25, 2.0), (0.3, 2.2), (1, 5.0)]
)
def test_percentiles_lie_between_the_nearest_values(
    share: float, expected: float
) -> None:
    assert percentile_of([1.0, 2.0, 3.0, 4.0, 5.0], share) == pytest.approx(expected)


def test_the_reach_counts_only_full_marks() -> None:
    rows = [
        row("a", 1.0, measured_span=100),
        row("a", 1.0, measured_span=300),
        row("b", 0.9, measured_span=9_000),
    ]

    assert ltm_reach(rows) == 200
    assert ltm_reach(rows[2:]) == 0


def test_an_empty_conversation_has_no_share_of_filler() -> None:
    assert filler_share(0, 0) is None
    assert filler_share(30, 120) == 0.25


@pytest.mark.published
def test_totals_accuracy_and_reach_equal_those_of_all_published_runs() -> None:
    published = json.loads((GOODAI / "leaderboard.json").read_text())
    runs: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for line in lines_of(GOODAI / "scores_all.jsonl.gz"):
        runs.setdefault((line["ref"], line["benchmark"], line["agent"]), []).append(
            line
        )

    assert len(runs) > 100
    for (ref, benchmark, agent), lines in runs.items():
        expected = published[ref][benchmark][agent]
        rows = [
            row(
                x["dataset"],
                x["score"] / x["max_score"],
                measured_span=int(x["tokens"]),
            )
            for x in lines
        ]
        scores = scores_by_scenario(rows)
        assert total_score(scores) == pytest.approx(expected["score"], abs=1e-5)
        assert score_share(scores) == pytest.approx(
            expected["accuracy"] / 100, abs=1e-5
        )
        assert ltm_reach(rows) == pytest.approx(expected["ltm"], abs=0.01)
