"""The workflow of the recipe `ci_gate`, as CI would run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from _commands import ROOT, run
from _pages import blocks
from all_options import all_options

from pytest_ltm.gate.gate_rules import metric_names

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

RECIPE = ROOT / "conftest_examples" / "ci_gate"


def workflow(name: str) -> dict[Any, Any]:
    """Return the parsed contents of a workflow file."""
    found: dict[Any, Any] = yaml.safe_load((RECIPE / name).read_text(encoding="utf-8"))
    return found


def workflow_command() -> str:
    """Return the step that runs pytest."""
    steps = workflow("memory.yml")["jobs"]["memory"]["steps"]
    [command] = [
        step["run"] for step in steps if str(step.get("run", "")).startswith("pytest")
    ]
    return str(command)


@WHOLE_RUN
def test_the_workflow_is_green_with_the_agent_of_the_baseline_and_red_with_the_cheaper_one(
    tmp_path: Path,
) -> None:
    folder = shutil.copytree(
        RECIPE, tmp_path / "recipe", ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    [save, *_] = [
        command
        for block in blocks(RECIPE / "README.md")
        for command, _ in block.commands()
    ]
    assert run(save, folder).status == 0
    assert run(workflow_command(), folder).status == 0
    red = run(workflow_command().replace("bot:Bot", "bot:Cheaper"), folder)
    assert red.status == 1
    assert "gate: regressed: bot at 4k, 2 rules broken (exit status 1)" in red.lines
    assert {"memory.xml", "memory.html", "memory.md"} <= {
        path.name for path in folder.iterdir()
    }


def test_the_workflow_names_only_options_that_there_are() -> None:
    named = {
        word.partition("=")[0]
        for word in workflow_command().split()
        if word.startswith("--ltm-")
    }
    assert named <= {option.flag for option in all_options()}


def test_the_page_of_the_gate_has_a_row_for_every_metric() -> None:
    lines = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8").splitlines()
    cells = "".join(line.split(" | ")[0] for line in lines if line.startswith("| `"))
    assert [
        name
        for name in [*metric_names(against=True), *metric_names(against=False)]
        if f"`{name}`" not in cells
    ] == []


# --- The comment of a pull request.

COMMENT = "memory-comment.yml"
ON = True
"""The key `on`, as a YAML parser reads it."""


def test_the_comment_is_written_after_the_run_whose_summary_it_takes() -> None:
    memory, comment = workflow("memory.yml"), workflow(COMMENT)
    assert comment[ON]["workflow_run"] == {
        "workflows": [memory["name"]],
        "types": ["completed"],
    }
    steps = memory["jobs"]["memory"]["steps"]
    [kept] = [
        step["with"]
        for step in steps
        if step.get("with", {}).get("name") == "memory-summary"
    ]
    assert f"--ltm-summary={kept['path']} " in workflow_command()
    [step] = comment["jobs"]["comment"]["steps"]
    assert "--name memory-summary" in step["run"]
    assert f'"$folder/{kept["path"]}"' in step["run"]


def test_what_runs_code_of_a_pull_request_may_only_read() -> None:
    memory = workflow("memory.yml")
    assert memory[ON] == "pull_request"
    assert memory["permissions"] == {"contents": "read"}
    [checkout] = [
        step
        for step in memory["jobs"]["memory"]["steps"]
        if "checkout" in str(step.get("uses"))
    ]
    assert checkout["with"]["persist-credentials"] is False


def test_what_may_comment_runs_nothing_of_a_pull_request() -> None:
    [job] = workflow(COMMENT)["jobs"].values()
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert [step.keys() & {"uses", "run"} for step in job["steps"]] == [{"run"}]
    assert not re.search(r"secrets\.\w", (RECIPE / COMMENT).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["memory.yml", COMMENT])
def test_no_value_of_an_event_is_written_into_a_command(name: str) -> None:
    steps = [step for job in workflow(name)["jobs"].values() for step in job["steps"]]
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]
    used = {str(step["uses"]) for step in steps if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in used)
    secrets = re.findall(r"secrets\.(\w+)", (RECIPE / name).read_text(encoding="utf-8"))
    assert set(secrets) <= {"BOT_API_KEY"}


GH = """#!/bin/bash
printf '%s\\n' "$*" >> "$LOG"
case "$*" in
  *" GET "*) [ "$PULL_AT" = "$HEAD_SHA" ] && echo 7; exit 0 ;;
  "run download"*) [ -f "$SUMMARY" ] && cp "$SUMMARY" "${@: -1}/memory.md" ;;
  *--paginate*) printf '%s' "$COMMENTS" ;;
esac
"""
"""Replaces GitHub's program, and records its calls."""


@pytest.mark.skipif(shutil.which("bash") is None, reason="the script is bash")
@pytest.mark.parametrize(
    ("comments", "at", "summary", "asked"),
    [
        ("", "abc", "## Fine, @everyone\n", "-X POST repos/o/r/issues/7/comments"),
        (
            "42\n43\n",
            "abc",
            "## Fine, @everyone\n",
            "-X PATCH repos/o/r/issues/comments/42",
        ),
        ("42\n", "newer", "## Fine, @everyone\n", ""),
        ("42\n", "abc", None, "-X PATCH repos/o/r/issues/comments/42"),
        ("", "abc", "é@" * 100_000, "-X POST repos/o/r/issues/7/comments"),
    ],
    ids=["first", "later push", "overtaken", "no summary", "too long"],
)
def test_there_is_one_comment_which_later_pushes_update(
    tmp_path: Path, comments: str, at: str, summary: str | None, asked: str
) -> None:
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    if summary is not None:
        (tmp_path / "summary").write_text(summary)
    branch = '$(touch owned); "`touch owned`"'
    facts = {
        "REPO": "o/r",
        "RUN_ID": "5",
        "RUN_URL": "https://x/5",
        "OWNER": "fork",
        "BRANCH": branch,
        "HEAD_SHA": "abc",
        "PULL_AT": at,
        "COMMENTS": comments,
        "SUMMARY": str(tmp_path / "summary"),
        "LOG": str(tmp_path / "log"),
        "RUNNER_TEMP": str(tmp_path),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    script = workflow(COMMENT)["jobs"]["comment"]["steps"][0]["run"]
    subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=facts, check=True, capture_output=True
    )
    log = (tmp_path / "log").read_text().splitlines()
    assert f"head=fork:{branch}" in log[0]
    assert not (tmp_path / "owned").exists()
    writing = [line for line in log if "PATCH" in line or "POST" in line]
    assert [asked in line for line in writing] == [True] * bool(asked)
    if asked:
        said = (tmp_path / "comment.md").read_bytes().decode(errors="replace")
        assert said.startswith("<!-- pytest-ltm -->\n")
        assert said.endswith("[Run 5](https://x/5), commit abc\n")
        assert "@" not in said
        assert len(said) < 65_536
        assert ("no result" in said) is (summary is None)
