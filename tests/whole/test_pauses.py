"""A stopped and continued process (Ctrl-Z, SIGSTOP) does not count as a slow agent: the reply timeout restarts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Project
from json_server import Post, serving

pytestmark = [
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
    pytest.mark.slow,
    pytest.mark.skipif(
        not hasattr(signal, "SIGCONT"), reason="processes are not stopped there"
    ),
]

LIMIT, STOPPED = 4, 5.0
"""The reply timeout, and the duration of a stop in the middle of a reply; both in seconds."""
TALK = "def test_a(ltm):\n    ltm.say('one')\n    ltm.say('slow')\n    assert ltm.ask('three?') == 'all right'\n"
SLOW = """
import asyncio, json, os, sys, time
from pathlib import Path

def begin(message):
    mark = Path({mark!r})
    if message == "slow":
        mark.write_text(str(os.getpid()))
        while not mark.with_name("go").exists():
            yield

class Bot:
    def reply(self, message):
        for _ in begin(message):  # a sleep of one piece would be over when the stop is
            time.sleep(0.05)
        return "all right"

class Async:
    async def reply(self, message):
        for _ in begin(message):
            await asyncio.sleep(0.05)
        return "all right"

class Stubborn:
    def reply(self, message):
        for _ in begin(message):
            try:
                time.sleep(0.05)
            except BaseException:
                os._exit(9)
        return "all right"

if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps({{"reply": Bot().reply(json.loads(line)["message"])}}), flush=True)
"""
JUDGE = """
from slow import Bot
from pytest_ltm import Reply
class Judge:
    def configuration(self):
        return {}
    def assess(self, inquiry):
        Bot().reply("slow")
        return Reply("GRADE: yes")
"""
JUDGED = """
def test_a(ltm, ltm_judge):
    ltm.say('one')
    assert ltm_judge.ask('Is it polite?', ltm.ask('How do you do?'))
"""


def until(happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.02)
    pytest.fail("it never happened")


def played_with_a_stop(
    project: Project, *words: str, group: bool = False, limit: int = LIMIT
) -> tuple[int, str]:
    """Return exit status and output of a run that was stopped during the slow reply."""
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "--ltm-suite=none",
            "--ltm-span=300",
            "--ltm-retries=0",
            f"--ltm-reply-timeout={limit}",
            *words,
        ],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    mark = project.path / "mark"
    try:
        until(
            lambda: (mark.exists() and mark.read_text() != "") or run.poll() is not None
        )
        assert run.poll() is None, run.communicate()[0]
        to = os.killpg if group else os.kill
        to(run.pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        (project.path / "go").touch()
        to(run.pid, signal.SIGCONT)
        text, _ = run.communicate(timeout=120)
    finally:
        run.kill()
        run.wait()
    return run.returncode, text


@pytest.fixture
def slow(project: Project) -> Project:
    project.file(SLOW.format(mark=str(project.path / "mark")), "slow.py")
    project.file(TALK)
    return project


@pytest.mark.parametrize(
    "words",
    [
        ["--ltm-agent=slow:Bot"],
        ["--ltm-agent=slow:Async"],
        ["--ltm-agent=slow:Stubborn"],
        ["--ltm-agent=slow:Bot", "--ltm-agent-process"],
        [f"--ltm-agent=cmd:{sys.executable} slow.py"],
        ["--ltm-agent=slow:Bot", "-n1"],
    ],
    ids=["here", "async", "stubborn", "process", "cmd", "xdist"],
)
def test_time_while_we_are_stopped_is_not_the_agents(
    slow: Project, words: list[str]
) -> None:
    status, text = played_with_a_stop(slow, *words, group="-n1" in words)

    assert (status, "1 passed" in text) == (0, True), text
    assert not list(slow.path.glob(".ltm/runs/*/hung.txt"))


def test_nor_is_it_a_servers(project: Project) -> None:
    def answer(post: Post) -> Any:
        if post.body["message"] == "slow":
            (project.path / "mark").write_text("slow")
            until((project.path / "go").exists)
        return {"reply": "all right"}

    project.file(TALK)
    with serving(answer) as server:
        status, text = played_with_a_stop(project, f"--ltm-agent={server.url}/chat")

    assert (status, "1 passed" in text) == (0, True), text


def test_nor_a_judges(slow: Project) -> None:
    slow.file(JUDGE, "judges.py")
    slow.file(JUDGED)

    words = [
        "--ltm-judge=judges:Judge?canaries=off&cache=off",
    ]
    status, text = played_with_a_stop(slow, "--ltm-agent=echo", *words)

    assert (status, "1 passed" in text) == (0, True), text


def test_a_reply_that_is_too_slow_after_a_stop_still_is(project: Project) -> None:
    source = SLOW.format(mark=str(project.path / "mark")).replace('"go"', '"never"')
    project.file(source, "slow.py")
    project.file(TALK)

    status, text = played_with_a_stop(project, "--ltm-agent=slow:Bot", limit=1)

    assert status == 75
    assert "did not return from reply() within 1 s" in text
