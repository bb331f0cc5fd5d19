"""The reach of an agent's memory: the effective span, its bounds, and undecidable cases."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from msgspec import structs

from benchmarks.worlds import WORLDS, remembered
from pytest_ltm.figures.sentences import short_span, span_sentence
from pytest_ltm.figures.statistics.pairs import ScoredRow
from pytest_ltm.figures.statistics.spans_reached import effective_span

SCENARIOS = 11


def rows(kept: Mapping[int | None, float], trials: int = 1) -> list[ScoredRow]:
    """Rows at spans (None: isolated) at which an agent earns the same in every scenario."""
    return [
        ScoredRow(
            scenario=f"s{s}",
            example="0",
            trial=f"{trial}.{s}" if span is None else f"{trial}",
            score=score,
            span=span,
            span_label="isolated" if span is None else f"{span}",
        )
        for span, score in kept.items()
        for trial in range(trials)
        for s in range(SCENARIOS)
    ]


def test_it_is_the_last_span_at_which_the_share_is_kept() -> None:
    found = effective_span(
        rows({None: 0.8, 2_000: 0.8, 8_000: 0.68, 32_000: 0.67, 128_000: 0.0})
    )

    assert found.span == 8_000
    assert not found.at_least
    assert [point.kept for point in found.curve] == pytest.approx(
        [1.0, 0.85, 0.8375, 0.0]
    )


def test_there_is_no_effective_span_where_scores_rise_with_the_span() -> None:
    found = effective_span(rows({None: 1.0, 2_000: 1.0, 8_000: 0.5, 32_000: 0.9}))

    assert (found.span, found.low, found.high) == (None, None, None)
    assert "from 50% of the isolated score at 8000 to 90% at 32000" in found.reason


def test_a_rise_where_enough_is_kept_takes_no_span_away() -> None:
    kept = {None: 1.0, 2_000: 0.9, 8_000: 1.0, 32_000: 0.5}

    assert effective_span(rows(kept)).span == 8_000


def test_a_rise_that_chance_explains_takes_no_span_away() -> None:
    played = rows({None: 1.0, 2_000: 1.0, 8_000: 0.5, 32_000: 0.5})
    lucky = [
        structs.replace(row, score=1.0)
        if row.span == 32_000 and row.scenario in {"s0", "s1"}
        else row
        for row in played
    ]

    assert effective_span(lucky).span == 2_000


@pytest.mark.parametrize("trials", [1, 3, 10])
def test_an_agent_that_forgets_alike_at_two_spans_seldom_has_no_span(
    trials: int,
) -> None:
    chance = random.Random(trials)
    kept = {2_000: 1.0, 8_000: 0.5, 32_000: 0.5}
    found = [
        effective_span(remembered(WORLDS[1], trials, kept, chance), draws=300)
        for _ in range(20)
    ]

    assert sum(result.span is None for result in found) <= 1


def test_an_agent_that_keeps_everything_reaches_at_least_the_largest_span() -> None:
    found = effective_span(rows({None: 1.0, 2_000: 1.0, 32_000: 1.0}, trials=10))

    assert (found.low, found.span, found.high) == (32_000, 32_000, 32_000)
    assert found.at_least


def test_an_agent_that_keeps_nothing_has_none() -> None:
    found = effective_span(rows({None: 1.0, 2_000: 0.0}, trials=10))

    assert (found.low, found.span, found.high) == (0, 0, 0)
    assert not found.at_least


@pytest.mark.parametrize(
    ("kept", "trials", "told"),
    [
        ({None: 1.0, 2_000: 1.0, 32_000: 1.0}, 10, "32k or more"),
        ({None: 1.0, 2_000: 1.0, 8_000: 0.1}, 10, "2k"),
        ({None: 1.0, 2_000: 0.9, 8_000: 0.1, 32_000: 0.0}, 2, "at most 2k"),
        ({None: 1.0, 2_000: 0.0, 8_000: 0.0}, 10, "less than 2k"),
        ({None: 1.0, 2_000: 1.0, 8_000: 0.85}, 1, "unknown"),
    ],
)
def test_reports_show_a_range_and_no_point(
    kept: Mapping[int | None, float], trials: int, told: str
) -> None:
    found = effective_span(rows(kept, trials))

    assert short_span(found) == told
    assert f"effective memory span {told}".replace(
        "unknown", "not known"
    ) in span_sentence(found)


def test_one_conversation_says_less_than_ten() -> None:
    few, many = (
        effective_span(rows({None: 1.0, 2_000: 1.0, 8_000: 0.3}, trials=trials))
        for trials in (1, 10)
    )

    assert (few.span, few.low) == (2_000, 0)
    assert (many.span, many.low, many.high) == (2_000, 2_000, 2_000)


def test_the_bounds_hold_the_span() -> None:
    chance = random.Random(0)
    for trials in (1, 3, 10):
        found = effective_span(
            remembered(WORLDS[1], trials, {2_000: 1.0, 8_000: 0.9, 32_000: 0.5}, chance)
        )
        assert found.low is not None
        assert found.high is not None
        assert found.span is not None
        assert found.low <= found.span <= found.high


def test_isolated_twins_are_found_by_the_number_of_their_trial() -> None:
    isolated = [*rows({None: 1.0}, trials=2)]
    placed = [row for row in rows({2_000: 0.5}, trials=3) if row.trial != "0"]

    (point,) = effective_span([*isolated, *placed]).curve

    assert point.pairs == SCENARIOS
    assert (point.isolated, point.score, point.kept) == (1.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ({2_000: 1.0, 8_000: 1.0}, "run both, --ltm-span=2k,32k,isolated"),
        ({None: 1.0}, "no example has a score both isolated and at a memory span"),
        ({None: 0.0, 2_000: 0.0}, "the isolated score is 0"),
        ({}, "no example has a score"),
    ],
)
def test_what_cannot_be_told_says_why(
    kept: dict[int | None, float], reason: str
) -> None:
    found = effective_span(rows(kept))

    assert reason in found.reason
    assert (found.span, found.low, found.high) == (None, None, None)


def test_too_few_scenarios_leave_the_bounds_open() -> None:
    few = [
        row
        for row in rows({None: 1.0, 2_000: 1.0, 8_000: 0.0})
        if row.scenario in {"s0", "s1"}
    ]
    found = effective_span(few)

    assert (found.low, found.span, found.high) == (0, 2_000, 8_000)
    assert found.curve[0].margin is None


def test_the_order_of_the_rows_changes_nothing() -> None:
    played = list(remembered(WORLDS[1], 3, {2_000: 1.0, 8_000: 0.9}, random.Random(1)))

    assert effective_span(played) == effective_span(
        random.Random(2).sample(played, len(played))
    )


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match="share of the isolated score"):
        effective_span([], share=share)
