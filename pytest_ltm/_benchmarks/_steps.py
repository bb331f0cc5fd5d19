"""`steps`: what one step of a scenario costs, with very many scenarios in progress at once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._agents import Ready
from pytest_ltm._benchmarks._process import pytest_run
from pytest_ltm._benchmarks._recorded import AGENT
from pytest_ltm.testing import run_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._handle import Ltm

SIZE = 1_000
"""Scenarios."""
STEPS = 50
"""Messages of each; after each one it waits, so that all others speak in between."""
FEW = 10
"""Messages of each in the run that is subtracted: what remains is the cost of steps alone."""
SPAN = 1_000_000

MODULE = """\
import pytest

@pytest.mark.parametrize("number", range({scenarios}))
def test_talk(ltm, number):
    for _ in range({steps} - 1):
        ltm.say("Hello.")
        ltm.wait(tokens=1)
    ltm.ask("Hello?")
"""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield the cost of a step in memory, and through pytest."""
    for name, seconds in (("in memory", _in_memory), ("through pytest", _through_pytest)):
        many = median(seconds(size, STEPS) for _ in range(repeats))
        few = median(seconds(size, FEW) for _ in range(repeats))
        step = (many - few) / (size * (STEPS - FEW)) * 1e6
        yield f"{name}: {size:,} scenarios x {STEPS} steps in {many:.2f} s; {step:.1f} µs a step"


def _in_memory(scenarios: int, steps: int) -> float:
    def talk(ltm: Ltm) -> None:
        for _ in range(steps - 1):
            ltm.say("Hello.")
            ltm.wait(tokens=1)
        ltm.ask("Hello?")

    bodies = {f"talk_{number}": talk for number in range(scenarios)}
    began = process_time()
    run_conversation(bodies, Ready(), span=SPAN)
    return process_time() - began


def _through_pytest(scenarios: int, steps: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_talk.py").write_text(MODULE.format(scenarios=scenarios, steps=steps), encoding="utf-8")
        words = ["test_talk.py", f"--ltm-agent={AGENT}", f"--ltm-span={SPAN}", "--ltm-dir=runs", "--tb=no"]
        return pytest_run(folder, words).cpu_seconds
