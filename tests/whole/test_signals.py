"""A run that is terminated or killed keeps its record, shows how to resume, and leaves no process."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from conftest import Project

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends signals to processes"),
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
]

CONFTEST = """
import os, signal
from pathlib import Path
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever these tests were started with: nohup ignores it
def strike(moment):
    here = Path(__file__).parent
    wanted, number, target = (here / "strike").read_text().split()
    if moment == wanted and not (here / "struck").exists():
        (here / "struck").touch()
        os.kill(int((here / "controller").read_text()) * (-1 if target == "group" else 1), int(number))
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        Path(__file__).with_name("controller").write_text(str(os.getpid()))
def pytest_collection_finish(session):
    strike("collected")
def pytest_sessionstart(session):
    strike("started")
def pytest_sessionfinish(session):
    strike("finished")
"""
BOT = """
from conftest import strike
from pytest_ltm.agents import Usage
class Bot:
    stateless = True
    heard = 0
    def __init__(self):
        strike("made")
    def reply(self, message):
        Bot.heard += 1
        try:
            strike(f"heard-{Bot.heard}")
        except BaseException:
            strike("swallowed")
            if "stubborn" in __file__:
                return "never mind"
            raise
        return "all right"
    def usage(self):
        return Usage(input_tokens=9 * Bot.heard, output_tokens=2 * Bot.heard)
    def close(self):
        strike("closed")
"""
TALK = """
def test_a(ltm):
    for number in range(40):
        ltm.say(str(number))
    ltm.ask("?")
"""
CHILD = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
sleeps = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
own = subprocess.Popen([sys.executable, "-c", sleeps], start_new_session=True, stdout=-1, stdin=-3)
own.stdout.readline()
open("pids", "w").write(f"{os.getpid()} {own.pid} {os.getppid()}")
for number, line in enumerate(sys.stdin):
    if number == 5:
        os.kill(int(open("controller").read()), int(open("strike").read().split()[1]))
        signal.pause()
    print(json.dumps({"reply": "all right"}), flush=True)
signal.pause()
"""


@pytest.fixture
def struck(project: Project) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run pytest in the project, and send it a signal at a given moment."""
    project.conftest(CONFTEST)
    project.file(BOT, "bots.py")
    project.file(TALK)

    def run(
        moment: str, number: int, *words: str, target: str = "one"
    ) -> subprocess.CompletedProcess[str]:
        (project.path / "strike").write_text(f"{moment} {int(number)} {target}")
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                *([] if "--ltm-span" in " ".join(words) else ["--ltm-span=1k"]),
                "--ltm-suite=none",
                *words,
            ],
            cwd=project.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            start_new_session=True,
        )

    return run


def resumed(project: Project, printed: str) -> subprocess.CompletedProcess[str]:
    """Resume an ended run as its output advises."""
    words = re.search(r"resume with: pytest (.*)", printed)
    assert words is not None, printed
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words[1].split()],
        cwd=project.path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return (
            pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            != "Z"
        )
    return False


def all_gone(project: Project) -> bool:
    """Wait until the agent's processes have ended."""
    pids = list(map(int, (project.path / "pids").read_text().split()))
    assert len(pids) == 3
    for _ in range(1500):
        if not any(map(is_alive, pids)):
            return True
        threading.Event().wait(0.02)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return False


MOMENTS = ["made", "heard-1", "heard-2", "closed", "heard-41"]
"""Moments at the ends of a conversation; those between are covered by the run that is ended repeatedly."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_ends_with_results_and_can_be_resumed(
    project: Project,
    struck: Callable[..., subprocess.CompletedProcess[str]],
    number: signal.Signals,
) -> None:
    done = struck("heard-7", number, "--ltm-agent=bots:Bot")

    assert done.returncode == 75, done.stdout
    assert f"unmeasurable (exit status 75): ended by {number.name}" in done.stdout
    assert "ended early: 0 of 1 examples are done" in done.stdout
    (results,) = project.path.glob(".ltm/runs/*/*/results.json")
    assert json.loads(results.read_text())["ended"] == "interrupted"
    assert (results.parents[1] / "summary.json").is_file()

    assert resumed(project, done.stdout).returncode == 0
    lines = (results.parent / "journal.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["event"] == "reply" for line in lines) >= 41


def test_how_to_go_on_is_told_from_the_first_message_on(
    project: Project, struck: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = struck("heard-1", signal.SIGTERM, "--ltm-agent=bots:Bot")
    assert "ended early: 0 of 1 examples are done" in done.stdout
    assert resumed(project, done.stdout).returncode == 0


@pytest.mark.nightly("a run for each moment: each has its turn within days", every=3)
@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_at_any_moment(
    project: Project,
    struck: Callable[..., subprocess.CompletedProcess[str]],
    moment: str,
) -> None:
    done = struck(moment, signal.SIGTERM, "--ltm-agent=bots:Bot")
    assert done.returncode == 75, done.stdout
    assert (project.path / "struck").exists()
    if "resume with" in done.stdout:
        assert resumed(project, done.stdout).returncode == 0


@pytest.mark.nightly("fourteen whole runs, each ended by a signal")
@pytest.mark.slow
def test_a_run_that_is_ended_at_every_fourth_message_gets_to_its_end(
    project: Project, struck: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done, ends = struck("heard-4", signal.SIGTERM, "--ltm-agent=bots:Bot"), 0
    while done.returncode == 75:
        ends += 1
        (project.path / "struck").unlink()
        (journal,) = project.path.glob(".ltm/runs/*/*/journal.jsonl")
        assert (
            sum(
                json.loads(line)["event"] == "reply"
                for line in journal.read_text().splitlines()
            )
            == 3 * ends
        )
        done = resumed(project, done.stdout)
    assert (done.returncode, ends) == (0, 13), done.stdout


@pytest.mark.nightly("a run for each moment: each has its turn within days", every=3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "status"), [("started", 75), ("collected", 75), ("finished", 0)]
)
def test_before_anything_is_said_and_when_everything_is(
    struck: Callable[..., subprocess.CompletedProcess[str]], moment: str, status: int
) -> None:
    done = struck(moment, signal.SIGTERM, "--ltm-agent=bots:Bot")
    assert done.returncode == status, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout


def test_ctrl_c_while_the_report_is_written_leaves_it_whole(
    project: Project, struck: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = struck("finished", signal.SIGINT, "--ltm-agent=bots:Bot")
    assert (done.returncode, "KeyboardInterrupt" in done.stdout + done.stderr) == (
        0,
        False,
    )
    [run] = (project.path / ".ltm/runs").iterdir()
    assert (run / "summary.json").is_file()
    assert not list(run.rglob("*.new"))


def test_an_agent_that_swallows_the_interruption_does_not_go_on(
    project: Project, struck: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    project.file(BOT, "stubborn.py")
    done = struck("heard-7", signal.SIGTERM, "--ltm-agent=stubborn:Bot")
    assert done.returncode == 75, done.stdout
    (journal,) = project.path.glob(".ltm/runs/*/*/journal.jsonl")
    assert (
        sum(
            json.loads(line)["event"] == "reply"
            for line in journal.read_text().splitlines()
        )
        == 7
    )


def test_who_ignores_sighup_is_not_ended_by_it(
    project: Project, struck: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    # as under nohup
    project.conftest(f"{CONFTEST}\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n")
    assert struck("heard-7", signal.SIGHUP, "--ltm-agent=bots:Bot").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("target", ["one", "group"])
def test_workers_stop_as_well(
    project: Project,
    struck: Callable[..., subprocess.CompletedProcess[str]],
    target: str,
) -> None:
    pytest.importorskip("xdist")
    slowly = BOT.replace('return "all right"', "time.sleep(0.02); return 'all right'")
    project.file(f"import time\n{slowly}", "bots.py")
    project.file(TALK.replace("40", "2_000"))
    words = ["--ltm-agent=a=bots:Bot,b=bots:Bot", "--ltm-span=100k", "-n2"]
    done = struck("heard-7", signal.SIGTERM, *words, target=target)
    assert done.returncode == 75, done.stdout
    assert "ended early: 0 of 2 examples" in done.stdout
    assert "resume with: " in done.stdout


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux tells of a parent's death, and finds all descendants",
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_process_has_started_ends_with_us(
    project: Project,
    struck: Callable[..., subprocess.CompletedProcess[str]],
    number: signal.Signals,
) -> None:
    project.file(CHILD, "child.py")
    done = struck("-", number, f"--ltm-agent=cmd:{sys.executable} child.py")
    assert done.returncode == (75 if number == signal.SIGTERM else -number), done.stdout
    assert all_gone(project)
