"""The cost of one step with very many scenarios in progress, and of dry runs and agents' own processes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from math import log2
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.runs import Cost, Ready, agent_in, pytest_run
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.scenarios import Ltm
from pytest_ltm.api.storage import pluralize
from pytest_ltm.testing import run_conversation

STEPS = 50
"""Messages per scenario; it waits after each, so that all others speak in between."""
FEW = 10
"""Messages per scenario in the run that is subtracted, so that only the cost of steps remains."""
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


def steps(size: int, repeats: int) -> Iterator[str]:
    """Yield the cost of a step in memory, and through pytest."""
    for name, seconds in (
        ("in memory", _in_memory),
        ("through pytest", _through_pytest),
    ):
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
        (folder / "test_talk.py").write_text(
            MODULE.format(scenarios=scenarios, steps=steps), encoding="utf-8"
        )
        words = [
            "test_talk.py",
            f"--ltm-agent={agent_in(folder)}",
            f"--ltm-span={SPAN}",
            "--ltm-dir=runs",
            "--tb=no",
        ]
        return pytest_run(folder, words).cpu_seconds


def apart(size: int, repeats: int) -> Iterator[str]:
    """Yield the wall time per message for an agent in this process and for one in its own process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = agent_in(folder)
        here, there = (
            [
                _a_message(find_agent(spec, base=folder, apart=how), size) * 1e6
                for _ in range(repeats)
            ]
            for how in (None, Processes(every=True, look=False))
        )
    yield f"in this process: {median(here):.0f} µs a message; in its own: {median(there):.0f} µs"
    more = [one - other for one, other in zip(there, here, strict=True)]
    yield f"more: {median(more):.0f} µs (median of {pluralize(repeats, 'measurement')} of {size:,} messages)"


def _a_message(source: AgentSource, count: int) -> float:
    speaker = AgentCaller(source.make(), timeout=300)
    try:
        speaker.ask("Hello.")
        began = perf_counter()
        for _ in range(count):
            speaker.ask("Hello.")
        return (perf_counter() - began) / count
    finally:
        speaker.close()


def rehearsal(size: int, repeats: int) -> Iterator[str]:
    """Yield the cost of dry runs: of `size` items in conversations of ten, then of a tenth of them in one."""
    for name, most, trials in (
        ("items in conversations of ten", size, size // 10),
        ("scenarios in one", size // 10, 1),
    ):
        points = []
        for part in (8, 4, 2, 1):
            items = most // part
            costs = [
                _dry(items // max(trials // part, 1), max(trials // part, 1))
                for _ in range(repeats)
            ]
            points.append(median(cost.cpu_seconds for cost in costs))
            yield f"{items:,} {name}: {points[-1]:.1f} s, peak {median(cost.megabytes for cost in costs):.0f} MB"
        yield f"slope of the last doubling (1 is linear): {log2(points[-1] / points[-2]):.2f}"


def _dry(scenarios: int, trials: int) -> Cost:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_talk.py").write_text(
            MODULE.format(scenarios=scenarios, steps=2), encoding="utf-8"
        )
        words = [
            "test_talk.py",
            "--ltm-agent=full",
            "--ltm-span=2000",
            f"--ltm-trials={trials}",
            "--ltm-dry-run",
        ]
        return pytest_run(folder, [*words, "--ltm-suite=none"])
