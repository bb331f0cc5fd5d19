"""A terminal shows a line per conversation in progress; other output shows none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

pytest.importorskip("xdist")
pty = pytest.importorskip("pty", reason="needs a system with pseudo-terminals")

BOT = """
import time

class Bot:
    def reply(self, message):
        time.sleep(0.03)
        return message
"""
SUITE = """
def talk(ltm, name, span):
    for number in range(8):
        ltm.say(f"{name} {number}")
    ltm.wait(span=span)
    for number in range(8):  # longer than the interval in which lines are drawn
        ltm.say(f"{name} {number} again")
    assert ltm.ask(f"{name}?")

def test_a(ltm): talk(ltm, "A", 0.9)
def test_b(ltm): talk(ltm, "B", 0.2)
"""


def seen(project: Project, *options: str) -> str:
    """Return all output of pytest to a terminal of 80 columns, including lines that it erases."""
    words = [
        "--ltm-agent=a=slow:Bot,b=slow:Bot,c=slow:Bot",
        "--ltm-span=400",
        "--ltm-suite=none",
        *options,
    ]
    outside, inside = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    for name in ("NO_COLOR", "PY_COLORS"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words],
        cwd=project.path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    found = b""
    while True:
        try:
            part = os.read(outside, 65_536)
        except OSError:  # Linux raises this at the end
            break
        if not part:
            break
        found += part
    os.close(outside)
    process.wait()
    return found.decode(errors="replace")


@pytest.fixture
def slow(project: Project) -> Project:
    project.file(BOT, "slow.py")
    project.file(SUITE)
    return project


def test_each_conversation_of_every_worker_has_its_line(slow: Project) -> None:
    text = seen(slow, "-n2")

    for line in (
        "a at 400: ",
        "b at 400: ",
        "c at 400: ",
        "and 1 further conversation",
        "1 of 2 examples done",
    ):
        assert line in text
    assert "6 passed" in text
    assert "at 400: " not in text.rpartition("long-term memory")[2]


def test_without_workers_there_is_one_line(slow: Project) -> None:
    text = seen(slow)

    assert "a at 400: " in text
    assert "further conversation" not in text


def test_elsewhere_nothing_of_the_kind_is_printed(slow: Project) -> None:
    result = slow.ltm("-n2", agent="a=slow:Bot,b=slow:Bot", span="400", subprocess=True)

    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("*examples done*")
    result.stdout.no_fnmatch_line("*\x1b*")
