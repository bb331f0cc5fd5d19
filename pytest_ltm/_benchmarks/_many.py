"""`many`: hundreds of conversations on two workers; time, memory, and what an item costs the controller."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._clock import sleep, stopwatch
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 20
"""So many agents, at five spans, in three trials each."""
WORKERS = 2
SPANS = "1k,2k,4k,8k,16k"
TRIALS = 3
KINDS = ("full", "window:8k", "bm25:8k", "forgetful:0.2", "echo", "silent")
EVERY = 0.5
"""Seconds between two looks at the memory."""
CONFTEST = """
import time

COUNTED = [0]


def pytest_runtest_logreport(report):
    if report.when == "teardown" and hasattr(report, "node"):
        COUNTED[0] += 1
        if COUNTED[0] % 100 == 0:
            with open("costs.txt", "a") as file:
                file.write(f"{COUNTED[0]} {time.process_time()}\\n")
"""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield what one run needed; LtmError with its output if it broke."""
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            yield from _run(Path(name), size)


def _run(folder: Path, size: int) -> Iterator[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    agents = ",".join(f"a{number}={KINDS[number % len(KINDS)]}" for number in range(size))
    words = [
        f"--ltm-agent={agents}", f"--ltm-span={SPANS}", f"--ltm-trials={TRIALS}", "--ltm-suite=standard",
        f"-n{WORKERS}", "-q", "--tb=no", "-rN", "-p", "no:cacheprovider", "-p", "no:randomly",
    ]  # fmt: skip
    began = stopwatch()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output,
        )  # fmt: skip
        peaks: dict[int, float] = {}
        while process.poll() is None:
            for pid in [process.pid, *_children(process.pid)]:
                peaks[pid] = max(peaks.get(pid, 0.0), _peak(pid))
            sleep(EVERY)
    seconds = stopwatch() - began
    if process.returncode not in {0, 1}:
        tail = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise LtmError(f"the benchmark's pytest ended with status {process.returncode}:\n{tail}")
    points = [tuple(map(float, line.split())) for line in (folder / "costs.txt").read_text().splitlines()]
    yield f"{size * len(SPANS.split(',')) * TRIALS} conversations, {points[-1][0]:.0f} items: {seconds:.0f} s"
    workers = sorted((peak for pid, peak in peaks.items() if pid != process.pid), reverse=True)[:WORKERS]
    shown = ", ".join(f"{peak:.0f} MB" for peak in workers)
    yield f"peak memory: controller {peaks[process.pid]:.0f} MB, workers {shown}"
    thirds = [points[index * (len(points) - 1) // 3] for index in range(4)]
    costs = [(after[1] - before[1]) / (after[0] - before[0]) * 1_000 for before, after in pairwise(thirds)]
    yield "controller, processor time for each item in the thirds of the run: " + ", ".join(
        f"{cost:.2f} ms" for cost in costs
    )


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(one) for one in path.read_text(encoding="ascii").split()] if path.exists() else []


def _peak(pid: int) -> float:
    """Return the most memory that a process has held so far, in units of 2**20 bytes; 0.0 where nobody tells."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return int(found.split()[1]) / 2**10
