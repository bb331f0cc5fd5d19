"""Intervals, tests and rates of counts, against published figures."""

from __future__ import annotations

import pytest

from pytest_ltm.figures.statistics.counts import (
    Interval,
    cohen_kappa,
    holm_correction,
    mcnemar_probability,
    pass_at_k,
    pass_hat_k,
    wilson_interval,
)
from pytest_ltm.figures.statistics.pairs import ScoredRow
from pytest_ltm.figures.statistics.pass_rates import pass_rate, score_interval


@pytest.mark.parametrize(
    ("passed", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_figures_of_newcombe_1998(
    passed: int, of: int, low: float, high: float
) -> None:
    found = wilson_interval(passed, of)

    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_an_interval_of_nothing_is_everything() -> None:
    assert wilson_interval(0, 0) == Interval(0.0, 1.0)


def test_an_interval_never_leaves_the_shares() -> None:
    assert wilson_interval(7, 7).high == 1.0
    assert wilson_interval(0, 7).low == 0.0


@pytest.mark.parametrize(
    ("passed", "of", "level"),
    [(2, 1, 0.95), (-1, 3, 0.95), (1, 3, 1.0), (1, float("nan"), 0.9)],
)
def test_counts_that_cannot_be_are_refused(
    passed: int, of: float, level: float
) -> None:
    with pytest.raises(ValueError, match=r"cannot have passed|lies between"):
        wilson_interval(passed, of, level)


@pytest.mark.parametrize(
    ("before", "after", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (1, 7, 0.0703),
        (10, 2, 0.0386),
        (4, 4, 1.0),
        (121, 59, 4.434e-06),
    ],
)
def test_mcnemar_is_the_exact_binomial_test_of_the_pairs_that_differ(
    before: int, after: int, p: float
) -> None:
    assert mcnemar_probability(before, after) == pytest.approx(p, rel=2e-3)
    assert mcnemar_probability(after, before) == mcnemar_probability(before, after)


def test_one_side_counts_losses_only() -> None:
    assert mcnemar_probability(6, 0, sided=1) == 1 / 64
    assert mcnemar_probability(0, 6, sided=1) == 1.0


def test_the_mid_p_counts_half_of_the_case_found() -> None:
    # the example of Fagerland, Lydersen and Laake (2013) with 1 and 7 pairs: exact
    # 0.070, mid-p 0.039
    assert mcnemar_probability(1, 7, mid=True) == pytest.approx(0.0391, abs=5e-5)


def test_mcnemar_takes_counts_of_any_size() -> None:
    assert 0 < mcnemar_probability(1_200, 1_000) < 1e-4


def test_holm_steps_down_and_keeps_the_order() -> None:
    assert holm_correction([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        (0.03, 0.06, 0.06, 0.02)
    )
    assert holm_correction([0.9, 0.8]) == (1.0, 1.0)
    assert holm_correction([]) == ()


def test_pass_at_k_and_pass_hat_k_are_the_shares_of_draws_without_replacement() -> None:
    # 3 of 5 passed: of the 10 pairs of trials 9 hold a pass, 3 hold two
    assert pass_at_k(5, 3, 2) == pytest.approx(0.9)
    assert pass_hat_k(5, 3, 2) == pytest.approx(0.3)
    assert pass_at_k(4, 4, 4) == pass_hat_k(4, 4, 4) == 1.0
    assert pass_at_k(4, 0, 1) == pass_hat_k(4, 0, 1) == 0.0


def test_more_tries_than_trials_cannot_be_told() -> None:
    assert pass_at_k(2, 1, 3) is None
    assert pass_hat_k(2, 1, 3) is None
    with pytest.raises(ValueError, match="no k = 0"):
        pass_at_k(2, 1, 0)


def rows(scores: dict[str, list[float | None]], trials: int = 1) -> list[ScoredRow]:
    return [
        ScoredRow(
            scenario=name,
            example=str(i),
            span_label="2k",
            trial=str(trial),
            score=score,
        )
        for trial in range(trials)
        for name, values in scores.items()
        for i, score in enumerate(values)
    ]


def test_examples_that_resemble_each_other_count_for_fewer() -> None:
    alike = pass_rate(rows({f"s{i}": [float(i % 2)] * 4 for i in range(10)}, trials=4))
    mixed = pass_rate(
        rows({f"s{i}": [1.0, 0.0, 1.0, 0.0] for i in range(10)}, trials=4)
    )

    assert (
        (alike.passed, alike.of, alike.share)
        == (80, 160, 0.5)
        == (mixed.passed, mixed.of, mixed.share)
    )
    assert alike.effective < 40
    assert mixed.effective == 160


def test_when_all_pass_each_scenario_counts_once() -> None:
    found = pass_rate(rows({f"s{i}": [1.0, 1.0, None] for i in range(11)}))

    assert (found.passed, found.of, found.effective) == (22, 22, 11)


def test_one_conversation_has_no_interval_and_a_few_that_went_well_leave_room_for_some_that_do_not() -> (
    None
):
    all_pass: dict[str, list[float | None]] = {f"s{i}": [1.0] for i in range(11)}

    assert pass_rate(rows(all_pass)).interval is None
    assert pass_rate(rows(all_pass, trials=3)).interval == Interval(3 / 5, 1.0)
    assert pass_rate(rows({"a": [0.0]}, trials=2)).interval == Interval(
        0.0, wilson_interval(0, 2).high
    )


def test_a_rate_of_nothing_is_unknown() -> None:
    found = pass_rate(rows({"a": [None]}))

    assert found.share is None
    assert found.interval is None


def test_kappa_gives_the_figure_of_cohen_1960() -> None:
    found = cohen_kappa([[88, 10, 2], [14, 40, 6], [18, 10, 12]])

    assert (found.agreement, found.by_chance) == pytest.approx((0.70, 0.41))
    assert found.value == pytest.approx(0.492, abs=5e-4)
    assert found.interval is not None
    # the large-sample interval is 0.39 to 0.59 (Fleiss, Cohen and Everitt, 1969); ours
    # is never shorter
    assert found.interval.high == pytest.approx(0.59, abs=0.005)
    assert 0.37 < found.interval.low < 0.39


def test_judges_that_always_agree_are_not_surely_perfect() -> None:
    found = cohen_kappa([[10, 0], [0, 10]])

    assert found.value == 1.0
    assert found.interval is not None
    assert 0.5 < found.interval.low < 0.8
    assert found.interval.high == 1.0


def test_kappa_says_when_it_is_undefined() -> None:
    assert "no case" in cohen_kappa([[0, 0], [0, 0]]).reason
    assert "one and the same verdict" in cohen_kappa([[9, 0], [0, 0]]).reason
    with pytest.raises(ValueError, match="square table"):
        cohen_kappa([[1, 2], [3]])


def test_judges_who_disagree_throughout_are_below_chance() -> None:
    assert cohen_kappa([[0, 5], [5, 0]]).value == -1.0


def test_the_interval_of_a_mean_score_is_that_of_passes_where_scores_are_whole() -> (
    None
):
    played = rows({f"s{i}": [1.0, 0.0, 1.0] for i in range(5)}, trials=3)
    assert score_interval(played, 2 / 3) == pass_rate(played).interval


def test_the_interval_of_a_mean_score_needs_trials_and_holds_the_mean() -> None:
    assert score_interval(rows({"a": [0.5]}), 0.5) is None
    assert score_interval(rows({"a": [None]}, trials=2), 0.5) is None
    found = score_interval(rows({"a": [0.25], "b": [0.75]}, trials=4), 0.5)
    assert found is not None
    assert 0.5 in found
    assert 0 < found.low < found.high < 1
