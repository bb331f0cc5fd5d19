"""Gates, comparisons and effective spans in Markdown, annotations, tables and pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import run_folders
import sample_runs
from gate_sides import FULL, WAYS, WORSE, held, side

from pytest_ltm.api.journal import ConversationResult, ExampleMetric, RunResult
from pytest_ltm.figures.markdown import markdown_text
from pytest_ltm.figures.sentences import span_sentences, spans_json
from pytest_ltm.gate.change_report import (
    change_lines,
    github_annotations,
    talk_lines,
    verdict_lines,
)
from pytest_ltm.gate.changes import GateSide, compare_sides
from pytest_ltm.gate.gate_markdown import comparison_markdown, gate_section
from pytest_ltm.gate.gate_rules import parse_change_rule, parse_limit_rule
from pytest_ltm.gate.plan_facts import PlanFacts
from pytest_ltm.gate.verdict import Finding, GateVerdict, decide_gate
from pytest_ltm.reports.html import build_report
from pytest_ltm.reports.run_markdown import (
    run_markdown,
)
from pytest_ltm.reports.terminal import summary_lines

SPANS = ("isolated", "2k", "32k")


@pytest.fixture(autouse=True)
def on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def forgetful() -> RunResult:
    """Remembers everything at 2k, and loses one scenario of three at 32k."""
    return side(held(FULL, span="isolated"), held(FULL), held(WORSE, span="32k")).result


def breach(sentence: str, rule: str = "mean:5%") -> GateVerdict:
    finding = Finding(
        rule=rule,
        agent="bot",
        span_label="2k",
        state="failed",
        sentence=sentence,
        moved=True,
    )
    return GateVerdict(findings=(finding,))


@pytest.mark.parametrize(
    "hostile", run_folders.HOSTILE.values(), ids=list(run_folders.HOSTILE)
)
def test_nothing_in_a_sentence_ends_or_begins_an_annotation(hostile: str) -> None:
    [line] = github_annotations(
        breach(
            f"100% {hostile}\n::error::forged\r\n::stop-commands::x",
            rule=f"a,b:{hostile}",
        )
    )
    assert line.startswith("::error title=long-term memory%3A a%2Cb%3A")
    assert "\n" not in line
    assert "\r" not in line
    title, message = line.removeprefix("::error title=").split("::", 1)
    assert ":" not in title
    assert message.startswith("bot at 2k: 100%25 ")


def test_what_cannot_be_measured_is_a_warning_of_one_line() -> None:
    [line] = github_annotations(
        GateVerdict(findings=(), lost="3 of 9 examples were lost")
    )
    assert line.startswith("::warning title=")
    assert "could not be measured: 3 of 9 examples were lost" in line


def test_a_gate_that_held_annotates_nothing() -> None:
    assert github_annotations(GateVerdict(findings=())) == []


@pytest.mark.parametrize(
    "hostile", run_folders.HOSTILE.values(), ids=list(run_folders.HOSTILE)
)
def test_nothing_in_a_name_is_markup_in_markdown(hostile: str) -> None:
    shown = markdown_text(hostile)
    assert "<" not in shown
    assert "\n" not in shown
    assert re.search(r"(?<!\\)[|`*_\[\]~$]", shown) is None


def played(
    scores: Mapping[str, tuple[float, ...]], span: str = "2k", trials: int = 8
) -> list[tuple[ConversationResult, PlanFacts]]:
    return [held(scores, span=span, trial=str(trial)) for trial in range(trials)]


def test_which_side_is_better_is_said_with_all_that_it_rests_on() -> None:
    good, bad = (
        {"colours": (1.0, 1.0), "jokes": (1.0,)},
        {"colours": (0.0, 1.0), "jokes": (1.0,)},
    )
    better = side(*played(good, trials=12), name="run 1")
    worse = side(*played(bad, trials=12), name="run 2")

    def told(before: GateSide, after: GateSide) -> str:
        return " ".join(
            " ".join(change_lines(compare_sides(before, after, WAYS), 80)).split()
        )

    assert (
        "On these texts mybot at 2k is worse than run 1 by 0.25 of full marks: better in 0, worse in 12, equal in 24 "
        "of 36 examples (two-sided p < 0.001). On other texts and in other conversations: worse, too (95% interval "
        "-0.40 … -0.05; two-sided p = 0.028; 12 conversations each)."
    ) in told(better, worse)
    assert (
        "mybot at 2k is better than run 2 by 0.25 of full marks: better in 12, worse in 0"
        in told(worse, better)
    )


def test_a_difference_that_chance_explains_makes_no_side_better() -> None:
    some = {
        "colours": (1.0, 0.0),
        "jokes": (1.0,),
        **{f"more_{i}": (1.0,) for i in range(4)},
    }
    other = {**some, "colours": (0.0, 1.0), "jokes": (0.0,)}
    told = change_lines(
        compare_sides(
            side(*played(some, trials=1)), side(*played(other, trials=1)), WAYS
        ),
        250,
    )

    assert any(
        "is worse than this run by 0.17 of full marks, which chance explains" in line
        for line in told
    )


def test_where_even_a_total_loss_may_be_chance_no_detectable_drop_is_told() -> None:
    good, bad = ({f"s{i}": (score,) for i in range(6)} for score in (1.0, 0.0))
    before, after = (
        side(held(one), held(two, trial="1")) for one, two in ((good, bad), (bad, good))
    )
    told = " ".join(change_lines(compare_sides(before, after, WAYS), 200))

    assert (
        "mybot at 2k: hardly any drop would stand out from chance; run more trials."
        in told
    )


def test_several_places_share_the_limit_of_what_is_called_better() -> None:
    good, bad = (
        {"colours": (1.0,), "jokes": (1.0,)},
        {"colours": (0.0,), "jokes": (1.0,)},
    )
    spans = (
        "1k",
        "2k",
        "4k",
        "8k",
        "16k",
        "32k",
        "64k",
        "128k",
        "256k",
        "512k",
        "1000k",
        "2000k",
        "4000k",
    )
    before = side(*(part for span in spans for part in played(good, span)))
    after = side(
        *(
            part
            for span in spans
            for part in played(bad if span == "8k" else good, span)
        )
    )
    told = " ".join(
        " ".join(change_lines(compare_sides(before, after, WAYS), 80)).split()
    )

    assert (
        "mybot at 8k is worse than this run by 0.50 of full marks, which chance explains"
        in told
    )
    assert (
        "not shown (95% interval -0.65 … -0.20; two-sided p = 0.008, one of 13 comparisons; 8 conversations each)"
        in told
    )


@pytest.mark.parametrize(("trials", "said"), [(1, True), (3, False)])
def test_what_single_conversations_do_not_show_is_said(
    trials: int, *, said: bool
) -> None:
    many = {f"scenario_{i}": (1.0, 0.5) for i in range(6)}
    less = {**many, "scenario_0": (0.0, 0.0)}
    before = side(*(held(many, trial=str(trial)) for trial in range(trials)))
    after = side(*(held(less, trial=str(trial)) for trial in range(trials)))
    told = " ".join(
        " ".join(change_lines(compare_sides(before, after, WAYS), 80)).split()
    )

    assert (
        "conversations: unknown, as one conversation each does not show how much"
        in told
    ) == said


@pytest.mark.parametrize(
    ("replies", "said"), [(100, False), (290, False), (310, True), (930, True)]
)
def test_an_agent_that_talks_much_more_than_before_is_told_of(
    replies: int, *, said: bool
) -> None:
    def talking(tokens: int) -> GateSide:
        talk, plan = held(FULL)
        return side((replace(talk, tokens=1_000, reply_tokens=tokens), plan))

    found = compare_sides(talking(100), talking(replies), WAYS)
    told = " ".join(" ".join(change_lines(found, 80)).split())
    share = (
        f"the agent's own replies are {replies / 1_000:.0%} of all tokens, 10% before"
    )
    assert (share in told) == said
    assert bool(talk_lines(found, 80)) == said


def test_a_scenario_with_bars_in_its_name_stays_one_cell() -> None:
    before, after = (
        side(held({"a|b": (1.0,), "c": (1.0,)})),
        side(held({"a|b": (0.0,), "c": (1.0,)})),
    )
    page = comparison_markdown(after.result, compare_sides(before, after, WAYS), None)
    [row] = [line for line in page.splitlines() if "a\\|b" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 7


def test_the_summary_leads_with_the_verdict_then_totals_then_what_moved() -> None:
    before, after = side(held(FULL), name="baseline 'main'"), side(held(WORSE))
    rules = [parse_change_rule("mean:5%"), parse_limit_rule("0.9")]
    found = compare_sides(before, after, WAYS)
    page = run_markdown(
        after.result,
        sections=[gate_section(decide_gate(after.result, rules, found), found, rules)],
    )
    parts = [
        "## Long-term memory: regressed",
        "**gate: regressed: mybot at 2k, 2 rules broken**",
        "Rules",
        "| mybot at 2k | 1.50 of 3 | 50% | 33% | needs trials |",
        "### What moved against baseline 'main' (agent mybot)",
        "| colours | 1.00 | 0.00 | -1.00 |",
        "On these texts mybot at 2k is worse than baseline 'main'",
        "Mean score of each scenario",
    ]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_a_run_without_a_gate_has_a_summary_too() -> None:
    page = run_markdown(sample_runs.gaps())
    assert page.startswith("## Long-term memory: no gate\n")
    assert "no reply within 300 s" in page


def test_a_summary_has_the_figures_beside_the_score_and_the_notes() -> None:
    rows = tuple(
        sample_runs.row(name, 1.0, metrics=(ExampleMetric("f1", f1),))
        for name, f1 in (("a", 0.5), ("b", 0.25))
    )
    talk = sample_runs.conversation("full", "2k", {}, scenarios=rows)
    page = run_markdown(sample_runs.run(talk, notices=("people: 87.9 F1",)))

    assert "<summary>Further metrics: " in page
    assert "| b | 1 | 0.250 |" in page
    assert "| all examples | 2 | 0.375 |" in page
    assert "- people: 87.9 F1" in page


def test_a_summary_of_nothing_says_so() -> None:
    assert "No conversation was held." in run_markdown(
        RunResult(run_id="r", conversations=())
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_comparison_and_verdict_fit_into_the_terminal(width: int) -> None:
    long = {f"a_rather_long_name_of_a_scenario_{i}": (1.0, 0.5) for i in range(12)}
    low = dict.fromkeys(long, (0.0, 0.25))
    before, after = side(held(long, agent="x" * 30)), side(held(low, agent="y" * 30))
    found = compare_sides(before, after, WAYS)
    lines = [
        *change_lines(found, width),
        *verdict_lines(
            decide_gate(after.result, [parse_change_rule("mean:1%")], found), width
        ),
    ]
    assert max(map(len, lines)) <= max(width, 62)
    assert "  … and 4 more scenarios moved" in lines


def test_scenarios_that_did_not_move_are_not_listed() -> None:
    lines = change_lines(compare_sides(side(held(FULL)), side(held(WORSE)), WAYS), 80)
    assert [
        line.split()[0]
        for line in lines
        if line.startswith("  ") and line.split()[0] in FULL
    ] == [
        "colours",
        "jokes",
    ]


def test_how_far_an_agent_remembers_is_told_with_what_it_keeps() -> None:
    [sentence] = span_sentences(forgetful())
    assert sentence.startswith(
        "mybot: effective memory span not known: more trials would narrow it (95% interval of"
    )
    assert sentence.endswith(
        "keeps 85% of its isolated score); this run kept 100% at 2k, 57% at 32k"
    )
    assert any(
        "effective memory span" in line
        for line in summary_lines(forgetful(), width=200, verbosity=0, color=False)
    )
    [found] = spans_json(forgetful())
    assert (
        found["kept_in_run"],
        [point["span_label"] for point in found["curve"]],
    ) == (2_000, ["2k", "32k"])


def test_one_span_or_none_has_no_effective_span() -> None:
    assert span_sentences(side(held(FULL), held(FULL, span="32k")).result) == []


def test_the_report_file_tells_how_far_they_remember(tmp_path: Path) -> None:
    conversations = [
        replace(conversation, agent_spec="bot")
        for conversation in forgetful().conversations
    ]
    folder = run_folders.write_run(tmp_path / "run", *conversations, journals=False)
    build_report([folder], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "How far do they remember?" in page
    assert "this run kept 100% at 2k, 57% at 32k." in page
