"""What the plugin itself costs: starting, a step of a scenario, a run of the built-in suite, a long conversation."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from pytest_ltm import Ltm
from pytest_ltm.testing import ScriptedAgent, run_conversation


def timeraw_import() -> str:
    """Return the code that a fresh interpreter runs."""
    return "import pytest_ltm"


class Steps:
    """Scenarios that are in progress all at once: each waits after every message."""

    params = (100, 1_000)
    param_names = ("scenarios",)
    steps = 20

    def time_in_memory(self, scenarios: int) -> None:
        """Play all of them in one conversation; nothing is written."""

        def talk(ltm: Ltm) -> None:
            for _ in range(self.steps):
                ltm.say("Hello.")
                ltm.wait(tokens=1)

        run_conversation(
            {f"talk_{number}": talk for number in range(scenarios)},
            ScriptedAgent(),
            span=1_000_000,
        )


class Runs:
    """The built-in suite through pytest, with journal, results and summary."""

    params = ("2k", "500k")
    param_names = ("span",)
    timeout = 300

    def time_echo(self, span: str) -> None:
        """Run it with an agent that answers at once."""
        play("echo", span)

    def time_full(self, span: str) -> None:
        """Run it with the agent that has all of the conversation, and reads it."""
        play("full", span)


def play(agent: str, span: str) -> None:
    """Run pytest in a folder of its own; scores below full marks are no error here, and anything else is."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--ltm-suite=standard", f"--ltm-agent={agent}", f"--ltm-span={span}"]
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *options]
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
    if ended.returncode not in {0, 1}:
        raise RuntimeError(ended.stdout + ended.stderr)
