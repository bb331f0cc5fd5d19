"""The verdict of a gate (passed, failed, not measurable), and the changes against a baseline."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
import sample_runs
from gate_sides import FULL, WAYS, WORSE, held, side
from msgspec import structs

from pytest_ltm.api.journal import ConversationResult, RunResult
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.gate.change_report import (
    change_lines,
    changes_json,
    name_verdict,
    verdict_line,
    verdict_lines,
)
from pytest_ltm.gate.changes import GateSide, compare_sides, one_agent
from pytest_ltm.gate.gate_rules import parse_change_rule, parse_limit_rule
from pytest_ltm.gate.plan_facts import PlanFacts
from pytest_ltm.gate.verdict import GateVerdict, decide_gate

RULES = ("mean:0", "total:0", "pass_rate:0", "tokens:0", "unscored:0", "errors:0")


def texts(verdict: GateVerdict) -> list[str]:
    return [finding.text for finding in verdict.findings if finding.state != "passed"]


def compared(before: GateSide, after: GateSide, *rules: str) -> GateVerdict:
    return decide_gate(
        after.result,
        list(map(parse_change_rule, rules)),
        compare_sides(before, after, WAYS),
    )


def test_comparing_a_run_with_itself_says_exactly_zero_everywhere() -> None:
    same = side(held(FULL), held(FULL, span="32k"))
    found = compare_sides(same, same, WAYS)

    assert compared(same, same, *RULES, "mean:0%").state == "passed"
    for change in found.changes:
        assert change.is_identical
        assert change.overall.difference == 0
        assert change.overall.p_drop in (None, 1)
        assert all(level.difference == 0 for level in change.levels.values())
        assert (
            change.lost_passes,
            change.won_passes,
            change.only_before,
            change.only_after,
        ) == (0, 0, 0, 0)
        assert change.mcnemar == 1
    assert "mybot at 32k and this run have equal scores in all 6 examples" in " ".join(
        change_lines(found, 200)
    )


def play_trials(
    scores: Mapping[str, tuple[float, ...]], trials: int
) -> list[tuple[ConversationResult, PlanFacts]]:
    return [held(scores, trial=str(trial)) for trial in range(trials)]


WIDE = {f"scenario_{n}": (1.0, 0.5) for n in range(11)}


@pytest.mark.parametrize(
    ("rule", "ending"),
    [
        ("mean:5%", "; a drop of 0.10 would have been seen in"),
        ("total:5%", "; a drop of 1.10 would have been seen in"),
        ("pass_rate:0", "; a drop of 0.10 would have been seen in"),
        ("p:0.05", "30% of either side's conversations may earn nothing"),
        ("holm:0.05", "would have been seen in 11 of them"),
    ],
)
def test_a_rule_that_holds_says_which_drop_it_would_have_seen(
    rule: str, ending: str
) -> None:
    same = side(*play_trials(WIDE, 12))
    verdict = compared(same, same, rule)

    assert verdict.state == "passed"
    assert ending in verdict.findings[0].sentence
    assert ending in " ".join(" ".join(verdict_lines(verdict, 80)).split())


def test_more_trials_would_have_seen_a_drop_more_often() -> None:
    def seen(trials: int) -> int:
        same = side(*play_trials(WIDE, trials))
        (finding,) = compared(same, same, "p:0.05").findings
        return int(finding.sentence.partition("seen in ")[2].partition(" ")[0])

    assert seen(3) < seen(25) < seen(40)


@pytest.mark.parametrize(
    ("scores", "trials", "rule", "why"),
    [
        (FULL, 1, "p:0.5", "even if nine tenths of the baseline's 0.88 were lost"),
        (WIDE, 2, "p:0.0001", "even if nine tenths of the baseline's 0.75 were lost"),
        (WIDE, 7, "holm:0.0001", "cannot tell whether single scenarios dropped"),
        (WIDE, 2, "mean:0.7", "the baseline has 0.75, and 0.70 may be lost"),
        ({"colours": (0.0, 0.0)}, 2, "mean:0", "the baseline has nothing to lose"),
        ({"colours": (0.0, 0.0)}, 9, "p:0.05", "the baseline has nothing to lose"),
    ],
)
def test_a_rule_that_the_loss_of_nearly_everything_would_not_break_is_not_green(
    scores: Mapping[str, tuple[float, ...]], trials: int, rule: str, why: str
) -> None:
    same = side(*play_trials(scores, trials))
    verdict = compared(same, same, rule)

    assert verdict.state == "unmeasurable"
    assert why in verdict.findings[0].sentence
    if "blind" in verdict.findings[0].sentence:
        allowed = decide_gate(
            same.result,
            [parse_change_rule(rule)],
            compare_sides(same, same, WAYS),
            allow_blind=True,
        )
        assert allowed.state == "passed"
        assert why in allowed.findings[0].sentence


def test_fewer_collapses_supposed_let_a_smaller_drop_fail() -> None:
    before = side(*play_trials(dict.fromkeys(WIDE, (1.0, 1.0)), 6))
    after = side(*play_trials({**WIDE, "scenario_0": (1.0, 1.0)}, 6))
    rules = [parse_change_rule("p:0.01")]
    careful, bold = (
        decide_gate(
            after.result, rules, compare_sides(before, after, WAYS, collapses=share)
        )
        for share in (0.3, 0.0)
    )

    assert (careful.state, bold.state) == ("passed", "failed")


def test_a_drop_is_told_with_both_means_the_limit_and_where_it_is() -> None:
    verdict = compared(
        side(held(FULL), name="baseline 'main'"), side(held(WORSE)), "mean:5%"
    )

    assert verdict.state == "failed"
    [text] = texts(verdict)
    assert text.startswith(
        "mybot at 2k: the mean score dropped from 0.88 to 0.50, by more than 5% of the baseline's; "
    )
    assert text.endswith("; most in colours (1.00 to 0.00), jokes (0.75 to 0.62)")
    assert verdict_line(verdict) == "gate: regressed: mybot at 2k, 1 rule broken"


def test_a_drop_within_the_limit_holds_and_a_rise_always_does() -> None:
    assert compared(side(held(FULL)), side(held(WORSE)), "mean:0.4").state == "passed"
    assert (
        compared(
            side(held(WORSE)), side(held(FULL)), "mean:0", "total:0", "pass_rate:0"
        ).state
        == "passed"
    )


def test_agents_are_never_paired_by_their_label() -> None:
    verdict = compared(
        side(held(FULL, agent="a")),
        side(held(WORSE, agent="b"), held(FULL, agent="c")),
        "mean:5%",
    )
    assert [(finding.agent, finding.state) for finding in verdict.findings] == [
        ("b", "failed"),
        ("c", "passed"),
    ]


def test_the_order_of_agents_conversations_and_rows_changes_nothing() -> None:
    trials = [held({**WORSE, "spy": (0.1 * i, 1.0)}, trial=str(i)) for i in range(4)]
    others = [held(FULL, agent="other", trial=str(i)) for i in range(4)]
    before = side(*(held(FULL, trial=str(i)) for i in range(4)))
    straight = compare_sides(before, side(*trials, *others), WAYS)
    parts = [*trials, *others]
    random.Random(1).shuffle(parts)
    backwards = [
        (
            replace(one, scenarios=one.scenarios[::-1]),
            structs.replace(plan, examples=dict([*plan.examples.items()][::-1])),
        )
        for one, plan in parts
    ]
    mixed = compare_sides(before, side(*backwards), WAYS)

    told = {change["agent"]: change for change in changes_json(straight)["changes"]}
    assert {
        change["agent"]: change for change in changes_json(mixed)["changes"]
    } == told
    rules = [
        parse_change_rule(rule)
        for rule in ("mean:1%", "p:0.05", "holm:0.05", "tokens:0")
    ]
    verdicts = [
        decide_gate(side(*which).result, rules, found)
        for which, found in ((parts, straight), (backwards, mixed))
    ]
    assert sorted(texts(verdicts[0])) == sorted(texts(verdicts[1]))


def test_a_rule_holds_for_each_agent_at_each_span() -> None:
    run = side(held(FULL), held(WORSE, span="32k"), held(WORSE, agent="b")).result
    verdict = decide_gate(run, [parse_limit_rule("0.8")])
    assert [(f.agent, f.span_label, f.state) for f in verdict.findings] == [
        ("mybot", "2k", "passed"),
        ("mybot", "32k", "failed"),
        ("b", "2k", "failed"),
    ]
    assert "mybot at 32k: the mean score is 0.50, not at least 0.80" in texts(verdict)


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("scenario:colours.mean:0.1", "failed"),
        ("scenario:spy.mean:0.8", "passed"),
        ("scenario:spye.mean:0.8", "unmeasurable"),
        ("skill:R.mean:0.9", "failed"),
        ("skill:X.mean:0.9", "unmeasurable"),
        ("worst:0.01", "failed"),
        ("total:1.5", "passed"),
        ("total:1.6", "failed"),
        ("pass_rate:0.33", "passed"),
        ("pass_rate:0.34", "failed"),
        ("tokens:2k", "failed"),
        ("tokens:3k", "passed"),
        ("cost:1", "unmeasurable"),
        ("pass^1:0.33", "passed"),
        ("pass^2:0.1", "unmeasurable"),
        ("span:2k", "unmeasurable"),
    ],
)
def test_every_metric_decides(rule: str, state: str) -> None:
    assert (
        decide_gate(side(held(WORSE)).result, [parse_limit_rule(rule)]).state == state
    )


def test_a_cost_that_only_some_conversations_tell_cannot_be_measured() -> None:
    run = side(held(FULL, cost_usd=0.5), held(FULL, trial="1")).result
    verdict = decide_gate(run, [parse_limit_rule("cost:9")])
    assert verdict.state == "unmeasurable"
    assert (
        verdict_line(verdict)
        == "gate: could not be measured: 1 rule cannot be evaluated"
    )
    assert texts(verdict) == [
        "mybot at 2k: the cost is unknown: the agent does not report the cost of all its replies (see --ltm-price)"
    ]


def test_costs_rise_against_the_baseline() -> None:
    before, after = side(held(FULL, cost_usd=1.0)), side(held(FULL, cost_usd=1.2))
    assert compared(before, after, "cost:20%").state == "passed"
    assert texts(compared(before, after, "cost:10%")) == [
        "mybot at 2k: the cost rose from 1.00 USD to 1.20 USD, by more than 10% of the baseline's"
    ]


def test_nobody_who_lost_examples_through_infrastructure_is_red() -> None:
    lost, plan = held(WORSE)
    gone = sample_runs.row(
        "spy",
        None,
        agent="mybot",
        example="0",
        outcome="error",
        cause="agent",
        reason="no reply within 300 s",
    )
    run = RunResult(
        run_id="r",
        conversations=(
            replace(lost, scenarios=(*lost.scenarios[:-2], gone, lost.scenarios[-1])),
        ),
    )
    after = GateSide(name="this run", result=run, plans=(plan,))

    verdict = decide_gate(
        run,
        [parse_limit_rule("0.99"), parse_change_rule("mean:0")],
        compare_sides(side(held(FULL)), after, WAYS),
    )

    assert verdict.state == "unmeasurable"
    assert verdict.status == 75
    assert (
        "1 of 6 examples has no score because agent, judge, user or budget failed"
        in verdict_line(verdict)
    )


def test_a_baseline_that_lost_examples_cannot_measure_a_drop() -> None:
    before = side(held({**FULL, "spy": (None, 1.0)}))
    rows = tuple(
        replace(row, cause="not reached") if row.score is None else row
        for row in before.result.scenarios
    )
    one = replace(before.result.conversations[0], scenarios=rows)
    before = structs.replace(
        before, result=structs.replace(before.result, conversations=(one,))
    )
    verdict = compared(before, side(held(FULL)), "mean:5%")
    assert verdict.state == "unmeasurable"
    assert "lost 1 of 6 examples" in verdict.lost
    assert name_verdict(verdict) == "could not be measured"


def test_examples_without_a_score_on_either_side_are_in_no_mean() -> None:
    before, after = (
        side(held({**FULL, "spy": (None, 0.5)})),
        side(held({**FULL, "colours": (None, 1.0), "spy": (0.0, 0.5)})),
    )
    change = compare_sides(before, after, WAYS).changes[0]
    assert change.is_identical
    assert (change.paired.unscored_before, change.paired.unscored_after) == (1, 1)
    assert "2 examples without a score before or now" in " ".join(
        change_lines(compare_sides(before, after, WAYS), 200)
    )


def test_who_leaves_an_answer_open_gains_nothing() -> None:
    hedged = side(held({**FULL, "jokes": (1.0, None)}))
    found = decide_gate(
        hedged.result,
        list(
            map(
                parse_limit_rule,
                ("mean:0.7", "worst:0.6", "pass_rate:0.9", "unscored:0.2"),
            )
        ),
    )
    assert texts(found) == [
        "mybot at 2k: the lowest mean of a scenario is 0.50, 1 example without a score counted as 0, not at least 0.60",
        "mybot at 2k: the pass rate is 0.67, 1 example without a score counted as 0, not at least 0.90",
    ]
    assert compared(side(held(FULL)), hedged, "mean:0.01").state == "failed"
    assert (
        compared(hedged, hedged, "mean:0", "total:0", "pass_rate:0").state == "passed"
    )
    assert compared(side(held(FULL)), hedged, "unscored:0").state == "failed"


@pytest.mark.parametrize(("ungraded", "state"), [(1, "passed"), (2, "unmeasurable")])
def test_a_judge_without_a_grade_for_more_than_a_twentieth_is_trouble(
    ungraded: int, state: str
) -> None:
    one, plan = held({"colours": (1.0,) * (21 - ungraded), "jokes": (None,) * ungraded})
    asked = tuple(
        replace(row, judge_calls=1, cause="" if row.scored else "ungraded")
        for row in one.scenarios
    )
    run = side((replace(one, scenarios=asked), plan)).result
    verdict = decide_gate(run, [parse_limit_rule("mean:0.1")])
    assert verdict.state == state
    assert verdict.lost == (
        "the judge gave no grade for 2 of 21 examples that asked it, more than 5%"
        if ungraded > 1
        else ""
    )


def test_an_error_of_the_scenario_breaks_the_gate_unless_a_rule_allows_it() -> None:
    one, _ = held(FULL)
    bad = replace(one.scenarios[0], outcome="error", score=None, cause="scenario")
    run = RunResult(
        run_id="r", conversations=(replace(one, scenarios=(bad, *one.scenarios[1:])),)
    )
    assert texts(decide_gate(run, [parse_limit_rule("0.5")])) == [
        "mybot at 2k: 1 example ended in an error of the scenario: colours"
    ]
    assert (
        decide_gate(
            run, [parse_limit_rule("0.5"), parse_limit_rule("errors:20%")]
        ).state
        == "passed"
    )
    assert decide_gate(run, [parse_limit_rule("errors:10%")]).state == "failed"


@pytest.mark.parametrize(
    ("scores", "state"),
    [
        ((1.0, 1.0, 0.0), "passed"),
        ((1.0, 0.0, 0.5), "failed"),
        ((1.0, None, 0.0), "unmeasurable"),
        ((None, 0.0, 0.0), "failed"),
        ((1.0, 1.0, None), "passed"),
    ],
)
def test_so_many_trials_must_pass(scores: tuple[float | None, ...], state: str) -> None:
    parts = [
        held({"colours": (score,), "jokes": (1.0,)}, trial=str(i))[0]
        for i, score in enumerate(scores)
    ]
    marked = [
        replace(
            part,
            scenarios=tuple(
                replace(row, pass_k=2 if row.scenario == "colours" else None)
                for row in part.scenarios
            ),
        )
        for part in parts
    ]
    verdict = decide_gate(RunResult(run_id="r", conversations=tuple(marked)), [])
    assert verdict.state == state
    assert all(
        text.startswith("mybot at 2k: colours/0 passes in ") for text in texts(verdict)
    )


def test_a_significant_drop_is_red_and_noise_is_not() -> None:
    before = side(
        *(
            held({"colours": (1.0, 1.0), "jokes": (1.0, 1.0)}, trial=str(i))
            for i in range(8)
        )
    )
    dropped = side(
        *(
            held({"colours": (0.0, 1.0), "jokes": (1.0, 1.0)}, trial=str(i))
            for i in range(8)
        )
    )
    noise = side(
        *(
            held(
                {"colours": (float(i % 2), 1.0), "jokes": (1.0, float(i < 7))},
                trial=str(i),
            )
            for i in range(8)
        )
    )
    assert compared(before, dropped, "p:0.01", "holm:0.05").state == "failed"
    assert compared(noise, noise, "p:0.05", "holm:0.05").state == "passed"
    assert compared(before, dropped, "scenario:jokes.p:0.05").state == "passed"


def test_a_rule_about_chance_shares_its_limit_among_all_the_places_that_it_looks_at() -> (
    None
):
    spans = ("2k", "8k", "32k")
    full: dict[str, tuple[float, ...]] = {"colours": (1.0,), "jokes": (1.0,)}
    less: dict[str, tuple[float, ...]] = {"colours": (0.0,), "jokes": (1.0,)}

    def run(scores: dict[str, dict[str, tuple[float, ...]]]) -> GateSide:
        return side(
            *(
                held(of, span=span, trial=str(i))
                for span, of in scores.items()
                for i in range(8)
            )
        )

    before, now = (
        run(dict.fromkeys(spans, full)),
        run({**dict.fromkeys(spans, full), "32k": less}),
    )
    assert compared(run({"32k": full}), run({"32k": less}), "p:0.005").state == "failed"
    # eight trials cannot show so small a change
    assert compared(before, now, "p:0.005").state == "unmeasurable"
    (told,) = [
        text
        for text in texts(compared(before, now, "p:0.02"))
        if text.startswith("mybot at 32k: ")
    ]
    assert "one of 3 comparisons" in told


def test_too_few_trials_for_a_test_are_not_measurable_rather_than_green() -> None:
    verdict = compared(side(held(FULL)), side(held(WORSE)), "p:0.05")
    assert verdict.state == "unmeasurable"
    assert "cannot tell whether" in texts(verdict)[0]


def test_a_rule_about_the_mean_is_no_test_and_says_so_where_trials_show_chance() -> (
    None
):
    def mixed(*scores: float) -> GateSide:
        return side(
            *(
                held({"colours": (score,), "jokes": (1.0,)}, trial=str(i))
                for i, score in enumerate(scores)
            )
        )

    (noise,) = texts(compared(mixed(1.0, 0.0, 1.0), mixed(0.0, 1.0, 0.0), "mean:5%"))
    (lost,) = texts(compared(mixed(*[1.0] * 5), mixed(*[0.0] * 5), "mean:5%"))

    assert noise.endswith("; chance explains as much (one-sided p = 0.500)")
    assert "chance" not in lost


def test_the_effective_span_may_not_shrink() -> None:
    spans = ("isolated", "2k", "32k")
    before = side(*(held(FULL, span=span) for span in spans))
    after = side(
        held(FULL, span="isolated"), held(FULL, span="2k"), held(WORSE, span="32k")
    )
    assert texts(compared(before, after, "span:0")) == [
        "mybot: the memory span that was kept, in tokens, dropped from 32,000 to 2,000"
    ]
    assert decide_gate(after.result, [parse_limit_rule("span:2k")]).state == "passed"
    assert texts(decide_gate(after.result, [parse_limit_rule("span:4k")])) == [
        "mybot: the memory span that was kept, in tokens, is 2,000, not at least 4,000"
    ]
    assert (
        decide_gate(before.result, [parse_limit_rule("span:64k")]).state
        == "unmeasurable"
    )


# --- comparable plans


def refusal(before: GateSide, after: GateSide) -> str:
    with pytest.raises(ConfigurationError) as caught:
        compare_sides(before, after, WAYS)
    return str(caught.value)


def test_other_settings_are_refused_with_the_options_that_would_make_them_equal() -> (
    None
):
    text = refusal(
        side(held(FULL, plan={"seed": 3}), name="baseline 'main'"), side(held(FULL))
    )
    assert "the seed is 3 there and 0 in this run" in text
    assert "for the same plan: --ltm-seed=3" in text


def test_new_scenarios_are_refused_and_the_part_that_can_be_compared_is_offered() -> (
    None
):
    before, after = (
        side(held(FULL), name="baseline 'main'"),
        side(held({**WORSE, "names": (0.0, 0.0)})),
    )
    text = refusal(before, after)
    assert "only in this run: names (2 examples)" in text
    assert "--common compares the 6 of 8 examples that are equal in both" in text

    found = compare_sides(before, after, WAYS, common=True)
    assert found.changes[0].partial
    assert sorted(found.changes[0].levels) == ["colours", "jokes", "spy"]
    assert "only the examples equal in both are compared" in " ".join(
        change_lines(found, 200)
    )


def test_the_refusal_names_the_options_that_leave_new_scenarios_out_or_give_as_many_examples() -> (
    None
):
    ways = structs.replace(WAYS, nodes={"names": "test_it.py::test_names"})
    with pytest.raises(
        ConfigurationError,
        match=r"for the same plan: --deselect=test_it\.py::test_names",
    ):
        compare_sides(side(held(FULL)), side(held({**FULL, "names": (1.0,)})), ways)
    fewer = {name: scores[:1] for name, scores in FULL.items()}
    assert "for the same plan: --ltm-examples=2" in refusal(
        side(held(FULL)), side(held(fewer))
    )
    less = {name: FULL[name] for name in ("colours", "jokes")}
    assert "leave out what selects fewer scenarios (-k" in refusal(
        side(held(FULL)), side(held(less))
    )


def test_a_rule_broken_at_two_places_is_one_rule() -> None:
    run = side(held(WORSE), held(WORSE, span="32k")).result
    assert (
        verdict_line(decide_gate(run, [parse_limit_rule("0.8")]))
        == "gate: failed: mybot at 2k, mybot at 32k, 1 rule broken"
    )


def test_changed_scenarios_are_named_and_never_compared() -> None:
    before, after = side(held(FULL)), side(held(WORSE, versions={"colours": "2"}))
    assert (
        "colours (2 examples): version differs: '1' there, '2' in this run"
        in refusal(before, after)
    )
    assert sorted(
        compare_sides(before, after, WAYS, common=True).changes[0].levels
    ) == ["jokes", "spy"]
    edited = [side(held(FULL, versions={"spy": f"source:{n}"})) for n in (1, 2)]
    assert "spy (2 examples): the test itself has changed" in refusal(*edited)


def test_other_settings_are_not_comparable_in_any_part() -> None:
    with pytest.raises(ConfigurationError, match="tokenizer"):
        compare_sides(
            side(held(FULL)),
            side(held(FULL, plan={"tokenizer": "o200k_base"})),
            WAYS,
            common=True,
        )


def test_spans_and_trials_that_both_have_are_compared_and_the_rest_is_told() -> None:
    before = side(held(FULL), held(FULL, trial="1"), name="baseline 'main'")
    after = side(held(FULL), held(WORSE, span="32k"))
    found = compare_sides(before, after, WAYS)
    assert [change.span_label for change in found.changes] == ["2k"]
    assert "baseline 'main' has no memory span 32k: not compared." in " ".join(
        change_lines(found, 200)
    )
    assert (
        decide_gate(after.result, [parse_change_rule("mean:5%")], found).state
        == "unmeasurable"
    )


def test_trials_that_only_one_side_has_are_named() -> None:
    before = side(held(FULL), held(FULL, trial="1"))
    after = side(held(FULL), held(WORSE, trial="2"), held(WORSE, trial="3"))
    found = compare_sides(before, after, WAYS)
    assert found.changes[0].is_identical
    assert (
        "6 examples of the earlier and 12 of the later side (trials of one side only: 1, 2, 3)"
        in " ".join(change_lines(found, 300))
    )


def test_nothing_in_common_is_refused() -> None:
    text = refusal(
        side(held(FULL), name="baseline 'main'"), side(held(FULL, span="32k"))
    )
    assert (
        "baseline 'main' has the memory spans 2k (trials 0), this run has the memory spans 32k (trials 0)"
        in text
    )


def test_a_side_with_several_agents_needs_a_choice() -> None:
    several = side(held(FULL), held(FULL, agent="b"))
    with pytest.raises(
        ConfigurationError, match=r"has several agents: mybot, b\. Name one"
    ):
        compare_sides(several, side(held(FULL)), WAYS)
    assert one_agent(several, "b").agents == ("b",)
    with pytest.raises(ConfigurationError, match="Did you mean 'mybot'"):
        one_agent(several, "mybt")


def test_the_comparison_is_json() -> None:
    found = changes_json(compare_sides(side(held(FULL)), side(held(WORSE)), WAYS))
    assert found["changes"][0]["scenarios"]["colours"]["difference"] == -1
    assert found["changes"][0]["lost_passes"] == 2
