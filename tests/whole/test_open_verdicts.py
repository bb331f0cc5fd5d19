"""Answers that are neither provably right nor wrong stay in the mean, between two bounds, until a judge decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

TEST = """
from pathlib import Path

from pytest_ltm import Check, Score, Unscored

def asked(ltm):
    ltm.say("My colour is ochre.")
    ltm.ask("Which colour is mine?", answer="Ochre.")

def test_all_open(ltm):
    asked(ltm)
    ltm.score(Unscored("it hums", "hums/1", cause="undecided"))

def test_half_open(ltm):
    asked(ltm)
    ltm.score(Score(0.5, "1 of 2", (Check("names it", True), Check("knows since when", False, open=True))))

def test_proven(ltm):
    asked(ltm)
    if Path("hums").exists():
        ltm.score(Unscored("it hums", cause="undecided"))
"""
ONLY_OPEN = TEST.partition("def test_half_open")[0]
JUDGES = """
def sure(question):
    with open("asked.txt", "a") as file:
        file.write(question)
    return "It names it. GRADE: yes"
"""
RUN = ("--ltm-suite=none", "--ltm-agent=echo", "--ltm-span=600")


@pytest.fixture
def opened(project: Project) -> Project:
    project.file(TEST)
    project.file(JUDGES, "judges.py")
    return project


def summary(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (latest_run(project.path) / "summary.json").read_bytes()
    )
    return found


def test_an_undecided_example_is_skipped_and_stays_in_the_mean_between_two_bounds(
    opened: Project,
) -> None:
    result = opened.pytest(*RUN, "-rs")

    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "skipped": 1}
    result.stdout.fnmatch_lines(
        [
            "SKIPPED * undecided: it hums",
            "*all_open *0.00 to 1.00*",
            "*half_open *0.50 to 1.00*",
            "*proven *1.00*",
            "*total of 3 *1.50 to 3.00*",
            "2 of 3 examples left open*",
            "*1 undecided: it hums (*",
            "  a judge (--ltm-judge=SPEC) decides most, *",
        ]
    )
    rows = opened.results()
    assert [
        (row["score"], row.get("upper"), row["outcome"], row["cause"])
        for row in rows.values()
    ] == [
        (0.0, 1.0, "skipped", "undecided"),
        (0.5, 1.0, "failed", ""),
        (1.0, None, "passed", ""),
    ]
    [column] = summary(opened)["results"]
    assert (column["total"], column["bounds"], column["open"]) == (
        1.5,
        {"low": 1.5, "high": 3.0, "full": 3},
        2,
    )


def test_a_gate_takes_the_lower_bound(opened: Project) -> None:
    assert opened.pytest(*RUN, "--ltm-fail-under=0.5").ret == 0
    assert opened.pytest(*RUN, "--ltm-fail-under=0.51").ret == 1


def test_undecided_alone_is_no_reason_to_try_again(opened: Project) -> None:
    opened.file(ONLY_OPEN)

    assert opened.pytest(*RUN).ret == 0
    assert opened.pytest(*RUN, "--ltm-fail-under=0").ret == 0


def test_mumbling_never_pays(opened: Project) -> None:
    opened.pytest(*RUN, "--ltm-save=clear")
    opened.file("", "hums")

    assert (
        opened.pytest(*RUN, "--ltm-compare=clear", "--ltm-compare-fail=mean:0.1").ret
        == 1
    )


def test_a_judge_decides_the_only_answer_that_the_rules_left_open(
    opened: Project,
) -> None:
    opened.file(ONLY_OPEN)
    opened.pytest(*RUN, "--ltm-judge=judges:sure?canaries=off")

    row = opened.results()["all_open"]
    assert (row["outcome"], row["score"], row["rule"]) == (
        "passed",
        1.0,
        "hums/1+judge/answer/1+reading/2",
    )
    asked = (opened.path / "asked.txt").read_text()
    # echo repeats the question
    assert [asked.count(text) for text in ("Which colour is mine?", "Ochre.")] == [
        2,
        1,
    ]


def test_journal_resumed_and_rescored_runs_keep_both_bounds(opened: Project) -> None:
    opened.pytest(*RUN)
    [folder] = latest_run(opened.path).glob("echo*")
    journal, results = (
        (folder / "journal.jsonl").read_text("utf-8"),
        (folder / "results.json").read_text("utf-8"),
    )
    verdicts = [
        json.loads(line) for line in journal.splitlines() if '"verdict"' in line
    ]
    assert [(verdict["score"], verdict.get("upper")) for verdict in verdicts] == [
        (0.0, 1.0),
        (0.5, 1.0),
        (1.0, None),
    ]
    assert verdicts[1]["checks"] == [["names it", True], ["knows since when", None]]

    lines = journal.splitlines(keepends=True)
    (folder / "journal.jsonl").write_text(
        "".join(lines[: len(lines) * 2 // 3]), "utf-8"
    )
    (folder / "results.json").unlink()
    opened.pytest("--ltm-resume=latest")
    assert (folder / "journal.jsonl").read_text("utf-8") == journal
    assert (folder / "results.json").read_text("utf-8") == results

    opened.pytest("--ltm-rescore=latest").stdout.fnmatch_lines(
        ["*3 verdicts unchanged, 0 moved*"]
    )
    assert [row.get("upper") for row in opened.results().values()] == [1.0, 1.0, None]


def test_junit_markdown_and_page_have_both_bounds(opened: Project) -> None:
    opened.pytest(
        *RUN, "--junitxml=out.xml", "--ltm-summary=out.md", "--ltm-report=out.html"
    )

    junit = (opened.path / "out.xml").read_text("utf-8")
    assert (
        '<property name="ltm_score" value="0.0" /><property name="ltm_upper" value="1.0" />'
        in junit
    )
    assert "1.50 to 3.00 of 3" in (opened.path / "out.md").read_text("utf-8")
    assert "0.50 to 1.00" in (opened.path / "out.html").read_text("utf-8")
