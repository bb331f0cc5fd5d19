"""The gate of a run: refusals before it, outcomes under it, and the exit status after it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

SCENARIOS = """
import pytest

def test_port(ltm):
    ltm.say("I live in Porto.")
    ltm.wait(span=0.5)
    ltm.check("town", "Porto" in ltm.ask("Where do I live?"))
    ltm.check("polite", True)

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    assert "Kelvin" in ltm.ask("What is my cat called?")
"""
BOTS = """
import random

class Bot:
    kept = None

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if message.endswith("?"):
            return " ".join(self.notes[-self.kept:] if self.kept else self.notes)
        self.notes.append(message)
        return "Noted."

class Short(Bot):
    kept = 1

class Lossy(Bot):
    chance = random.Random(1)

    def reply(self, message):
        if self.chance.random() < 0.2:
            raise RuntimeError("the line is dead")
        return super().reply(message)

class Mute:
    def reply(self, message):
        return None

class Priced(Bot):
    def reply(self, message):
        from pytest_ltm import Reply
        return Reply(text=super().reply(message), cost_usd=0.25)
"""


@pytest.fixture
def bots(project: Project) -> Project:
    """A project of two scenarios and agents with more and less memory, all labelled `bot`."""
    project.file(SCENARIOS)
    project.file(BOTS, "bots.py")
    return project


def play(project: Project, agent: str, *args: str) -> RunResult:
    return project.ltm("--ltm-retries=0", *args, agent=f"bot=bots:{agent}")


def saved(project: Project, *args: str) -> Project:
    assert play(project, "Bot", "--ltm-save=main", *args).ret == 0
    return project


def verdict(result: RunResult) -> str:
    [line] = [line for line in result.outlines if line.startswith("gate: ")]
    return line


# --- decisions of the rules


def test_a_regression_is_red_and_its_reversal_green(bots: Project) -> None:
    saved(bots)
    red = play(bots, "Short", "--ltm-compare=main", "--ltm-compare-fail=mean:5%")
    assert red.ret == 1
    assert verdict(red) == "gate: regressed: bot at 300, 1 rule broken (exit status 1)"
    red.stdout.fnmatch_lines(
        ["*- bot at 300: the mean score dropped from 1.00 to 0.*, by more than 5% of*"]
    )
    green = play(bots, "Bot", "--ltm-compare=main", "--ltm-compare-fail=mean:5%")
    assert green.ret == 0
    assert (
        verdict(green) == "gate: passed (1 rule, each for one agent at one memory span)"
    )


def test_a_score_below_the_threshold_passes_under_a_gate_and_fails_without(
    bots: Project,
) -> None:
    gated = play(bots, "Short", "--ltm-fail-under=0.1", "-v", "-rP")
    gated.assert_outcomes(passed=2)
    assert gated.ret == 0
    gated.stdout.fnmatch_lines(["*test_port*SCORED 0.50*"])
    gated.stdout.fnmatch_lines(
        ["*score below the threshold*", "*score 0.50, below 1.00: *"]
    )
    open_ = play(bots, "Short", "-v")
    open_.assert_outcomes(passed=1, failed=1)
    assert open_.ret == 1
    open_.stdout.fnmatch_lines(["*test_port*PARTIAL 0.50*"])


def test_a_failed_assert_is_a_score_under_a_gate(bots: Project) -> None:
    bots.file(
        "def test_no(ltm):\n    ltm.say('x')\n    assert 'zebra' in ltm.ask('z?')\n"
    )
    gated = play(bots, "Bot", "--ltm-fail-under=0.9", "-v")
    gated.assert_outcomes(passed=1)
    assert gated.ret == 1
    assert verdict(gated) == "gate: failed: bot at 300, 1 rule broken (exit status 1)"
    gated.stdout.fnmatch_lines(["*SCORED 0.00*"])


def test_an_expected_failure_stays_one(bots: Project) -> None:
    bots.file(
        "import pytest\n"
        "@pytest.mark.xfail(strict=True)\n"
        "def test_no(ltm):\n    ltm.say('x')\n    assert 'zebra' in ltm.ask('z?')\n"
        "def test_yes(ltm):\n    ltm.say('x')\n    ltm.check('anything', bool(ltm.ask('x?') or True))\n"
    )
    result = play(bots, "Bot", "--ltm-fail-under=0.5")
    result.assert_outcomes(xfailed=1, passed=1)
    assert result.ret == 0


def test_comparing_alone_only_reports(bots: Project) -> None:
    saved(bots)
    result = play(bots, "Short", "--ltm-compare=main")
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    assert not [line for line in result.outlines if line.startswith("gate:")]
    result.stdout.fnmatch_lines(
        ["Compared with baseline 'main' (agent bot)*", "*port * 1.00 * 0.50 *-0.50*"]
    )


def test_an_error_of_the_scenario_breaks_the_gate_unless_a_rule_allows_it(
    bots: Project,
) -> None:
    bots.file(
        SCENARIOS
        + "\ndef test_bug(ltm):\n    ltm.say('x'); ltm.ask('y?')\n    raise ValueError('bug')\n"
    )
    result = play(bots, "Bot", "--ltm-fail-under=0.9")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*- bot at 300: 1 example ended in an error of the scenario: bug*"]
    )
    assert (
        play(bots, "Bot", "--ltm-fail-under=0.9", "--ltm-fail-under=errors:40%").ret
        == 0
    )


def test_an_error_in_a_teardown_is_no_green(bots: Project) -> None:
    bots.conftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef f():\n    yield\n    raise OSError('down')\n"
    )
    result = play(bots, "Bot", "--ltm-fail-under=0.9")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["gate: passed*", "*failed for another reason (exit status 1)*"]
    )


# --- losses are not regressions


def test_an_agent_that_loses_a_fifth_of_its_replies_is_never_red(bots: Project) -> None:
    saved(bots, "--ltm-trials=4")
    result = play(
        bots,
        "Lossy",
        "--ltm-trials=4",
        "--ltm-compare=main",
        "--ltm-compare-fail=mean:0",
    )
    assert result.ret == 75
    assert verdict(result).startswith("gate: could not be measured: ")
    assert "gate: could not be measured" in result.outlines[-1]
    assert "regressed" not in result.stdout.str()


def test_a_mute_agent_cannot_be_measured_gate_or_not(bots: Project) -> None:
    assert play(bots, "Mute", "--ltm-fail-under=0.9").ret == 75
    assert play(bots, "Mute").ret == 75


def test_a_cost_that_nobody_tells_cannot_be_measured(bots: Project) -> None:
    result = play(bots, "Bot", "--ltm-fail-under=cost:1")
    assert result.ret == 75
    assert (
        verdict(result)
        == "gate: could not be measured: 1 rule cannot be evaluated (exit status 75)"
    )
    assert play(bots, "Priced", "--ltm-fail-under=cost:100").ret == 0
    assert play(bots, "Priced", "--ltm-fail-under=cost:0.25").ret == 1


def test_an_exit_status_that_is_neither_0_nor_1_stays(bots: Project) -> None:
    nothing = play(bots, "Bot", "--ltm-fail-under=0.9", "-k", "nothing")
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    bots.file("raise ValueError('broken')", "test_broken.py")
    assert (
        play(bots, "Short", "--ltm-fail-under=0.9").ret == pytest.ExitCode.INTERRUPTED
    )


# --- baselines


def test_a_baseline_is_written_where_it_is_committed_and_overwriting_is_told(
    bots: Project,
) -> None:
    first = play(bots, "Bot", "--ltm-save=main")
    first.stdout.fnmatch_lines(["baseline saved: ltm_baselines*main.json"])
    path = bots.path / "ltm_baselines" / "main.json"
    text = path.read_text()
    play(bots, "Bot", "--ltm-save=main").stdout.fnmatch_lines(["baseline unchanged: *"])
    assert path.read_text() == text
    play(bots, "Short", "--ltm-save=main").stdout.fnmatch_lines(
        ["baseline overwritten: *"]
    )
    assert path.read_text() != text


@pytest.mark.parametrize(
    ("agent", "args", "why"),
    [
        ("Mute", (), "examples have no score because"),
        ("Short", ("--ltm-fail-under=0.9",), "gate: failed"),
        ("Bot", ("-x",), "the run did not finish"),
    ],
)
def test_what_is_no_measure_for_others_is_not_kept(
    bots: Project, agent: str, args: tuple[str, ...], why: str
) -> None:
    if args == ("-x",):
        bots.file(
            SCENARIOS
            + "\ndef test_a(ltm):\n    ltm.say('x')\n    assert 'zebra' in ltm.ask('y?')\n"
        )
    result = play(bots, agent, "--ltm-save=main", *args)
    result.stdout.fnmatch_lines([f"baseline 'main' not saved: *{why}*"])
    assert not (bots.path / "ltm_baselines").exists()


def test_a_baseline_that_only_guesses_is_kept_with_a_warning(bots: Project) -> None:
    result = bots.ltm("--ltm-save=main", "-q", "-k", "cat", agent="bot=silent")
    result.stdout.fnmatch_lines(
        ["baseline saved: *main.json. It is not shown to be better than guessing, so*"]
    )
    play(bots, "Bot", "--ltm-save=main").stdout.no_fnmatch_line(
        "*better than guessing, so*"
    )


def test_a_run_is_compared_with_the_one_before_it_not_with_itself(
    bots: Project,
) -> None:
    play(bots, "Bot")
    result = play(bots, "Short", "--ltm-compare=latest", "--ltm-compare-fail=mean:5%")
    assert result.ret == 1


def test_a_run_that_was_refused_is_not_the_latest_one(bots: Project) -> None:
    play(bots, "Bot")
    assert play(bots, "Mute").ret == 75
    assert (
        play(bots, "Bot", "--ltm-compare=latest", "--ltm-seed=3").ret
        == pytest.ExitCode.USAGE_ERROR
    )
    assert (
        play(bots, "Short", "--ltm-compare=latest", "--ltm-compare-fail=mean:5%").ret
        == 1
    )


@pytest.mark.parametrize("words", [(), ("-n2",), ("-q",), ("-q", "-n2")], ids=" ".join)
def test_a_conversation_without_some_of_its_scenarios_is_told(
    bots: Project, words: tuple[str, ...]
) -> None:
    said = r"note: 1 example of these conversations was deselected \(.*\) and not played: cat, so these scores"

    def notes(*options: str) -> list[str]:
        return re.findall(
            said,
            " ".join(
                play(bots, "Bot", "-k", "port", *options, *words).stdout.str().split()
            ),
        )

    assert len(notes()) == 1
    assert notes("--ltm-span=isolated") == []


def test_rows_are_paired_whatever_the_agent_is_called(bots: Project) -> None:
    saved(bots)
    result = bots.ltm(
        "--ltm-compare=main",
        "--ltm-compare-fail=mean:5%",
        agent="good=bots:Bot,bad=bots:Short",
    )
    assert result.ret == 1
    assert (
        verdict(result) == "gate: regressed: bad at 300, 1 rule broken (exit status 1)"
    )


# --- refusals before any message


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("--ltm-compare-fail=mean:5%",),
            "nothing to compare with. Add --ltm-compare=NAME",
        ),
        (
            ("--ltm-compare=mian",),
            "there is no baseline, file or run 'mian'. Did you mean 'main'?",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail=meen:5%"),
            "there is no metric 'meen'. Did you mean 'mean'?",
        ),
        (
            ("--ltm-compare=main", "--ltm-seed=3"),
            "the seed is 0 there and 3 in this run",
        ),
        (("--ltm-compare=main", "-k", "port"), "only there: cat/0"),
        (
            ("--ltm-compare=main", "--ltm-span=300,500", "--ltm-compare-fail=mean:1"),
            "has no memory span 500",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail=p:0.05"),
            "--ltm-trials=3 is enough, also for the baseline",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail=p:0.05", "--ltm-trials=3"),
            "here are 2; more trials help: --ltm-trials=3 is enough, also for the baseline",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail=holm:0.05"),
            "--ltm-trials=6 is enough, also for the baseline",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail=cost:5%"),
            "baseline 'main' lacks the cost of some replies",
        ),
        (
            ("--ltm-compare=main", "--ltm-compare-fail="),
            "no rule is given. Write one, as in --ltm-compare-fail=mean:5%",
        ),
        (
            ("--ltm-fail-under=", "--ltm-fail-under=0.5"),
            "no rule is given. Write one, as in --ltm-fail-under=0.8",
        ),
        (
            ("--ltm-fail-under=scenario:prt.mean:1",),
            "this run has no scenario 'prt'. Did you mean 'port'?",
        ),
        (("--ltm-fail-under=skill:R.mean:1",), "this run has no skill 'R'"),
        (("--ltm-fail-under=pass^3:1",), "Add --ltm-trials=3"),
        (("--ltm-fail-under=span:300",), "needs isolated examples and memory spans"),
        (
            ("--ltm-fail-under=span:9k", "--ltm-span=isolated,300"),
            "no memory span of this run is that long",
        ),
        (("--ltm-fail-under=0.5", "--ltm-shard=1/2"), "a shard is not the whole run"),
        (("--ltm-save=a/b",), "'a/b' cannot name a baseline"),
        (
            ("--ltm-save=x", "--ltm-agent=other=echo"),
            "a baseline is of one agent, and this run has bot, other",
        ),
        (("--ltm-compare-plans=some",), "'some' is not one of equal, overlapping"),
        (("--ltm-compare-collapses=30",), "'30' is not a share from 0 to 0.9"),
        (("--ltm-compare-blind=yes",), "'yes' is not one of refuse, allow"),
        (("--ltm-summary=test_it.py/x.md",), "--ltm-summary: cannot write"),
    ],
)
def test_what_can_never_be_measured_is_refused_before_anything_is_said(
    bots: Project, args: tuple[str, ...], told: str
) -> None:
    if "--ltm-compare" in args[0]:
        saved(bots)
    before = len(list(bots.path.glob(".ltm/runs/*/*/journal.jsonl")))
    result = play(bots, "Bot", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()
    assert len(list(bots.path.glob(".ltm/runs/*/*/journal.jsonl"))) == before


def test_what_is_equal_in_both_can_be_compared_all_the_same(bots: Project) -> None:
    saved(bots)
    result = play(
        bots,
        "Short",
        "--ltm-compare=main",
        "-k",
        "port",
        "--ltm-compare-plans=overlapping",
        "--ltm-compare-fail=mean:5%",
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*only the examples equal in both*"])


def test_a_rule_that_cannot_turn_red_is_green_only_where_that_is_allowed(
    bots: Project,
) -> None:
    saved(bots)
    rule = ("--ltm-compare=main", "--ltm-compare-fail=mean:0.95")
    blind = play(bots, "Bot", *rule)
    allowed = play(bots, "Bot", *rule, "--ltm-compare-blind=allow")
    sighted = play(bots, "Bot", "--ltm-compare=main", "--ltm-compare-fail=mean:5%")

    assert (blind.ret, allowed.ret, sighted.ret) == (75, 0, 0)
    assert "blind: the baseline has 1.00, and 0.95 may be lost" in " ".join(
        blind.stdout.str().split()
    )
    told = " ".join(sighted.stdout.str().split())
    assert re.search(
        r"a drop of 0\.10 would have been seen in \d+ of 100 such runs", told
    )


def test_rules_stand_in_the_ini_file_a_line_each(bots: Project) -> None:
    bots.pytester.makeini(
        "[pytest]\nltm_fail_under =\n    0.9\n    scenario:port.mean:0.1\n"
    )
    assert play(bots, "Bot").ret == 0
    assert play(bots, "Short").ret == 1


# --- trials


PASS_K = """
import pytest

@pytest.mark.ltm(pass_k={k})
def test_town(ltm):
    town = ltm.random.choice(["Porto", "Brno"])
    ltm.say(f"I live in {{town}}.")
    assert "Porto" in ltm.ask("Where do I live?")
"""


def test_so_many_trials_must_pass_and_each_has_texts_of_its_own(bots: Project) -> None:
    bots.file(PASS_K.format(k=2))
    result = play(bots, "Bot", "--ltm-trials=4")
    scores = [row["score"] for row in rows(bots)]
    assert sorted(set(scores)) == [0.0, 1.0]
    assert result.ret == (0 if sum(scores) >= 2 else 1)
    bots.file(PASS_K.format(k=4))
    assert play(bots, "Bot", "--ltm-trials=4").ret == 1
    refused = play(bots, "Bot", "--ltm-trials=3")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "town: 4 trials must pass (pass_k=4), and the run has 3. Add --ltm-trials=4"
        in refused.stderr.str()
    )


def test_every_trial_has_definitions_and_a_plan_of_its_own(bots: Project) -> None:
    bots.pytest(
        "--ltm-agent=full",
        "--ltm-suite=standard",
        "--ltm-trials=3",
        "--ltm-examples=1",
        "-k",
        "colours or name_list",
    )
    for name in ("colours", "name_list"):
        texts = [
            path.read_text()
            for path in bots.path.glob(f".ltm/runs/*/*/definitions/{name}/0.def.json")
        ]
        assert len(set(texts)) == len(texts) == 3
    plans = [
        json.loads(path.read_text())["plan_fingerprint"]
        for path in bots.path.glob(".ltm/runs/*/*/results.json")
    ]
    assert len(set(plans)) == 3


def rows(project: Project) -> list[dict[str, Any]]:
    folders = sorted(latest_run(project.path).glob("*/results.json"))
    return [
        row for path in folders for row in json.loads(path.read_text())["scenarios"]
    ]


def test_a_suite_may_say_how_many_trials_must_pass(bots: Project) -> None:
    bots.file(
        "name: s\nscenarios:\n  - {scenario: colours, pass_k: 2}\n", "s.ltm-suite.yml"
    )
    run = ("--ltm-suite=s.ltm-suite.yml", "--ltm-span=2k")
    assert bots.pytest("--ltm-agent=full", *run, "--ltm-trials=2").ret == 0
    assert bots.pytest("--ltm-agent=echo", *run, "--ltm-trials=2").ret == 1
    assert bots.pytest("--ltm-agent=echo", *run).ret == pytest.ExitCode.USAGE_ERROR


def test_several_trials_tell_how_likely_all_and_any_of_them_pass(bots: Project) -> None:
    bots.file(PASS_K.format(k=1))
    result = play(bots, "Bot", "--ltm-trials=4")
    result.stdout.fnmatch_lines(["pass^4: all trials * 0%", "pass@4: any trial * 100%"])
    summary = json.loads(next(bots.path.glob(".ltm/runs/*/summary.json")).read_text())
    assert summary["results"][0]["pass_k"] == {"k": 4, "all": 0.0, "any": 1.0}
    passed = sum(row["score"] for row in rows(bots))
    assert summary["results"][0]["pass_rate"]["passed"] == passed


# --- for CI


def test_junit_has_scores_as_properties_and_no_failure_under_a_gate(
    bots: Project,
) -> None:
    play(bots, "Short", "--ltm-fail-under=0.1", "--junitxml=junit.xml")
    cases = {
        case.get("name", "").partition("[")[0]: case
        for case in ET.parse(bots.path / "junit.xml").iter("testcase")
    }
    port = cases["test_port"]
    assert port.find("failure") is None
    properties = {each.get("name"): each.get("value") for each in port.iter("property")}
    assert properties["ltm_score"] == "0.5"


def test_junit_failures_begin_with_the_score_and_why(bots: Project) -> None:
    play(bots, "Short", "--junitxml=junit.xml")
    [failure] = ET.parse(bots.path / "junit.xml").iter("failure")
    assert (failure.get("message") or "").startswith(
        "BelowThreshold: score 0.50, below 1.00: "
    )
    assert "I live in Porto." in (failure.text or "")
    assert "greenlet" not in (failure.text or "")


def test_the_summary_is_markdown_and_goes_where_the_environment_says(
    bots: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(bots)
    step = bots.path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    play(
        bots,
        "Short",
        "--ltm-compare=main",
        "--ltm-compare-fail=mean:5%",
        "--ltm-summary=out/summary.md",
    )
    text = (bots.path / "out" / "summary.md").read_text()
    assert text.startswith("## Long-term memory: regressed\n")
    assert "| port | 1.00 | 0.50 | -0.50 |" in text
    assert step.read_text() == "before\n" + text


def test_a_dash_prints_the_summary_in_place_of_the_tables(bots: Project) -> None:
    saved(bots)
    lines = play(
        bots,
        "Short",
        "--ltm-compare=main",
        "--ltm-compare-fail=mean:5%",
        "--ltm-summary=-",
    ).outlines
    assert "## Long-term memory: regressed" in lines
    assert not any(
        "long-term memory ===" in line or line.startswith("port  ") for line in lines
    )
    assert not (bots.path / "-").exists()


def test_breaches_become_annotations_on_github_only(
    bots: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "--ltm-fail-under=scenario:port.mean:60%"
    assert "::error" not in play(bots, "Short", rule).stdout.str()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = play(bots, "Short", rule).outlines
    title = "long-term memory%3A scenario%3Aport.mean%3A60%25"
    told = "bot at 300: the mean score of scenario 'port' is 0.50, not at least 0.60"
    assert [line for line in lines if line.startswith("::")] == [
        f"::error title={title}::{told}"
    ]
    warned = play(bots, "Mute", rule).outlines
    assert [line[:9] for line in warned if line.startswith("::")] == ["::warning"]


def test_the_header_says_what_must_hold(bots: Project) -> None:
    saved(bots)
    result = play(bots, "Bot", "--ltm-compare=main", "--ltm-compare-fail=mean:5%")
    result.stdout.fnmatch_lines(
        [
            "ltm: compared with: baseline 'main'",
            "ltm: gate: the mean score drops by at most 5% of the baseline's",
        ]
    )


def test_verdict_and_comparison_stand_in_the_summary_file(bots: Project) -> None:
    saved(bots)
    play(bots, "Short", "--ltm-compare=main", "--ltm-compare-fail=mean:5%")
    summary = json.loads((latest_run(bots.path) / "summary.json").read_text())
    assert summary["gate"]["state"] == "failed"
    assert (
        summary["comparison"]["changes"][0]["scenarios"]["port"]["difference"] == -0.5
    )


# --- under xdist


def test_under_xdist_the_controller_decides_alike(bots: Project) -> None:
    saved(bots)
    rule = ("--ltm-compare=main", "--ltm-compare-fail=mean:5%", "-v")
    alone, spread = play(bots, "Short", *rule), play(bots, "Short", *rule, "-n2")
    assert (alone.ret, spread.ret) == (1, 1)
    assert verdict(alone) == verdict(spread)
    spread.assert_outcomes(passed=2)
    spread.stdout.fnmatch_lines(["*SCORED 0.50*"])


def test_under_xdist_other_plans_are_refused_before_anything_is_said(
    bots: Project,
) -> None:
    saved(bots)
    result = play(bots, "Bot", "--ltm-compare=main", "--ltm-seed=3", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "the seed is 0 there and 3 in this run" in result.stderr.str()
