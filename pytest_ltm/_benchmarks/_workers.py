"""`workers`: four slow agents at once against one alone; agents that compute, on one worker and on two."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._process import pytest_run

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 50
"""Milliseconds that a reply takes."""
AGENTS = 4
AGENT = '''
import time


class Waits:
    """A reply takes its time, as over a network."""

    def reply(self, message):
        time.sleep({seconds})
        return "all right"


class Computes:
    """A reply keeps the processor busy."""

    def reply(self, message):
        end = time.process_time() + {seconds}
        while time.process_time() < end:
            pass
        return "all right"
'''
COMMON = ("--ltm-suite=standard", "--ltm-examples=8", "--ltm-span=2k", "--tb=no", "-rN")


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield seconds on the wall and their ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text("")
        (folder / "slow.py").write_text(AGENT.format(seconds=size / 1_000), encoding="utf-8")
        for _ in range(repeats):
            alone = pytest_run(folder, _words("Waits", 1, 0)).seconds
            together = pytest_run(folder, _words("Waits", AGENTS, AGENTS)).seconds
            yield f"one agent of {size} ms alone: {alone:.1f} s"
            yield f"{AGENTS} of them on {AGENTS} workers: {together:.1f} s, {together / alone:.2f} times as long"
            one = pytest_run(folder, _words("Computes", 2, 1)).seconds
            two = pytest_run(folder, _words("Computes", 2, 2)).seconds
            yield f"two agents that compute for {size} ms, on one worker: {one:.1f} s"
            yield f"on two workers: {two:.1f} s, {one / two:.2f} times as fast"


def _words(kind: str, agents: int, workers: int) -> list[str]:
    specs = ",".join(f"{kind}{number}=slow:{kind}" for number in range(agents))
    return [*COMMON, f"-n{workers}", f"--ltm-agent={specs}", "-p", "no:randomly"]
