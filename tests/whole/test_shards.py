"""Shards played separately and merged equal a run on one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

SUITE = """
def test_a(ltm):
    ltm.say("A one")
    ltm.wait(span=0.5)
    assert ltm.ask("A two?")

def test_b(ltm):
    assert ltm.ask("B?") == "no"
"""
GRID: dict[str, Any] = {"agent": "echo,silent", "span": "300,400"}


def files(run: Path) -> dict[str, bytes]:
    """Return the files that equal runs have in common."""
    names = {"results.json", "journal.jsonl", "plan.json", "verdicts.csv"}
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in run.rglob("*")
        if path.name in names
    }


def run_in(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (run / "summary.json").read_text(encoding="utf-8")
    )
    return found


def test_merged_shards_are_the_whole_run(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file(SUITE)
    project.ltm("--ltm-dir=whole", **GRID)
    outcomes = [
        project.ltm(f"--ltm-shard={i}/3", f"--ltm-dir=shard{i}", **GRID).parseoutcomes()
        for i in (1, 2, 3)
    ]

    shards = [run_in(project.path / f"shard{i}") for i in (1, 2, 3)]
    status = main(["merge", *map(str, shards), "-o", str(project.path / "all")])

    assert status == 0
    assert sum(outcome.get("deselected", 0) for outcome in outcomes) == 2 * 8
    assert "4 conversations, 8 examples" in capsys.readouterr().out
    whole = run_in(project.path / "whole")
    assert files(project.path / "all") == files(whole)
    assert "shard" not in summary(project.path / "all")["plan"]
    assert summary(project.path / "all")["plan"] == summary(whole)["plan"]


def test_a_shard_that_is_missing_is_told(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file(SUITE)
    for i in (1, 3):
        project.ltm(f"--ltm-shard={i}/3", f"--ltm-dir=shard{i}", **GRID)

    shards = [run_in(project.path / f"shard{i}") for i in (1, 3)]
    status = main(["merge", *map(str, shards), "-o", str(project.path / "all")])

    assert status == 1
    told = capsys.readouterr().out
    assert "missing: no run is shard 2/3" in told
    assert "missing: no run has " in told


def test_workers_share_what_is_left_to_a_shard(project: Project) -> None:
    pytest.importorskip("xdist")
    project.file(SUITE)

    alone = project.ltm("--ltm-shard=1/2", "--ltm-dir=alone", **GRID)
    spread = project.ltm("--ltm-shard=1/2", "--ltm-dir=spread", "-n2", **GRID)

    assert spread.ret == alone.ret
    assert files(run_in(project.path / "spread")) == files(
        run_in(project.path / "alone")
    )
    assert len(files(run_in(project.path / "spread"))) > 3


@pytest.mark.parametrize(
    ("share", "why"),
    [
        ("4/3", "'4/3' is not a shard*counted from 1*"),
        ("1/5", "*a conversation is never divided*only 4*"),
    ],
)
def test_a_share_that_there_cannot_be_is_refused(
    project: Project, share: str, why: str
) -> None:
    project.file(SUITE)

    result = project.ltm(f"--ltm-shard={share}", **GRID)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --ltm-shard*{why}"])
    assert not (project.path / ".ltm" / "runs").exists() or not list(
        (project.path / ".ltm" / "runs").iterdir()
    )
