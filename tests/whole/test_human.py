"""A person at a terminal: the real command in a pseudo-terminal, with typed input."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")

SCENARIO = """
def test_train(ltm):
    ltm.say("My train leaves from platform 14.")
    ltm.wait(span=0.5, time="2h")
    ltm.check("names it", "14" in ltm.ask("From which platform does it leave?"))
    ltm.check("keeps lines", ltm.ask("Say it in two lines.") == "one\\ntwo")
"""
STOP = 120
"""Seconds to wait for an expected output."""


class Person:
    """Types at one end of a pseudo-terminal and reads what appears."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._unread, self.read = terminal, "", ""

    def until(self, pattern: str) -> str:
        """Read until the pattern appears; return the text read."""
        while not (found := re.search(pattern, self._unread)):
            ready, _, _ = select.select([self._terminal], [], [], STOP)
            assert ready, f"{pattern!r} never appeared in {self._unread!r}"
            try:
                more = os.read(self._terminal, 65536)
            except OSError:  # Linux raises this at the end
                more = b""
            assert more, f"the end came before {pattern!r}: {self._unread!r}"
            text = more.decode().replace("\r\n", "\n")
            self._unread += text
            self.read += text
        seen, self._unread = self._unread[: found.end()], self._unread[found.end() :]
        return seen

    def type(self, *lines: str) -> None:
        """Type lines, each at its own prompt."""
        for line in lines:
            self.until(r"[>.] (?:\x1b\[\?2004h)?$")
            os.write(self._terminal, f"{line}\n".encode())

    def press(self, key: bytes) -> None:
        self.until(r"> (?:\x1b\[\?2004h)?$")
        os.write(self._terminal, key)


@contextmanager
def sitting(
    folder: pytest.Pytester, *words: str, resumed: str = ""
) -> Iterator[tuple[Person, subprocess.Popen[bytes]]]:
    """Start pytest with the person's terminal as its controlling terminal."""
    mine, theirs = pty.openpty()
    run = (
        [f"--ltm-resume={resumed}"]
        if resumed
        else ["--ltm-agent=human", "--ltm-span=500"]
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *run, *words]
    environment = {
        **os.environ,
        "TERM": "dumb",
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }
    process = subprocess.Popen(
        command,
        cwd=folder.path,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Person(mine), process
    finally:
        process.kill()
        process.wait()
        os.close(mine)


def test_a_person_sits_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_train=SCENARIO)
    with sitting(pytester, "-s", "test_train.py") as (person, process):
        assert "an empty line sends it" in person.until("--- message 1, .* ---")
        person.type("Fine.", "")
        person.until("platform 14")
        person.type(":help")
        person.until("Ctrl-D does the same")
        person.type(":nonsense")
        person.until("There is no command ':nonsense'")
        person.type("Noted.", "")
        told = person.until(r"--- message \d+, .* ---")
        assert "since your last answer" in told
        person.until("which platform")
        person.type(":again")
        person.until("which platform")
        person.type("platform 14", "")
        person.until("two lines")
        person.type("one", "two", "")
        person.until("1 passed")
        assert process.wait() == 0


@pytest.mark.parametrize("how", [":pause\n", "\x04"])
def test_a_pause_stops_the_run_like_ctrl_c(pytester: pytest.Pytester, how: str) -> None:
    pytester.makepyfile(test_train=SCENARIO)
    with sitting(pytester, "-s", "test_train.py") as (person, process):
        person.type("Fine.", "", "Noted.", "")
        person.until("which platform")
        person.press(how.encode())
        person.until("Paused. What you have answered is kept")
        person.until("resume with: pytest -s --ltm-resume=")
        person.until("KeyboardInterrupt")
        person.until("no tests ran|passed|failed|error")
        assert process.wait() == pytest.ExitCode.INTERRUPTED


def test_a_paused_test_goes_on_with_a_reminder(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_train=SCENARIO)
    with sitting(pytester, "-s", "test_train.py") as (person, process):
        person.type("Fine.", "", "It is platform 14.", "")
        person.until("which platform")
        person.type(":pause")
        process.wait()
    with sitting(pytester, "-s", resumed=latest_run(pytester.path).name) as (
        person,
        process,
    ):
        told = person.until("which platform")
        assert "before you paused" in told
        person.type("14", "", "one", "two", "")
        person.until("1 passed")
        assert process.wait() == 0


def test_without_s_the_keyboard_is_pytests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_train=SCENARIO)
    with sitting(pytester, "test_train.py") as (person, process):
        person.until("Run pytest in one, with -s")
        assert process.wait() == pytest.ExitCode.USAGE_ERROR


def test_without_a_terminal_there_is_nobody_to_ask(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_train=SCENARIO)
    result = pytester.run(
        sys.executable,
        "-m",
        "pytest",
        "--ltm-agent=human",
        "-s",
        "test_train.py",
        stdin=b"",
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --ltm-agent: agent 'human' needs a person at a terminal*"]
    )
