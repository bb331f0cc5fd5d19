"""--ltm-definitions plays files of any built-in scenario, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

FILE = {
    "steps": [
        {"say": "My favourite colour is teal."},
        {"ask": "What is my favourite colour?"},
    ],
    "expected": "teal",
}


@pytest.mark.parametrize(
    ("name", "options"), [("first", ["--ltm-suite=standard"]), ("a-b c", [])]
)
def test_the_files_are_played_whatever_their_names_and_nothing_beside_them(
    project: Any, name: str, options: list[str]
) -> None:
    folder = project.path / "mine" / "colours"
    folder.mkdir(parents=True)
    (folder / f"{name}.def.json").write_text(json.dumps(FILE), encoding="utf-8")
    found = project.pytest("--ltm-agent=full", "--ltm-definitions=mine", *options)
    found.assert_outcomes(passed=1)
    played = project.path.glob(".ltm/runs/*/*/plan.json")
    assert ["teal" in path.read_text(encoding="utf-8") for path in played] == [True]


def test_a_scenario_outside_the_standard_suite_is_played(project: Any) -> None:
    folder = project.path / "mine" / "kv_pairs"
    folder.mkdir(parents=True)
    (folder / "first.def.json").write_text("{}", encoding="utf-8")
    found = project.pytest(
        "--ltm-agent=full", "--ltm-definitions=mine", "--collect-only", "-q"
    )
    found.stdout.fnmatch_lines(["*kv_pairs*first*"])


def test_the_head_of_a_run_says_the_version_of_the_suite(project: Any) -> None:
    found = project.pytest("--ltm-agent=silent", "--ltm-suite=paper", "--ltm-dry-run")
    found.stdout.fnmatch_lines(["*suite: paper 2*"])
