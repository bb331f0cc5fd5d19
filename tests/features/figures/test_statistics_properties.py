"""The statistics against scipy, and their invariants for any rows."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import pytest
from _examples import share
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_ltm.figures.statistics.counts import (
    cohen_kappa,
    holm_correction,
    mcnemar_probability,
    pass_at_k,
    pass_hat_k,
    t_below,
    t_quantile,
    wilson_interval,
)
from pytest_ltm.figures.statistics.paired_comparison import (
    compare_runs,
    compare_scenarios,
    of_conversations,
)
from pytest_ltm.figures.statistics.pairs import Pair, ScoredRow, pair_rows, units_of
from pytest_ltm.figures.statistics.pass_rates import pass_rate
from pytest_ltm.figures.statistics.spans_reached import effective_span

LEVELS = st.sampled_from([0.8, 0.9, 0.95, 0.99])
SCORES = st.sampled_from([None, 0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
KEYS = list(product(("a", "b", "c", "d", "e", "f"), "01", ("2k", "isolated"), "01"))
RUNS = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, SCORES))


def run(scores: dict[tuple[str, str, str, str], float | None]) -> list[ScoredRow]:
    return [
        ScoredRow(
            scenario=scenario,
            example=example,
            span_label=span,
            trial=trial,
            score=score,
            span=None if span == "isolated" else 2_000,
        )
        for (scenario, example, span, trial), score in scores.items()
    ]


@given(of=st.integers(1, 500), share=st.floats(0, 1), level=LEVELS)
def test_wilson_equals_that_of_scipy(of: int, share: float, level: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    passed = round(of * share)
    theirs = stats.binomtest(passed, of).proportion_ci(level, method="wilson")
    ours = wilson_interval(passed, of, level)

    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(before=st.integers(0, 80), after=st.integers(0, 80))
def test_mcnemar_equals_the_binomial_test_of_scipy(before: int, after: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assume(before + after)

    assert mcnemar_probability(before, after) == pytest.approx(
        stats.binomtest(before, before + after).pvalue, rel=1e-9
    )
    greater = stats.binomtest(before, before + after, alternative="greater").pvalue
    assert mcnemar_probability(before, after, sided=1) == pytest.approx(
        greater, rel=1e-9
    )


@given(value=st.floats(-30, 30), degrees=st.integers(1, 60))
def test_students_t_equals_that_of_scipy(value: float, degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")

    assert t_below(value, degrees) == pytest.approx(
        stats.t.cdf(value, degrees), abs=1e-12
    )


@given(share=st.floats(0.001, 0.999), degrees=st.integers(1, 60))
def test_quantiles_are_the_inverse(share: float, degrees: int) -> None:
    assert t_below(t_quantile(share, degrees), degrees) == pytest.approx(
        share, abs=1e-9
    )


GAINS = st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.75, 1.0])


def gained(scenario: str, trial: int, gain: float) -> Pair:
    return Pair(
        scenario=scenario,
        example="0",
        span_label="2k",
        trial=str(trial),
        before=0.5 - gain / 2,
        after=0.5 + gain / 2,
    )


@given(gains=st.lists(GAINS, min_size=8, max_size=11))
@settings(max_examples=share(40), deadline=None)
def test_many_conversations_equal_the_permutation_test_of_scipy(
    gains: list[float],
) -> None:
    stats = pytest.importorskip("scipy.stats")
    pairs = [gained("s", trial, gain) for trial, gain in enumerate(gains)]
    theirs = {
        side: stats.permutation_test(
            (gains,),
            math.fsum,
            permutation_type="samples",
            vectorized=False,
            n_resamples=math.inf,
            alternative=side,
        ).pvalue
        for side in ("less", "greater")
    }
    ours = compare_runs(pairs)

    assert (ours.p_drop, ours.p_gain) == pytest.approx(
        (theirs["less"], theirs["greater"])
    )


@given(trials=st.lists(st.lists(GAINS, min_size=6, max_size=6), min_size=2, max_size=7))
def test_few_conversations_are_the_t_test_of_scipy(trials: list[list[float]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    means = [math.fsum(gains) / len(gains) for gains in trials]
    assume(max(means) - min(means) > 0.01)
    theirs = stats.ttest_1samp(means, 0)
    bounds = theirs.confidence_interval(0.95)
    pairs = [
        gained(f"s{i}", trial, gain)
        for trial, gains in enumerate(trials)
        for i, gain in enumerate(gains)
    ]
    ours = of_conversations(units_of(pairs, "conversation"))

    assert ours.p_drop == pytest.approx(
        stats.ttest_1samp(means, 0, alternative="less").pvalue
    )
    assert ours.bounds(0.025) == pytest.approx((bounds.low, bounds.high))


@given(p_values=st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_helps_keeps_the_order_and_is_at_most_bonferroni(
    p_values: list[float],
) -> None:
    adjusted = holm_correction(p_values)

    for (p, one), (q, other) in product(zip(p_values, adjusted, strict=True), repeat=2):
        assert p <= one <= min(1.0, len(p_values) * p) + 1e-12
        assert not (p < q and one > other)


@given(n=st.integers(1, 9), data=st.data())
def test_pass_at_k_and_pass_hat_k_count_the_draws(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    at, hat = pass_at_k(n, c, k), pass_hat_k(n, c, k)

    assert at is not None
    assert hat is not None
    assert 0 <= hat <= at <= 1
    assert pass_at_k(n, c, 1) == pytest.approx(c / n) == pass_hat_k(n, c, 1)


@given(
    table=st.lists(
        st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=3, max_size=3
    )
)
def test_kappa_lies_in_its_interval_and_does_not_mind_who_is_who(
    table: list[list[int]],
) -> None:
    found, turned = (
        cohen_kappa(table),
        cohen_kappa([list(column) for column in zip(*table, strict=True)]),
    )
    assume(found.value is not None)

    assert found.interval is not None
    assert found.value is not None
    assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert turned.value == pytest.approx(found.value)


@given(before=RUNS, after=RUNS, order=st.randoms(use_true_random=False))
@settings(max_examples=share(60), deadline=None)
def test_the_order_of_rows_changes_nothing(
    before: dict[Any, float | None],
    after: dict[Any, float | None],
    order: random.Random,
) -> None:
    one = pair_rows(run(before), run(after))
    other = pair_rows(
        order.sample(run(before), len(before)), order.sample(run(after), len(after))
    )

    assert one == other
    assert compare_runs(one.pairs) == compare_runs(
        order.sample(other.pairs, len(other.pairs))
    )


@given(rows=RUNS)
@settings(max_examples=share(60), deadline=None)
def test_a_run_compared_with_itself_differs_by_exactly_nothing(
    rows: dict[Any, float | None],
) -> None:
    found = compare_runs(pair_rows(run(rows), run(rows)).pairs)

    assert found.difference in {0.0, None}
    assert not found.dropped_beyond_chance
    assert found.p in {1.0, None}
    assert not any(
        scenario.dropped_beyond_chance
        for scenario in compare_scenarios(
            pair_rows(run(rows), run(rows)).pairs
        ).values()
    )


@given(before=RUNS, after=RUNS)
@settings(max_examples=share(60), deadline=None)
def test_a_row_without_a_score_is_as_good_as_none(
    before: dict[Any, float | None], after: dict[Any, float | None]
) -> None:
    everything = pair_rows(run(before), run(after))
    scored: dict[Any, float | None] = {
        key: score for key, score in after.items() if score is not None
    }

    assert pair_rows(run(before), run(scored)).pairs == everything.pairs


@given(before=RUNS, after=RUNS)
@settings(max_examples=share(60), deadline=None)
def test_whatever_was_played_there_is_an_answer_or_a_reason(
    before: dict[Any, float | None], after: dict[Any, float | None]
) -> None:
    found = compare_runs(pair_rows(run(before), run(after)).pairs)

    assert found.can_tell == (found.p is not None) == (not found.reason)
    if found.p is not None:
        assert 0 < found.p <= 1
    if found.interval is not None:
        assert found.difference is not None
        assert (
            found.interval.low - 1e-9 <= found.difference <= found.interval.high + 1e-9
        )
    rate, span = pass_rate(run(after)), effective_span(run(after))
    assert rate.share is None or rate.interval is None or rate.share in rate.interval
    assert (span.span is None) == bool(span.reason)


@given(before=RUNS, after=RUNS)
@settings(max_examples=share(40), deadline=None)
def test_swapping_the_runs_swaps_only_signs(
    before: dict[Any, float | None], after: dict[Any, float | None]
) -> None:
    swapped = compare_runs(pair_rows(run(after), run(before)).pairs)
    found = compare_runs(pair_rows(run(before), run(after)).pairs)

    assert (found.p_drop, found.p_gain) == pytest.approx(
        (swapped.p_gain, swapped.p_drop)
    )
    assert (found.better, found.worse, found.units) == (
        swapped.worse,
        swapped.better,
        swapped.units,
    )
    assert (found.kind, found.reason) == (swapped.kind, swapped.reason)
    assert found.detectable == pytest.approx(swapped.detectable)
