"""Debugging a scenario: pdb gets the terminal while the conversation waits."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

PAIR = """
import pytest

def test_a(ltm):
    secret = "the secret is " + str(6 * 7)
    ltm.say("A speaks")
    {stop}
    ltm.wait(span=0.5)
    answer = ltm.ask("A asks")
    assert answer == "never"

def test_b(ltm):
    print("B is heard")
    ltm.say("B speaks")
    ltm.wait(span=0.2)
    print("B is heard again")
    ltm.ask("B asks")
"""


def debug(
    project: Project, *args: str, commands: list[str], agent: str = "echo"
) -> str:
    """Run the project's scenarios with pdb commands on standard input; return the output."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-pno:cacheprovider",
        f"--ltm-agent={agent}",
        "--ltm-span=300",
        "--ltm-suite=none",
        *args,
    ]
    done = subprocess.run(
        command,
        input="\n".join([*commands, ""]),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=project.path,
        check=False,
    )
    assert done.stdout, f"exit status {done.returncode}, {done.stderr}"
    return done.stdout


def test_pdb_stops_at_the_failing_line_of_the_body(project: Project) -> None:
    project.file(PAIR.format(stop="pass"))

    shown = debug(project, "--pdb", commands=["p secret", "p answer", "c"])

    assert ">>> PDB post_mortem" in shown.replace(
        " (IO-capturing turned off)", ""
    ).replace(">>>>>>>>", ">>>")
    assert "test_it.py(10)test_a()" in shown
    assert '-> assert answer == "never"' in shown
    assert "'the secret is 42'" in shown
    assert "'A asks'" in shown
    assert "1 failed, 1 passed" in shown


def test_pdb_stops_where_the_body_raised(project: Project) -> None:
    project.file(PAIR.format(stop="raise ValueError(secret)"))

    shown = debug(project, "--pdb", commands=["p 'in', secret", "c"])

    assert "test_it.py(7)test_a()" in shown
    assert "('in', 'the secret is 42')" in shown
    assert "1 passed, 1 error" in shown


def test_pdb_stops_where_the_agent_raised(project: Project) -> None:
    project.file(
        "class Bot:\n    def reply(self, message):\n        mood = 'tired'\n        raise OSError(mood)",
        "bot.py",
    )
    project.file("def test_a(ltm):\n    mood = 'eager'\n    ltm.say('hello')\n")

    shown = debug(
        project, "--pdb", agent="bot:Bot", commands=["p 'who', mood", "c", "c"]
    )

    assert "test_it.py(3)test_a()" in shown
    assert "('who', 'eager')" in shown


def test_quitting_pdb_ends_the_session(project: Project) -> None:
    project.file(PAIR.format(stop="assert 0"))

    shown = debug(project, "--pdb", commands=["q"])

    assert "_pytest.outcomes.Exit: Quitting debugger" in shown
    assert "INTERNALERROR" not in shown


def test_trace_stops_at_the_start_of_every_body(project: Project) -> None:
    project.file(PAIR.format(stop="pass"))

    shown = debug(
        project, "--trace", commands=["p 'now in', ltm.example, __name__", "c", "c"]
    )

    assert shown.count("PDB runcall") == 2
    assert "-> secret = " in shown
    assert "('now in', 0, 'test_it')" in shown
    assert '-> print("B is heard")' in shown
    assert "1 failed, 1 passed" in shown


def test_stepping_over_a_message_lets_the_others_speak_meanwhile(
    project: Project,
) -> None:
    project.file(PAIR.format(stop="pytest.set_trace()"))

    shown = debug(project, commands=["n", "n", "n", "p 'then', answer", "c"])

    assert "PDB set_trace" in shown
    assert "('then', 'A asks')" in shown
    assert "reading from stdin while output is captured" not in shown
    assert "1 failed, 1 passed" in shown


def test_breakpoint_is_pytests(project: Project) -> None:
    project.file(PAIR.format(stop="breakpoint()"))

    shown = debug(project, commands=["p secret", "c"])

    assert "PDB set_trace" in shown
    assert "'the secret is 42'" in shown
    assert "1 failed, 1 passed" in shown


def test_output_is_captured_again_after_pdb(project: Project) -> None:
    project.file(
        PAIR.format(stop="pytest.set_trace(); print('printed after the stop')").replace(
            '"never"', '"A asks"'
        )
    )

    shown = debug(project, commands=["c"])

    assert "2 passed" in shown
    assert "B is heard" not in shown


@pytest.mark.parametrize("option", ["--pdb", "--trace"])
def test_the_agent_may_take_its_time_while_somebody_debugs(
    project: Project, option: str
) -> None:
    project.file(
        "import time\nclass Bot:\n    def reply(self, message):\n        time.sleep(0.2)\n        return message",
        "bot.py",
    )
    project.file(
        "def test_a(ltm):\n    assert ltm.say('hello') == 'hello'\n    assert 0"
    )

    shown = debug(
        project,
        option,
        "--ltm-reply-timeout=0.05",
        agent="bot:Bot",
        commands=["c", "c"],
    )

    assert "1 failed" in shown
