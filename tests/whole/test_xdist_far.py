"""Workers that write elsewhere, as on another machine; here it is another folder, so ssh is not needed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project

pytest.importorskip("xdist")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
]

UNMEASURABLE = 75
BOTS = """
import os
from pathlib import Path
from pytest_ltm.agents import Reply, Usage
from ticks import tick

WHERE = "far" if "elsewhere" in os.getcwd() else "here"
DIED = Path(__file__).with_name("died")

class Bot:
    stateless = True
    def reply(self, message):
        tick(message.splitlines()[0])
        if message == f"die {WHERE}" and not DIED.exists():
            DIED.touch()
            os._exit(1)
        return Reply("all right", usage=Usage(input_tokens=100, output_tokens=10), cost_usd=0.5)
"""
LEAKY = """
TOLD = []

class Shared:
    def reply(self, message):
        TOLD.append(message)
        return " ".join(TOLD)
"""
DEFINED = """
import pytest
from pytest_ltm import Ask, Definition, Say

BOAT = Definition(steps=(Say("My boat is the Kestrel."), Ask("What is my boat?")), expected="Kestrel")

@pytest.mark.ltm(generate=lambda rng, parameters: BOAT)
def test_boat(ltm):
    ltm.play(ltm.definition)
"""
SUITE = """
def test_a(ltm):
    ltm.say("A one")
    ltm.wait(span=0.5)
    assert ltm.ask("A two?")

def test_b(ltm):
    ltm.say("B one")
    ltm.say("die WHERE")
    assert ltm.ask("B two?")
"""


@pytest.fixture
def elsewhere(project: Project) -> Path:
    """The folder in which a far worker runs."""
    folder = project.path / "elsewhere"
    folder.mkdir()
    return folder


def play(
    project: Project, elsewhere: Path, word: str, *words: str, agent: str = "x=bots:Bot"
) -> RunResult:
    workers = [each for each in words if not each.startswith("-")]
    project.file("[pytest]\n", "own/pytest.ini")
    project.file(BOTS, "own/bots.py")
    project.file(
        (project.path / "ticks.py").read_text(encoding="utf-8"), "own/ticks.py"
    )
    project.file(SUITE.replace("WHERE", word), "own/test_own.py")
    tx = [
        f"--tx={worker.replace('FAR', f'popen//chdir={elsewhere}')}"
        for worker in workers
    ]
    tx += [each for each in words if each.startswith("-")]
    own = project.path / "own"
    return project.ltm(
        "-d", *tx, f"--rsyncdir={own}", str(own), agent=agent, subprocess=True
    )


def results(project: Project) -> dict[str, dict[str, Any]]:
    paths = (project.path / "own" / ".ltm" / "runs").glob("*/*/results.json")
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths
    }


def test_an_agent_that_leaks_on_another_machine_makes_the_run_unmeasurable(
    project: Project, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    project.file(LEAKY, "own/leaky.py")
    project.file(DEFINED, "own/test_boat.py")
    result = play(project, elsewhere, "nobody", "FAR", agent="x=leaky:Shared")

    assert result.ret == UNMEASURABLE
    said = " ".join(result.stdout.str().split())
    assert "agent 'x': it knows in one conversation what it was told in another" in said
    assert len(list(elsewhere.rglob("probe.jsonl"))) == 1


def heard(folder: Path) -> list[str]:
    return [
        line
        for path in folder.rglob("ticks.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def test_of_a_far_worker_that_dies_the_speaking_example_is_an_error(
    project: Project, elsewhere: Path
) -> None:
    result = play(project, elsewhere, "far", "FAR")

    assert result.ret == UNMEASURABLE
    result.assert_outcomes(errors=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "ltm: x-300-0: worker gw0 died at message #* of b/0, *its journal is on the other*"
        ]
    )
    (said,) = results(project).values()
    assert [
        (row["scenario"], row["outcome"], row["cause"]) for row in said["scenarios"]
    ] == [
        ("a", "skipped", "not reached"),
        ("b", "error", "agent"),
    ]
    assert said["agent_fingerprint"].startswith("sha256:")
    assert said["exchanges"] == len(heard(elsewhere)) - 1
    assert said["cost_usd"] == 0.5 * said["exchanges"]
    assert said["input_tokens"] == 100 * said["exchanges"]
    assert [row["cost_usd"] for row in said["scenarios"]] == [0.5, 0.5]
    assert not list((project.path / "own" / ".ltm").rglob("journal.jsonl"))


def test_before_a_run_is_gone_on_with_the_journals_of_other_machines_are_asked_for(
    project: Project, elsewhere: Path
) -> None:
    result = play(
        project,
        elsewhere,
        "here",
        "popen",
        "FAR",
        "--ltm-worker-tries=1",
        agent="x=bots:Bot,y=bots:Bot",
    )

    assert result.ret == UNMEASURABLE
    result.stdout.fnmatch_lines(
        [
            "resume with: pytest --ltm-resume=*",
            "first copy the folders of conversations*",
        ]
    )
    assert "~300~0 is without a journal here" in re.sub(
        r"\n +", " ", str(result.stdout)
    )


def test_what_was_begun_here_goes_on_here(project: Project, elsewhere: Path) -> None:
    result = play(
        project, elsewhere, "here", "popen", "FAR", agent="x=bots:Bot,y=bots:Bot"
    )

    result.assert_outcomes(passed=4)
    found = results(project)
    assert {name: said["ended"] for name, said in found.items()} == {
        "x~300~0": "complete",
        "y~300~0": "complete",
    }
    asked = heard(project.path / "own") + heard(elsewhere)
    # the message in flight is sent again
    assert len(asked) == sum(said["exchanges"] for said in found.values()) + 1
    assert asked.count("A one") == 2
    assert asked.count("die here") == 3
