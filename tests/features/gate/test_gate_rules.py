"""Gate rules: their meaning in a sentence, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.figures.statistics.totals import pass_k
from pytest_ltm.gate.gate_rules import (
    parse_change_rule,
    parse_collapses,
    parse_limit_rule,
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.8", "the mean score is at least 0.80"),
        ("80%", "the mean score is at least 0.80"),
        ("1", "the mean score is at least 1.00"),
        ("total:9.5", "the total is at least 9.50"),
        ("worst:0.25", "the lowest mean of a scenario is at least 0.25"),
        ("pass_rate:90%", "the pass rate is at least 0.90"),
        ("pass^3:0.5", "the chance that all of 3 trials pass is at least 0.50"),
        ("pass@3:0.5", "the chance that one of 3 trials passes is at least 0.50"),
        (
            "recall@10:0.8",
            "the share of needles among the first 10 retrieved texts is at least 0.80",
        ),
        ("cost:2.5", "the cost is at most 2.50 USD"),
        ("tokens:200k", "the number of tokens is at most 200,000"),
        ("span:32k", "the memory span that was kept, in tokens, is at least 32,000"),
        ("unscored:5%", "the share of examples without a score is at most 0.05"),
        (
            "scenario:colours.mean:0.5",
            "the mean score of scenario 'colours' is at least 0.50",
        ),
        (
            "scenario:tests.mem.test_x.mean:.5",
            "the mean score of scenario 'tests.mem.test_x' is at least 0.50",
        ),
        ("skill:R.mean:0.123", "the mean score of skill 'R' is at least 0.123"),
    ],
)
def test_a_rule_about_where_a_metric_lies_explains_itself(
    text: str, sentence: str
) -> None:
    assert parse_limit_rule(text).sentence == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mean:0.05", "the mean score drops by at most 0.05"),
        ("mean:5%", "the mean score drops by at most 5% of the baseline's"),
        ("mean:100%", "the mean score drops by at most 100% of the baseline's"),
        ("total:0.5", "the total drops by at most 0.50"),
        ("cost:10%", "the cost rises by at most 10% of the baseline's"),
        ("tokens:0", "the number of tokens does not rise at all"),
        ("unscored:5%", "the share of examples without a score rises by at most 0.05"),
        (
            "p:0.05",
            "the scores do not drop by more than chance explains (p at most 0.05)",
        ),
        (
            "holm:0.01",
            "no scenario drops by more than chance explains (p at most 0.01)",
        ),
        (
            "skill:R.p:0.05",
            "the scores of skill 'R' do not drop by more than chance explains (p at most 0.05)",
        ),
    ],
)
def test_a_rule_about_what_moved_explains_itself(text: str, sentence: str) -> None:
    assert parse_change_rule(text).sentence == sentence


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("meen:1", "there is no metric 'meen'. Did you mean 'mean'?"),
        ("mean", "'mean' names no limit. Write it as 'mean:LIMIT'"),
        ("", "there is no metric ''"),
        ("mean:lots", "'lots' is not a limit"),
        ("mean:-1", "'-1' is not a limit"),
        ("mean:nan", "'nan' is not a limit"),
        ("mean:" + "9" * 400, "is not a limit"),
        ("mean:2", "lies between 0 and 1"),
        ("total:5%", "percent of what"),
        ("cost:5k", "k and m are for numbers of tokens"),
        ("scenari:x.mean:1", "not a 'scenari'. Did you mean 'scenario'?"),
        (
            "scenario:recall:1",
            "which metric of scenario 'recall'? Write it as 'scenario:recall.mean:LIMIT'",
        ),
        ("skill:R.span:5", "'span' is about all scenarios together"),
        ("p:0.05", "'p' is for rules about what moved (compare-fail) only"),
        ("-0.5", "names no metric, or no limit. Write 'mean:0.8' or '0.8'"),
        ("0,8", "names no metric, or no limit"),
        (":0.5", "names no metric, or no limit"),
        ("MEAN:0.5", "Did you mean 'mean'?"),
        ("scenario.recall.mean:0.5", "Did you mean 'scenario:recall.mean'?"),
        (
            "scenario:.mean:0.5",
            "names no scenario. Write it as 'scenario:NAME.mean:LIMIT'",
        ),
        ("tokens:5%", "percent of what? Write a number of tokens, as in 20k"),
        ("pass^0:1", "there is no metric 'pass^0'"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_the_way_out(
    text: str, told: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_limit_rule(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0.05", "names no metric. For the mean score write 'mean:0.05'"),
        ("p:5", "a probability lies between 0 and 1"),
        ("p:0", "a probability lies between 0 and 1"),
        ("mean:120%", "can be broken"),
        (
            "worst:0.1",
            "'worst' is for rules about where a metric lies (fail-under) only",
        ),
        ("-5%", "names no metric, or no limit. Write 'mean:0.05' or 'mean:5%'"),
    ],
)
def test_a_rule_against_a_baseline_that_cannot_be_is_refused(
    text: str, told: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_change_rule(text)
    assert told in str(caught.value)


def test_blanks_around_the_parts_of_a_rule_are_nothing() -> None:
    assert (
        parse_limit_rule(" scenario : recall.mean : 0.5 ").sentence
        == parse_limit_rule("scenario:recall.mean:0.5").sentence
    )


def test_metrics_that_cannot_be_meant_are_not_proposed() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_limit_rule("abc:1")
    assert "holm" not in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        parse_change_rule("abc:1")
    assert "holm" in str(caught.value)
    assert "worst" not in str(caught.value)


def test_values_are_shown_with_as_many_digits_as_tell_them_apart() -> None:
    assert parse_limit_rule("0.8").amounts(0.25324, 0.8) == ["0.25", "0.80"]
    assert parse_limit_rule("0.8").amounts(0.7996, 0.8) == ["0.7996", "0.8000"]
    assert parse_limit_rule("cost:1").amounts(0.004) == ["0.004 USD"]


def test_of_three_trials_two_passed() -> None:
    rows = [
        ScenarioResult(
            scenario="a",
            example="0",
            agent="a",
            span_label="2k",
            span=2000,
            trial=str(trial),
            nodeid="n",
            outcome="passed" if trial else "failed",
            score=float(trial > 0),
            reason="r",
        )
        for trial in range(3)
    ]

    assert pass_k(rows, 2, every=True) == pytest.approx(1 / 3)  # one pair of three
    assert pass_k(rows, 2, every=False) == 1
    assert (
        pass_k(rows, 1, every=True)
        == pass_k(rows, 1, every=False)
        == pytest.approx(2 / 3)
    )
    assert pass_k(rows, 4, every=True) is None


@pytest.mark.parametrize("text", ["0", "0.3", ".9", "1e-1"])
def test_a_share_of_collapses_is_a_number_below_one(text: str) -> None:
    assert parse_collapses(text) == float(text)


@pytest.mark.parametrize("text", ["", "x", "-0.1", "1", "30", "30%", "nan", "inf"])
def test_another_share_of_collapses_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"share from 0 to 0\.9.*Write 0\.3"):
        parse_collapses(text)
