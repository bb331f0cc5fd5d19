"""Failures on the screen: a few as pytest shows them, many as a line per scenario; then the result."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from conftest import Project

from pytest_ltm.reports import run_report as report

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)


@pytest.fixture
def run(project: Project) -> Callable[..., pytest.RunResult]:
    """Return a function that asks the silent agent `questions` questions about a small conversation."""

    def ask(questions: int, *options: str) -> pytest.RunResult:
        turns = [
            {"speaker": "Ida", "dia_id": "D1:1", "text": "I keep bees."},
            {"speaker": "Tom", "dia_id": "D1:2", "text": "I mend clocks."},
        ]
        qa = [
            {
                "question": f"What does Ida keep ({n})?",
                "answer": "bees",
                "evidence": ["D1:1"],
                "category": 4,
            }
            for n in range(questions)
        ]
        talk = {"speaker_a": "Ida", "speaker_b": "Tom", "session_1": turns}
        talk["session_1_date_time"] = "9:05 am on 3 March, 2021"
        path = project.path / "talks.json"
        path.write_text(
            json.dumps([{"sample_id": "talk-1", "conversation": talk, "qa": qa}]),
            encoding="utf-8",
        )
        return project.pytest(
            "--ltm-agent=silent", "--ltm-suite=locomo", f"?data={path}", *options
        )

    return ask


def test_many_failures_are_a_number(run: Callable[..., pytest.RunResult]) -> None:
    result = run(report.LISTED + 1)

    result.assert_outcomes(failed=21)
    result.stdout.fnmatch_lines(
        [
            "single_hop 0/21: F1 0.000 of 'bees'",
            "21 failures: -rf lists them, --tb=short shows them",
            "*= long-term memory =*",
        ]
    )
    result.stdout.no_fnmatch_line("FAILED *")
    result.stdout.no_fnmatch_line("*= FAILURES =*")


def test_few_failures_are_shown(run: Callable[..., pytest.RunResult]) -> None:
    result = run(2)

    result.stdout.fnmatch_lines(["*= FAILURES =*", "*What does Ida keep*", "FAILED *"])
    result.stdout.no_fnmatch_line("*failures: -rf*")


@pytest.mark.parametrize(
    ("option", "shown", "left_out"),
    [
        ("-rf", "FAILED *", "*= FAILURES =*"),
        ("--tb=short", "*= FAILURES =*", "FAILED *"),
        ("-v", "FAILED *", "no line"),
    ],
)
def test_who_asks_for_them_gets_them(
    run: Callable[..., pytest.RunResult],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    shown: str,
    left_out: str,
) -> None:
    monkeypatch.setattr(report, "LISTED", 1)

    result = run(2, option)

    result.stdout.fnmatch_lines([shown])
    result.stdout.no_fnmatch_line(left_out)
