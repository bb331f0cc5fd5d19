"""Statistics against independent computations: by hand, or by scipy from the formulas named in docstrings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from math import fsum, sqrt
from typing import Any

import pytest

from pytest_ltm.api.journal import ScenarioResult, TellTime
from pytest_ltm.figures.statistics.counts import cohen_kappa, wilson_interval
from pytest_ltm.figures.statistics.paired_comparison import (
    MOST_TRIALS,
    Flips,
    smallest_seen_drop,
    standard_error,
    trials_to_tell,
)
from pytest_ltm.figures.statistics.pairs import (
    Pair,
    ScoredRow,
    SignUnit,
    pair_rows,
    unit_kind,
)
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.statistics.totals import (
    agent_paces,
    percentile_of,
    weighted_reach,
)


@pytest.fixture(scope="module")
def stats() -> Any:
    return pytest.importorskip("scipy.stats")


def units(gains: list[float]) -> list[SignUnit]:
    return [SignUnit(gain / len(gains), 1 / len(gains)) for gain in gains]


def test_a_share_that_is_everything_may_be_everything() -> None:
    assert wilson_interval(7, 7).high == 1.0
    assert wilson_interval(0, 7).low == 0.0


def test_the_bounds_of_flips_leave_out_the_smallest_and_largest_means() -> None:
    found = Flips(80, 0.5, 0.5, tuple(range(79)))

    assert found.bounds(0.025) == found.bounds(0.03) != found.bounds(0.05)
    # a twentieth of 80 is 4: the fourth from either end
    assert found.bounds(0.05) == (
        3,
        75,
    )
    assert found.bounds(0.005) is None


@pytest.mark.parametrize(
    "gains",
    [[1.0, *[0.0] * 19], [0.3, -0.2, 0.9, 0.4, -0.7, 0.1], [0.5] * 3 + [0.2] * 9],
)
def test_scatter_is_the_error_of_a_mean_with_the_degrees_that_its_kurtosis_leaves(
    gains: list[float],
    stats: Any,
) -> None:
    found = standard_error(units(gains))

    assert found.difference == pytest.approx(fsum(gains) / len(gains))
    assert found.error == pytest.approx(float(stats.sem(gains)))
    kurtosis = float(stats.kurtosis(gains, fisher=False))
    assert found.degrees == min(
        len(gains) - 1, max(1, round(2 * len(gains) / (kurtosis - 1)))
    )


def test_units_without_scatter_keep_their_degrees() -> None:
    assert standard_error(units([0.25] * 6)).degrees == 5


@pytest.mark.parametrize("held", [0, 2, 30])
def test_a_drop_that_no_pair_showed_is_found_from_the_fewest_degrees(
    held: int, stats: Any
) -> None:
    degrees = min(11, held - 1) if held else 11
    q = (stats.t.ppf(0.975, degrees) + stats.t.ppf(0.8, degrees)) ** 2 / 12

    found = smallest_seen_drop(units([0.0] * 12), units([0.0] * held), 0.025, 0.8)

    assert found == pytest.approx(float(q / (1 + q)), rel=1e-6)


def pairs(gains: list[float]) -> Sequence[Pair]:
    """Return conversations in which every scenario has the same gain."""
    before, after = (
        [
            ScoredRow(
                scenario=f"s{s}",
                example="0",
                span_label="2k",
                trial=str(trial),
                score=score,
                threshold=1.0,
            )
            for trial, gain in enumerate(gains)
            for s, score in product(range(4), [0.5 + gain * later])
        ]
        for later in (0, 1)
    )
    return pair_rows(before, after).pairs


def test_trials_to_tell_are_the_fewest_whose_error_is_small_enough(stats: Any) -> None:
    gains = [0.3, -0.1, 0.2, 0.05]
    apart, gain = float(stats.tstd(gains)), fsum(gains) / 4
    # the loss of the later, better run if these shares of conversations collapse
    shares = (0.1, 0.2, 0.3)

    def is_told(n: int, tail: float, least: float) -> bool:
        return (
            tail > 1
            or least
            + (stats.t.ppf(1 - tail, n - 1) + stats.t.ppf(0.8, n - 1)) * apart / sqrt(n)
            <= gain
        )

    enough = next(
        n
        for n in range(5, 99)
        if is_told(n, 0.025, 0)
        and all(
            is_told(n, 0.025 / (1 - share) ** n, share * (0.5 + gain))
            for share in shares
        )
    )

    assert trials_to_tell(pairs(gains)) == enough > 6


@pytest.mark.parametrize(
    "table",
    [
        [[1, 2]],
        [[1, -1], [0, 2]],
        [[1, float("inf")], [0, 2]],
        [[1, float("nan")], [0, 2]],
    ],
)
def test_kappa_wants_a_square_table_of_counts(table: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="square table of counts"):
        cohen_kappa(table)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("values", [[2.0], [1.0, 4.0], [0.0, 0.5, 3.0, 3.5, 9.0]])
def test_percentiles_are_those_of_definition_seven(
    values: list[float], share: float, stats: Any
) -> None:
    assert percentile_of(values, share) == pytest.approx(
        float(stats.mstats.mquantiles(values, share, 1, 1)[0])
    )


def test_seconds_are_told_to_the_microsecond() -> None:
    (pace,) = agent_paces(
        {
            ("bot", "2k"): [
                TellTime(exchange=n, seconds=seconds)
                for n, seconds in enumerate((1 / 3, 2 / 3))
            ]
        }
    )
    assert pace.storing is not None
    assert (pace.asking, pace.storing.median, pace.storing.p95) == (None, 0.5, 0.65)
    (pace,) = agent_paces({("bot", "2k"): [TellTime(exchange=1, seconds=1 / 3)]})
    assert pace.storing is not None
    assert (pace.storing.median, pace.storing.p95) == (0.333333, 0.333333)


def test_as_many_trials_as_anybody_would_hold_are_told_and_no_more() -> None:
    told = {
        trials_to_tell(pairs([step / 1_000 + 0.3, step / 1_000 - 0.3, step / 1_000]))
        for step in range(1, 400)
    }
    assert None in told
    assert max(trials for trials in told if trials) == MOST_TRIALS
    assert trials_to_tell(pairs([0.5, 0.501, 0.499])) == 4  # one more than the run had


@pytest.mark.parametrize(("trials", "unit"), [(7, "scenario"), (8, "conversation")])
def test_eight_conversations_are_enough_to_be_the_units_at_95_percent(
    trials: int, unit: str
) -> None:
    assert unit_kind(pairs([0.1] * trials), 0.95) == unit


def test_tokens_weighted_by_accuracy_are_a_mean_over_examples() -> None:
    rows = [
        ScenarioResult(
            scenario="a",
            example=str(n),
            agent="a",
            span_label="2k",
            span=2000,
            trial="0",
            nodeid="n",
            outcome="passed",
            score=score,
            reason="r",
            measured_span=measured,
        )
        for n, (score, measured) in enumerate(
            [(0.5, 100), (1.0, 200), (0.0, 900), (1.0, None)]
        )
    ]

    assert weighted_reach(rows) == pytest.approx((50 + 200 + 0) / 3)


def test_a_span_at_which_just_the_share_is_kept_is_reached() -> None:
    rows = [
        ScoredRow(
            scenario=f"s{s}",
            example="0",
            trial=f"0.{s}" if span is None else "0",
            score=score,
            span=span,
            span_label="isolated" if span is None else str(span),
        )
        for span, score in ((None, 1.0), (2_000, 0.5), (8_000, 0.49))
        for s in range(11)
    ]

    assert effective_span(rows, share=0.5).span == 2_000


def test_no_agreement_is_more_than_perfect() -> None:
    rng = random.Random(3)
    for _ in range(200):
        found = cohen_kappa(
            [
                [rng.randint(3, 9), rng.randint(0, 1)],
                [rng.randint(0, 1), rng.randint(1, 4)],
            ]
        )
        assert (
            found.interval is None
            or -1 <= found.interval.low <= found.interval.high <= 1
        )


@pytest.mark.parametrize(
    "table",
    [[[0, 3], [12, 3]], [[40, 9], [6, 45]], [[20, 5, 1], [3, 30, 2], [0, 4, 25]]],
)
def test_kappa_is_at_least_as_uncertain_as_its_large_sample_error_says(
    table: list[list[int]],
    stats: Any,
) -> None:
    # reimplemented from Fleiss, Cohen and Everitt (1969)
    cases, size = sum(map(sum, table)), range(len(table))
    p = [[count / cases for count in line] for line in table]
    rows, columns = (
        [sum(line) for line in p],
        [sum(line[j] for line in p) for j in size],
    )
    by_chance = sum(rows[i] * columns[i] for i in size)
    value = (sum(p[i][i] for i in size) - by_chance) / (1 - by_chance)
    same = sum(p[i][i] * (1 - (rows[i] + columns[i]) * (1 - value)) ** 2 for i in size)
    mixed = (1 - value) ** 2 * sum(
        p[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j
    )
    variance = (
        (same + mixed - (value - by_chance * (1 - value)) ** 2)
        / (1 - by_chance) ** 2
        / cases
    )
    half = float(stats.norm.ppf(0.975)) * sqrt(variance)

    found = cohen_kappa(table)

    assert found.value == pytest.approx(value)
    assert found.interval is not None
    assert found.interval.low <= value - half + 1e-9
    assert found.interval.high >= min(1.0, value + half) - 1e-9
