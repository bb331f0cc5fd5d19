"""pytest's own options in an LTM run: which scenarios run, in what order, and when the run stops."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

FOUR = """
import pytest
from ticks import tick

def talk(ltm, name, expected):
    tick(name, "begins")
    try:
        ltm.say(f"{name} speaks")
        ltm.wait(span=0.5)
        tick(name, "goes on")
        assert expected in ltm.ask(f"{name} asks")
    finally:
        tick(name, "ends")

def test_ada(ltm):
    talk(ltm, "ada", "asks")

def test_ben(ltm):
    talk(ltm, "ben", "never")

@pytest.mark.skills
def test_cid(ltm):
    talk(ltm, "cid", "asks")

def test_dot(ltm):
    talk(ltm, "dot", "asks")

def test_ordinary():
    pass
"""
IDS = [
    f"test_it.py::test_{name}[echo-300-0-0]" for name in ("ada", "ben", "cid", "dot")
]


@pytest.fixture
def four(project: Project) -> Project:
    project.file(FOUR)
    project.file("[pytest]\nmarkers = skills: some\n", "pytest.ini")
    return project


def begun(project: Project) -> list[str]:
    found = [
        tick.partition(" ")[0] for tick in project.ticks if tick.endswith("begins")
    ]
    (project.path / "ticks.txt").unlink(missing_ok=True)
    return found


def test_all_four_are_in_progress_before_the_first_goes_on(four: Project) -> None:
    four.ltm().assert_outcomes(passed=3, failed=1, deselected=1)

    assert four.ticks[:5] == [
        "ada begins",
        "ben begins",
        "cid begins",
        "dot begins",
        "ada goes on",
    ]


def test_k_selects_scenarios_by_name(four: Project) -> None:
    four.ltm("-k", "ada or cid").assert_outcomes(passed=2, deselected=3)

    assert begun(four) == ["ada", "cid"]


def test_k_selects_by_the_agents_label(four: Project) -> None:
    result = four.ltm("-k", "silent", agent="echo,silent")

    result.assert_outcomes(failed=4, deselected=5)


def test_m_ltm_selects_every_scenario_and_nothing_else(four: Project) -> None:
    four.pytest("-m", "ltm", "--co", "-q").stdout.fnmatch_lines(
        ["4/5 tests collected (1 deselected)*"]
    )
    four.ltm("-m", "ltm").assert_outcomes(passed=3, failed=1, deselected=1)


def test_m_not_ltm_leaves_the_ordinary_tests(four: Project) -> None:
    four.pytest("-m", "not ltm").assert_outcomes(passed=1, deselected=4)


def test_m_selects_by_markers_of_the_users_own(four: Project) -> None:
    four.ltm("-m", "skills").assert_outcomes(passed=1, deselected=4)

    assert begun(four) == ["cid"]


def test_a_node_id_of_the_report_can_be_pasted_back(four: Project) -> None:
    four.ltm(IDS[2]).assert_outcomes(passed=1)


def test_x_stops_at_the_first_failure_and_unwinds_the_others(four: Project) -> None:
    result = four.ltm("-x")

    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert sorted(four.ticks[-2:]) == ["cid ends", "dot ends"]
    assert "cid goes on" not in four.ticks


def test_maxfail_lets_as_many_fail(project: Project) -> None:
    project.file(FOUR.replace('"asks")', '"never")'))

    project.ltm("--maxfail=3").assert_outcomes(failed=3, deselected=1)


def test_lf_runs_the_failed_scenario_again(four: Project) -> None:
    four.ltm()
    begun(four)

    result = four.ltm("--lf")

    result.assert_outcomes(failed=1)
    assert begun(four) == ["ben"]


def test_lf_keeps_scenarios_that_erred(project: Project) -> None:
    project.file(FOUR.replace('"ben", "never"', '"ben", 1'))
    project.ltm().assert_outcomes(passed=3, errors=1, deselected=1)
    begun(project)

    project.ltm("--lf").assert_outcomes(errors=1)

    assert begun(project) == ["ben"]


@pytest.mark.parametrize("option", ["--ff", "--nf"])
def test_the_order_of_the_plan_stays_whatever_pytest_would_put_first(
    four: Project, option: str
) -> None:
    four.ltm()
    begun(four)

    four.ltm(option).assert_outcomes(passed=3, failed=1, deselected=1)

    assert begun(four) == ["ada", "ben", "cid", "dot"]


def test_ff_keeps_conversations_in_one_piece(four: Project) -> None:
    four.ltm(agent="echo,silent")

    result = four.ltm("--ff", "-v", agent="echo,silent")

    lines = [line for line in result.outlines if "::test_" in line and "%]" in line]
    assert ["echo" in line for line in lines] == [True] * 4 + [False] * 4


def test_sw_stops_at_a_failure_and_goes_on_there(four: Project) -> None:
    four.ltm("--sw").assert_outcomes(passed=1, failed=1, deselected=1)
    begun(four)

    four.ltm("--sw").assert_outcomes(failed=1, deselected=2)

    assert begun(four) == ["ben", "cid", "dot"]


def test_sw_goes_on_with_what_was_in_progress_when_another_failed(
    project: Project,
) -> None:
    project.file(
        FOUR.replace(
            "def talk(ltm, name, expected):", "def talk(ltm, name, expected, span=0.5):"
        )
        .replace("ltm.wait(span=0.5)", "ltm.wait(span=span)")
        .replace('"ada", "asks"', '"ada", "asks", 0.9')
        .replace('"dot", "asks"', '"dot", "never", 0.1')
        .replace('"ben", "never"', '"ben", "asks", 0.05')
    )

    project.ltm("--sw").assert_outcomes(passed=1, failed=1, deselected=1)
    assert begun(project) == ["ada", "ben", "cid", "dot"]
    project.ltm("--sw")

    assert begun(project)[0] == "ada"


def test_co_lists_the_ids_makes_no_agent_and_writes_nothing(four: Project) -> None:
    result = four.ltm("--co", "-q", agent="no.such:Agent")

    result.stdout.fnmatch_lines(
        [one.replace("echo", "no.such_Agent").replace("[", "[[]") for one in IDS]
    )
    assert not (four.path / ".ltm").exists()
    assert four.ticks == []


def test_setup_plan_makes_no_agent_and_writes_nothing(four: Project) -> None:
    result = four.ltm("--setup-plan", agent="no.such:Agent")

    result.stdout.fnmatch_lines(
        ["*SETUP    F _ltm_place*", "*test_it.py::test_ada*fixtures used: *ltm*"]
    )
    assert not (four.path / ".ltm").exists()
    assert four.ticks == []


def test_setup_only_plays_nothing(four: Project) -> None:
    four.ltm("--setup-only").stdout.fnmatch_lines(
        ["*test_it.py::test_ada*fixtures used: *ltm*"]
    )

    assert four.ticks == []


@pytest.mark.parametrize("option", ["--fixtures", "--fixtures-per-test"])
def test_a_list_of_fixtures_is_no_run(four: Project, option: str) -> None:
    result = four.ltm(option, agent="no.such:Agent")

    result.stdout.fnmatch_lines(["ltm -- *"])
    result.stdout.no_fnmatch_line("*unmeasurable*")
    assert not (four.path / ".ltm").exists()


def test_setup_show_shows_fixtures_as_they_come_and_go(project: Project) -> None:
    project.file(
        """
        import pytest

        @pytest.fixture(scope="module")
        def shared():
            yield

        @pytest.fixture
        def own():
            yield

        def test_a(ltm, shared, own):
            ltm.say("A")
            ltm.wait(span=0.5)
            ltm.ask("A?")

        def test_b(ltm, shared, own):
            ltm.say("B")
            ltm.ask("B?")
        """.replace("\n        ", "\n")
    )

    result = project.ltm("--setup-show")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*SETUP    M shared*",
            "*SETUP    F own*",
            "*test_it.py::test_a[[]echo-300-0-0[]] (fixtures used: _ltm_place, ltm, own, request, shared)*",
            "*SETUP    F own*",
            "*test_it.py::test_b[[]echo-300-0-0[]]*",
            "*TEARDOWN F own*",
            "*TEARDOWN F own*",
            "*TEARDOWN M shared*",
        ]
    )
    assert "\n".join(result.outlines).count("SETUP    M shared") == 1


def test_durations_are_each_scenarios_own(project: Project) -> None:
    project.file(
        """
import time

def test_quick_but_long_in_progress(ltm):
    ltm.say("A")
    ltm.wait(span=0.9)
    ltm.ask("A?")

def test_slow(ltm):
    ltm.say("B")
    ltm.wait(span=0.1)
    time.sleep(0.3)
    ltm.ask("B?")
"""
    )

    result = project.ltm("--durations=1")

    result.stdout.fnmatch_lines(
        ["*slowest 1 durations*", "*0.3*s call *test_slow[[]echo-300-0-0[]]"]
    )


def test_junitxml_has_each_scenario_once_with_its_properties(four: Project) -> None:
    four.ltm("--junitxml=junit.xml")

    suite = next(ET.parse(four.path / "junit.xml").iter("testsuite"))
    cases = list(suite.iter("testcase"))
    assert {
        name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    } == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert sorted(str(case.get("name")) for case in cases) == [
        one.partition("::")[2] for one in IDS
    ]
    for case in cases:
        properties = {
            str(one.get("name")): one.get("value") for one in case.iter("property")
        }
        failed = case.find("failure") is not None
        assert properties["ltm_scenario"] == str(case.get("name"))[5:8]
        assert properties["ltm_score"] == ("0.0" if failed else "1.0")
        assert (
            properties["ltm_agent"],
            properties["ltm_span"],
            properties["ltm_trial"],
        ) == ("echo", "300", "0")
        assert properties["ltm_example"] == "0"
        assert int(str(properties["ltm_gap"])) >= 140
        assert int(str(properties["ltm_tokens"])) > 0
        assert "ltm_cost_usd" not in properties


def test_isolated_examples_have_a_conversation_each_and_run_next_to_spans(
    four: Project,
) -> None:
    result = four.ltm("-v", span="isolated,300")

    result.assert_outcomes(passed=6, failed=2, deselected=1)
    lines = [
        line.partition("::")[2].partition("]")[0]
        for line in result.outlines
        if re.search(r"\.py::.*%\]", line)
    ]
    assert lines[:4] == [
        f"test_{name}[echo-isolated-0.{name}_0-0"
        for name in ("ada", "ben", "cid", "dot")
    ]
    assert four.ticks[:3] == ["ada begins", "ada goes on", "ada ends"]


def test_a_folder_of_the_project_may_be_called_like_the_built_in_suite(
    project: Project,
) -> None:
    project.file(
        "def test_ada(ltm):\n    ltm.say('Ada.')\n    assert ltm.ask('Ada?')\n",
        "ltm/test_ada.py",
    )
    options = (
        "--ltm-agent=full",
        "--ltm-suite=standard",
        "--ltm-examples=1",
        "--ltm-span=2k",
    )
    project.pytest(*options, "ltm/colours", "ltm/test_ada.py").assert_outcomes(
        passed=2, deselected=9
    )


def test_the_command_of_a_failure_plays_the_same_selection_again(four: Project) -> None:
    def journal() -> bytes:
        return next(latest_run(four.path).glob("*/journal.jsonl")).read_bytes()

    chosen = ["-k", "ben or cid or dot", "--deselect", IDS[3], "-m", "not other"]
    first = four.ltm(*chosen, "test_it.py")
    first.assert_outcomes(passed=1, failed=1, deselected=3)
    played = journal()
    again = next(line for line in first.outlines if line.startswith("  again: pytest "))
    words = shlex.split(again.removeprefix("  again: pytest ").partition("   (")[0])
    four.pytest(*words).assert_outcomes(passed=1, failed=1, deselected=3)
    assert journal() == played
