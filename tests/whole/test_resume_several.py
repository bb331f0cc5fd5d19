"""Resuming a run of several conversations: those that can continue do, and the agents must be the original ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from run_folders import latest_run

from pytest_ltm.modes import unfinished

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOTS = """
import json, os, pathlib
import pytest

HERE = pathlib.Path(__file__).parent

class Plain:
    def __init__(self):
        note("made", type(self).__name__)
        if (HERE / "no_key").exists():
            raise RuntimeError("no key")
        self.heard = []

    def configuration(self):
        return {"model": (HERE / "model.txt").read_text()}

    def reply(self, message):
        stop = HERE / f"stop_{type(self).__name__}"
        if stop.exists() and len(self.heard) + 1 == int(stop.read_text()):
            pytest.exit("stopped")
        note(type(self).__name__, message)
        self.heard.append(message)
        return f"{len(self.heard)} {message[-20:]}"

class Saved(Plain):
    def save(self):
        return json.dumps(self.heard).encode()
    def load(self, state):
        self.heard = json.loads(state)

def note(*words):
    with open(HERE / "heard.txt", "a", encoding="utf-8") as file:
        file.write(" ".join(words) + "\\n")
"""
SCENARIOS = """
def test_bird(ltm):
    ltm.say("My bird is called Volt.")
    ltm.check("bird", "bird" in ltm.ask("What is my bird called?"))

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.8)
    ltm.check("cat", "cat" in ltm.ask("What is my cat called?"))
"""


@pytest.fixture
def bots(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(unfinished, "PAID_TOKENS", 0)
    project.file(BOTS, "bots.py")
    project.file(SCENARIOS)
    (project.path / "model.txt").write_text("small")
    return project


def play(
    project: Project, agents: str, *args: str, stop: str = "", at: int = 0
) -> RunResult:
    if stop:
        (project.path / f"stop_{stop}").write_text(str(at))
    result = project.ltm(*args, agent=agents, span="400")
    if stop:
        (project.path / f"stop_{stop}").unlink()
    (project.path / "heard.txt").unlink()
    return result


def heard(project: Project) -> list[str]:
    path = project.path / "heard.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def rows(project: Project, name: str) -> dict[str, tuple[str, str]]:
    found: dict[str, Any] = json.loads(
        (latest_run(project.path) / name / "results.json").read_text("utf-8")
    )
    return {
        row["scenario"]: (row["outcome"], row["cause"]) for row in found["scenarios"]
    }


def shown(result: RunResult) -> str:
    return " ".join(result.stdout.str().split())


def test_who_cannot_be_put_back_keeps_nobody_else_from_going_on(bots: Project) -> None:
    ended = play(bots, "x=bots:Plain,y=bots:Saved", stop="Plain", at=5)
    assert f"resume with: pytest --ltm-resume={latest_run(bots.path).name}" in shown(
        ended
    )
    assert (
        "these conversations cannot be resumed: x~400~0: the agent cannot be restored"
        in shown(ended)
    )
    kept = (
        (latest_run(bots.path) / "x~400~0" / "journal.jsonl")
        .read_text("utf-8")
        .rpartition('{"event":"message"')[0]
    )

    resumed = bots.pytest("--ltm-resume=latest")

    resumed.assert_outcomes(passed=3, skipped=1)
    assert resumed.ret == 75
    assert rows(bots, "x~400~0") == {
        "bird": ("passed", ""),
        "cat": ("skipped", "not reached"),
    }
    assert rows(bots, "y~400~0") == {"bird": ("passed", ""), "cat": ("passed", "")}
    # neither created nor asked
    assert not [line for line in heard(bots) if "Plain" in line]
    assert (
        (latest_run(bots.path) / "x~400~0" / "journal.jsonl")
        .read_text("utf-8")
        .startswith(kept)
    )
    assert "0 of 1 started conversations are complete, 1 cannot be resumed" in shown(
        resumed
    )
    assert "1 not reached: the agent cannot be restored to where it was" in shown(
        resumed
    )
    assert "it cannot be resumed: x~400~0: the agent cannot be restored" in shown(
        resumed
    )


def test_where_nothing_is_left_that_can_be_gone_on_with_nothing_is_done(
    bots: Project,
) -> None:
    play(bots, "y=bots:Saved,x=bots:Plain", stop="Plain", at=5)
    before = {
        path: path.read_bytes() for path in latest_run(bots.path).rglob("*.json*")
    }

    refused = bots.pytest("--ltm-resume=latest")

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [
            "*cannot be resumed:",
            "*x~400~0: the agent cannot be restored*",
            "*ltm doctor .ltm/runs/*",
        ]
    )
    assert {
        path: path.read_bytes() for path in latest_run(bots.path).rglob("*.json*")
    } == before


def test_a_trial_that_was_not_begun_is_played_although_another_cannot_be_gone_on_with(
    bots: Project,
) -> None:
    play(bots, "x=bots:Plain", "--ltm-trials=2", stop="Plain", at=5)
    bots.pytest("--ltm-resume=latest").assert_outcomes(passed=3, skipped=1)
    assert rows(bots, "x~400~1") == {"bird": ("passed", ""), "cat": ("passed", "")}


def test_one_isolated_example_that_is_lost_costs_no_other(bots: Project) -> None:
    bots.file(SCENARIOS)
    (bots.path / "stop_Plain").write_text("2")
    bots.ltm(agent="x=bots:Plain", span="isolated")
    (bots.path / "stop_Plain").unlink()

    resumed = bots.pytest("--ltm-resume=latest")

    resumed.assert_outcomes(passed=1, skipped=1)
    assert resumed.ret == 75


def test_several_workers_say_the_same(bots: Project) -> None:
    pytest.importorskip("xdist")
    play(bots, "x=bots:Plain,y=bots:Saved", stop="Plain", at=5)

    resumed = bots.pytest("--ltm-resume=latest", "-n2", subprocess=True)
    resumed.assert_outcomes(passed=3, skipped=1)
    assert resumed.ret == 75

    before = {
        path: path.read_bytes() for path in latest_run(bots.path).rglob("*.json*")
    }
    refused = bots.pytest("--ltm-resume=latest", "-n2", subprocess=True)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "long-term memory" not in refused.stdout.str()
    assert {
        path: path.read_bytes() for path in latest_run(bots.path).rglob("*.json*")
    } == before


def test_a_journal_that_is_damaged_keeps_nobody_else_from_going_on(
    bots: Project,
) -> None:
    play(bots, "y=bots:Saved,x=bots:Plain", stop="Plain", at=4)
    name = latest_run(bots.path) / "y~400~0" / "journal.jsonl"
    damaged = name.read_text("utf-8").replace('{"event":"reply"', "\0", 1)
    name.write_text(damaged, "utf-8")
    play_trial = bots.pytest("--ltm-resume=latest")
    assert play_trial.ret == pytest.ExitCode.USAGE_ERROR
    damage = "*y~400~0: *journal.jsonl, line 3: its text was changed *: ltm doctor --repair *"
    play_trial.stderr.fnmatch_lines(["*x~400~0: the agent cannot be*", damage])


def test_the_verdicts_of_a_conversation_whose_journal_is_damaged_are_kept(
    bots: Project,
) -> None:
    play(bots, "y=bots:Saved", "--ltm-trials=2", stop="Saved", at=5)
    folder = latest_run(bots.path) / "y~400~0"
    text = (
        (folder / "journal.jsonl")
        .read_text("utf-8")
        .replace('{"event":"reply"', "\0", 1)
    )
    (folder / "journal.jsonl").write_text(text, "utf-8")

    resumed = bots.pytest("--ltm-resume=latest")

    assert resumed.ret == 75
    resumed.assert_outcomes(passed=2, skipped=2)
    assert rows(bots, "y~400~0") == {
        "bird": ("passed", ""),
        "cat": ("skipped", "not reached"),
    }
    assert rows(bots, "y~400~1") == {"bird": ("passed", ""), "cat": ("passed", "")}
    assert (folder / "journal.jsonl").read_text("utf-8") == text


# --- the agents must be the original ones


@pytest.mark.parametrize("trials", [1, 2])
def test_another_configuration_is_refused_also_where_conversations_are_complete(
    bots: Project, trials: int
) -> None:
    play(
        bots, "y=bots:Saved", f"--ltm-trials={trials}", *["--maxfail=1"] * (trials > 1)
    )
    (bots.path / "model.txt").write_text("large")

    refused = bots.pytest("--ltm-resume=latest")

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*y: The agent's configuration, model: was 'small' and is 'large'*"]
    )
    assert heard(bots) == ["made Saved"]


def test_a_trial_that_was_not_begun_is_not_played_with_another_configuration(
    bots: Project,
) -> None:
    play(bots, "y=bots:Saved", "--ltm-trials=2", "-x")
    bots.file(SCENARIOS.replace('"cat" in', '"dog" in'))
    play(bots, "y=bots:Saved", "--ltm-trials=2", "-x")
    assert not (latest_run(bots.path) / "y~400~1").exists()
    (bots.path / "model.txt").write_text("large")
    assert bots.pytest("--ltm-resume=latest").ret == pytest.ExitCode.USAGE_ERROR


def test_a_complete_run_is_reported_where_the_agent_cannot_be_made(
    bots: Project,
) -> None:
    play(bots, "y=bots:Saved")
    (bots.path / "no_key").touch()
    bots.pytest("--ltm-resume=latest").assert_outcomes(passed=2)
    assert heard(bots) == ["made Saved"]


def test_a_given_object_that_serves_one_conversation_is_compared_and_then_used(
    bots: Project,
) -> None:
    bots.file(BOTS + "\nBOT = Saved()\n", "bots.py")
    play(bots, "y=bots:BOT", stop="Saved", at=5)
    (bots.path / "model.txt").write_text("large")
    assert bots.pytest("--ltm-resume=latest").ret == pytest.ExitCode.USAGE_ERROR
    (bots.path / "model.txt").write_text("small")
    bots.pytest("--ltm-resume=latest").assert_outcomes(passed=2)
