"""Workers reached over ssh on loopback, through a server started for the test."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project

pytest.importorskip("xdist")
pytest.importorskip("asyncssh")
from ssh_server import SshServer

pytestmark = [
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh client"),
]


@pytest.fixture
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the `--tx` name of the other machine without its folder; stop the server at the end."""
    with SshServer(tmp_path_factory.mktemp("far")) as server:
        yield f"ssh=far//ssh_config={server.config}//python={sys.executable}"


def test_results_of_workers_on_another_machine_are_complete(
    project: Project, far: str, tmp_path: Path
) -> None:
    there = tmp_path / "scratch"
    there.mkdir()
    project.file(
        "import os\ndef test_a(ltm):\n    ltm.say(os.getcwd())\n    ltm.wait(span=0.5)\n    assert ltm.ask('hm?')\n"
        "def test_b(ltm):\n    ltm.say('B')\n    assert ltm.ask('hm?') == 'no'\n",
        "own/test_own.py",
    )
    project.file("[pytest]\n", "pytest.ini")

    result = project.ltm(
        "-d",
        f"--tx={far}//chdir={there}//id=far1",
        "--tx=popen",
        f"--rsyncdir={project.path}",
        str(project.path / "own"),
        "--junitxml=junit.xml",
        agent="echo,full",
        subprocess=True,
    )

    result.assert_outcomes(passed=2, failed=2)
    (run,) = (project.path / ".ltm" / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert [held["ended"] for held in summary["conversations"]] == [
        "complete",
        "complete",
    ]
    assert [len(held["examples"]) for held in summary["conversations"]] == [2, 2]
    journals = {path.parent.name for path in run.glob("*/journal.jsonl")}
    far_journals = {path.parent.name for path in there.glob("**/journal.jsonl")}
    assert journals | far_journals == {"echo~300~0", "full~300~0"}
    assert len(journals) == len(far_journals) == 1  # where the worker ran


def test_what_a_far_worker_had_when_it_was_stopped_is_there(
    project: Project, far: str, tmp_path: Path
) -> None:
    there = tmp_path / "scratch"
    there.mkdir()
    project.file("[pytest]\n", "pytest.ini")
    project.file(
        "def test_a(ltm):\n    ltm.say('A')\n    ltm.wait(span=0.5)\n    assert not ltm.ask('hm?')\n"
        "def test_b(ltm):\n    ltm.say('B')\n    ltm.wait(span=0.9)\n    assert ltm.ask('hm?')\n",
        "own/test_own.py",
    )

    project.ltm(
        "-d",
        f"--tx={far}//chdir={there}//id=far1",
        f"--rsyncdir={project.path}",
        "-x",
        str(project.path / "own"),
        subprocess=True,
    )

    (results,) = (project.path / ".ltm" / "runs").glob("*/*/results.json")
    said = json.loads(results.read_text(encoding="utf-8"))
    assert (said["ended"], [row["scenario"] for row in said["scenarios"]]) == (
        "interrupted",
        ["a"],
    )


def test_workers_over_ssh_score_the_built_in_suite_like_a_run_without_workers(
    project: Project, far: str, tmp_path: Path
) -> None:
    words = (
        "--ltm-agent=full,window:600",
        "--ltm-suite=standard",
        "--ltm-examples=1",
        "--ltm-span=2000",
        "--tb=no",
    )
    tx = []
    for name in ("far1", "far2"):
        (tmp_path / name).mkdir()
        tx.append(f"--tx={far}//chdir={tmp_path / name}//id={name}")

    project.pytest("-d", *tx, *words, "--ltm-dir=by-ssh", subprocess=True)
    project.pytest(*words, "--ltm-dir=here", subprocess=True)

    assert scores(project.path / "by-ssh") == scores(project.path / "here")
    assert (
        len(
            {
                path.relative_to(tmp_path).parts[0]
                for path in tmp_path.glob("far*/**/journal.jsonl")
            }
        )
        == 2
    )


def scores(folder: Path) -> dict[str, list[float | None]]:
    told = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob("runs/*/*/results.json")
    ]
    assert len(told) == 2
    return {each["agent"]: [row["score"] for row in each["scenarios"]] for each in told}
