"""Ctrl-C while workers play: all of them stop, and the record is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import Project

pytest.importorskip("xdist")
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to one process"),
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
]

MESSAGES = 2_000
BOT = """
import os
import signal
import time
from pathlib import Path

HERE = Path(__file__).parent

class Bot:
    stateless = True

    def __init__(self):
        self.heard = 0

    def reply(self, message):
        time.sleep(0.02)
        self.heard += 1
        (HERE / f"talking-{os.getpid()}").touch()
        if len(list(HERE.glob("talking-*"))) == 2 and self.heard >= 20:
            self.interrupt()
        return "all right"

    def interrupt(self):
        try:
            (HERE / "interrupted").touch(exist_ok=False)  # once, whoever is first
        except FileExistsError:
            return
        os.kill(int((HERE / "controller").read_text()), signal.SIGINT)
"""
CONFTEST = """
import os
import signal
from pathlib import Path

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background shells have it ignored
        Path(__file__).with_name("controller").write_text(str(os.getpid()))
"""


def test_ctrl_c_stops_all_workers_and_the_run_can_be_gone_on_with(
    project: Project,
) -> None:
    project.file(BOT, "bots.py")
    project.file(
        f"def test_a(ltm):\n    for number in range({MESSAGES}):\n        ltm.say(str(number))\n    ltm.ask('?')\n"
    )
    project.conftest(CONFTEST)
    words = [
        "--ltm-agent=a=bots:Bot,b=bots:Bot",
        "--ltm-span=100k",
        "--ltm-suite=none",
        "-n2",
    ]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=project.path,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout
    assert "KeyboardInterrupt" in done.stdout
    (run,) = (project.path / ".ltm" / "runs").iterdir()
    journals = [
        path.read_text(encoding="utf-8").splitlines()
        for path in sorted(run.glob("*/journal.jsonl"))
    ]
    replies = [
        sum(json.loads(line)["event"] == "reply" for line in lines)
        for lines in journals
    ]
    assert len(replies) == 2
    assert all(0 < count < MESSAGES for count in replies)
