"""`--ltm-seed`: a random seed per run, and one that is held only by an environment variable."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)


SECRET = "a secret of sixteen signs"
DRAWS = """
def test_draw(ltm):
    number = ltm.random.randrange(10**6)
    ltm.say(f"The number is {number}.")
    assert str(number) in ltm.ask("Which number is it?")
"""
NOSY = """
import os

class Nosy:
    def reply(self, message):
        return os.environ.get("MEMORY_SEED", "nothing") + " " + message
"""
READS_PROCESSES = """
import contextlib
from pathlib import Path

def reads(message):
    shown = 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            shown += f"MEMORY_SEED={SECRET}".encode() in path.read_bytes()
    return f"Seen by {shown}."
"""


@pytest.fixture
def drawing(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a scenario that uses randomness, and a secret seed."""
    monkeypatch.setenv("MEMORY_SEED", SECRET)
    project.file(DRAWS)
    return project


def _recorded_seeds(run: Path) -> set[Any]:
    summary, *plans = (
        json.loads(path.read_text())
        for path in (run / "summary.json", *run.glob("*/plan.json"))
    )
    return {summary["seed"], *(plan["seed"] for plan in plans)}


def _told(run: Path) -> list[str]:
    events = (
        json.loads(line)
        for path in run.glob("*/journal.jsonl")
        for line in path.read_text().splitlines()
    )
    return [event["text"] for event in events if event["event"] == "message"]


def test_a_fresh_seed_is_drawn_and_recorded(drawing: Project) -> None:
    drawing.ltm("--ltm-seed=fresh", agent="echo").stdout.fnmatch_lines(
        ["ltm: seed: * (fresh)"]
    )
    (seed,) = _recorded_seeds(latest_run(drawing.path))
    told = _told(latest_run(drawing.path))
    drawing.ltm(f"--ltm-seed={seed}", agent="echo")
    assert _told(latest_run(drawing.path)) == told


@pytest.mark.slow
def test_workers_use_the_seed_that_was_drawn_once(drawing: Project) -> None:
    drawing.invite("xdist")
    drawing.ltm(
        "--ltm-seed=fresh", "--ltm-trials=2", "-n", "2", agent="echo", subprocess=True
    )
    assert len(_recorded_seeds(latest_run(drawing.path))) == 1


def test_a_fresh_seed_is_scored_again_as_it_was(drawing: Project) -> None:
    drawing.ltm("--ltm-seed=fresh", agent="full")
    before = _recorded_seeds(latest_run(drawing.path))
    drawing.pytest("--ltm-rescore=latest").stdout.fnmatch_lines(
        ["*1 verdict unchanged, 0 moved*"]
    )
    assert _recorded_seeds(latest_run(drawing.path)) == before


def test_a_fresh_seed_has_nothing_to_be_compared_with(drawing: Project) -> None:
    refused = drawing.ltm("--ltm-seed=fresh", "--ltm-compare=main")
    refused.stderr.fnmatch_lines(
        ["*--ltm-seed: a fresh seed makes texts that no baseline has*"]
    )


def test_a_secret_seed_is_in_no_file_and_on_no_screen(drawing: Project) -> None:
    shown = drawing.ltm(
        "--ltm-seed=env:MEMORY_SEED", "--ltm-save=main", "-v", agent="bot=full"
    )
    assert SECRET not in shown.stdout.str()
    paths = [path for path in drawing.path.rglob("*.json*") if path.is_file()]
    assert drawing.path / "ltm_baselines" / "main.json" in paths
    assert not [path for path in paths if SECRET in path.read_text()]
    assert {str(seed)[:7] for seed in _recorded_seeds(latest_run(drawing.path))} == {
        "sha256:"
    }


def test_equal_secrets_compare_whatever_their_variables(
    drawing: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing.ltm("--ltm-seed=env:MEMORY_SEED", "--ltm-save=main", agent="bot=full")
    monkeypatch.setenv("ANOTHER_NAME", SECRET)
    assert (
        drawing.ltm(
            "--ltm-seed=env:ANOTHER_NAME", "--ltm-compare=main", agent="bot=full"
        ).ret
        == 0
    )


def test_another_secret_is_another_plan(
    drawing: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing.ltm("--ltm-seed=env:MEMORY_SEED", "--ltm-save=main", agent="bot=full")
    monkeypatch.setenv("MEMORY_SEED", f"{SECRET} of another kind")
    refused = drawing.ltm(
        "--ltm-seed=env:MEMORY_SEED", "--ltm-compare=main", agent="bot=full"
    )
    refused.stderr.fnmatch_lines(
        [
            "*the seed is 'sha256:*' there and 'sha256:*' in this run*",
            "*--ltm-seed=env:NAME*",
        ]
    )


def test_the_agent_does_not_inherit_the_secret(drawing: Project) -> None:
    drawing.file(NOSY, "nosy.py")
    drawing.ltm("--ltm-seed=env:MEMORY_SEED", agent="nosy:Nosy")
    assert all(
        SECRET not in path.read_text()
        for path in latest_run(drawing.path).glob("*/journal.jsonl")
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("words", [[], ["--ltm-agent-process"]])
def test_no_process_shows_the_secret_to_the_agent(
    drawing: Project, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    secret = f"a secret of {drawing.path}"
    monkeypatch.setenv("MEMORY_SEED", secret)
    drawing.file(READS_PROCESSES.replace("SECRET", repr(secret)), "reads.py")
    drawing.ltm(
        "--ltm-seed=env:MEMORY_SEED", *words, agent="reads:reads", subprocess=True
    )
    journals = [
        path.read_text() for path in latest_run(drawing.path).glob("*/journal.jsonl")
    ]
    assert journals
    assert all("Seen by 0." in journal for journal in journals)


def test_the_variable_is_there_again_after_the_run(drawing: Project) -> None:
    for _ in range(2):
        assert drawing.ltm("--ltm-seed=env:MEMORY_SEED", agent="full").ret == 0
