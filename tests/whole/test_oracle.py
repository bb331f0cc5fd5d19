"""The oracle in whole runs: its score and its place in reports; resumed, rescored and in a dry run."""

from __future__ import annotations

import json
import sys
from typing import Any

import locomo_files
import longmemeval_files
import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

SCENARIOS = """
import pathlib, pytest

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.9)
    assert "Kelvin" in ltm.ask("What is my cat called?", answer="Kelvin")

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9)
    assert "Ohm" in ltm.ask("What is my dog called?")

def test_owl(ltm):
    ltm.say("My owl is called Volt.")
    ltm.wait(span=0.95)
    stop = pathlib.Path(__file__).with_name("stop.txt")
    if stop.exists():
        stop.unlink()
        pytest.exit("stopped")
    assert "Volt" in ltm.ask("What is my owl called?", answer="Volt")
"""


@pytest.fixture
def pets(project: Project) -> Project:
    project.file(SCENARIOS)
    return project


def outcomes(project: Project) -> dict[str, tuple[str, float | None, str]]:
    return {
        name: (row["outcome"], row["score"], row["reason"])
        for name, row in project.results().items()
    }


def test_it_is_marked_as_a_control_and_has_no_score_where_no_answer_is_said(
    pets: Project,
) -> None:
    result = pets.ltm("--ltm-report=report.html", agent="oracle,echo", span="2k")
    result.assert_outcomes(passed=2, failed=3, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "* oracle (control) * echo*",
            "cat * 1.00 * 0.00",
            "dog * no oracle* * 0.00",
            "*unscored: no oracle (oracle at 2k: dog)*",
        ]
    )
    page = (pets.path / "report.html").read_text(encoding="utf-8")
    assert "oracle (control)" in page
    # a control is never ranked
    assert [name for name in ("echo", "oracle") if f"<dt>{name}" in page] == ["echo"]


def test_it_falls_off_where_the_gaps_exceed_its_window(pets: Project) -> None:
    pets.ltm(agent="oracle:1k", span="4k").assert_outcomes(failed=2, skipped=1)


def test_a_run_of_it_is_resumed_and_scored_again(pets: Project) -> None:
    pets.ltm(agent="oracle", span="2k").assert_outcomes(passed=2, skipped=1)
    whole = outcomes(pets)
    (pets.path / "stop.txt").touch()
    pets.ltm(agent="oracle", span="2k").assert_outcomes(passed=1, skipped=1)
    pets.pytest("--ltm-resume=latest").assert_outcomes(passed=2, skipped=1)
    assert outcomes(pets) == whole
    pets.pytest("--ltm-rescore=latest").assert_outcomes(passed=2, skipped=1)
    assert outcomes(pets) == whole


def test_a_dry_run_needs_no_answers(pets: Project) -> None:
    result = pets.ltm("--ltm-dry-run", agent="oracle", span="2k")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*dry run*", "*oracle*"])


def test_the_list_of_agents_says_that_it_is_a_control(
    pytester: pytest.Pytester,
) -> None:
    said = pytester.run(sys.executable, "-m", "pytest_ltm", "list", "agents").stdout
    said.fnmatch_lines(["*oracle*A control.*"])


@pytest.mark.parametrize("asking", ["official", "free"])
def test_it_gives_the_published_answers_of_locomo(
    project: Project, asking: str
) -> None:
    locomo_files.written(
        project.path / "data.json", [locomo_files.talk(), locomo_files.second()]
    )
    tasks = (
        "?tasks=questions,events,dialogue",
        f"?asking={asking}",
    )
    project.pytest(
        "--ltm-agent=oracle", "--ltm-suite=locomo", "?data=data.json", *tasks
    )
    assert {row["score"] for row in project.results().values()} == {1.0}


def rows(project: Project) -> list[dict[str, Any]]:
    held = [
        json.loads(path.read_bytes())
        for path in latest_run(project.path).glob("*/results.json")
    ]
    return [row for one in held for row in one["scenarios"]]


def test_it_has_full_marks_in_each_task_on_generated_conversations(
    project: Project,
) -> None:
    assert (
        main(
            [
                "data",
                "locomo-generate",
                "-o",
                "new.json",
                "--sessions",
                "6",
                "--turns",
                "90",
            ]
        )
        == 0
    )
    tasks = "?tasks=questions,events,dialogue"
    project.pytest("--ltm-agent=oracle", "--ltm-suite=locomo", "?data=new.json", tasks)

    assert {row["score"] for row in rows(project)} == {1.0}
    assert {"events", "dialogue", "temporal"} < {
        row["scenario"] for row in rows(project)
    }


def test_it_has_full_marks_on_generated_questions(project: Project) -> None:
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "-o",
                "new.json",
                "--count",
                "22",
                "--tokens",
                "30k",
            ]
        )
        == 0
    )
    project.pytest("--ltm-agent=oracle", "--ltm-suite=longmemeval", "?data=new.json")

    unscored = {row["scenario"] for row in rows(project) if row["score"] is None}
    assert {row["score"] for row in rows(project)} == {1.0, None}
    assert unscored == {"single_session_preference"}  # requires a judge


def test_it_gives_the_published_answers_of_longmemeval(project: Project) -> None:
    longmemeval_files.written(project.path / "data.json", longmemeval_files.records())
    project.pytest("--ltm-agent=oracle", "--ltm-suite=longmemeval", "?data=data.json")
    # None: rules cannot decide
    assert {row["score"] for row in project.results().values()} <= {
        1.0,
        None,
    }
