"""Every table shows the suite's name and version, so that totals of different versions are not confused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sample_runs
from run_folders import write_run
from sample_runs import conversation

from pytest_ltm.api.journal import RunResult
from pytest_ltm.figures.run_loading import read_run, suite_of
from pytest_ltm.reports.html import build_report
from pytest_ltm.reports.run_markdown import run_markdown
from pytest_ltm.reports.terminal import summary_lines

PAPER = {"suite": "paper", "suite_version": 1}


def _run(suite: str) -> RunResult:
    return sample_runs.run(conversation("full", "2k", {"colours": [1.0]}), suite=suite)


def _table(suite: str, width: int = 80) -> list[str]:
    lines = summary_lines(_run(suite), width=width, verbosity=0, color=False)
    at = next(n for n, line in enumerate(lines) if line.startswith("memory span"))
    return lines[at - 1 : at + 3]


def test_the_terminals_table_has_the_suite_in_its_corner() -> None:
    assert [line.split() for line in _table("paper 1")[:2]] == [
        ["paper", "1", "full"],
        ["memory", "span", "2k"],
    ]
    assert _table("")[0].split() == ["full"]


def test_a_long_name_of_a_suite_leaves_room_for_the_scores() -> None:
    corner, agent = _table("of_" * 30 + " 7", width=60)[0].split("   ", 1)
    assert (corner[:3], corner[-3:], agent.strip()) == ("of_", "_ 7", "full")
    assert all(len(line) <= 60 for line in _table("of_" * 30, width=60))


def test_the_tables_of_the_markdown_summary_have_the_suite_in_their_corner() -> None:
    assert [
        line
        for line in run_markdown(_run("my_suite 2")).splitlines()
        if line.startswith("| my")
    ] == [
        r"| my_suite 2 | total | accuracy | passed | 95% interval | no score | tokens | of which replies |",
        r"| my_suite 2 | full at 2k |",
    ]


@pytest.mark.parametrize(
    ("plan", "title"),
    [
        (PAPER, "paper 1"),
        ({"suite": "mine", "suite_version": None}, "mine"),
        ({"suite": None, "suite_version": None}, ""),
        ({**PAPER, "definitions": "there"}, ""),
        (None, ""),
    ],
)
def test_a_suite_is_named_where_it_says_what_was_played(plan: Any, title: str) -> None:
    assert suite_of(plan) == title


def test_the_page_names_the_suites_of_its_runs(tmp_path: Path) -> None:
    one, other = (
        conversation("full", "2k", {"colours": [1.0]}),
        conversation("echo", "2k", {"colours": [0.0]}),
    )
    first = write_run(tmp_path / "first", one, plan=PAPER)
    second = write_run(
        tmp_path / "second", other, plan={"suite": "standard", "suite_version": 3}
    )
    assert read_run(first).result.suite == "paper 1"
    build_report([first], tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text("utf-8")
    assert "; suite paper 1; run first</p>" in page
    assert "at each memory span, suite paper 1; below it" in page
    build_report([first, second], tmp_path / "both.html")
    assert "; suites paper 1 and standard 3; 2 runs</p>" in (
        tmp_path / "both.html"
    ).read_text("utf-8")
