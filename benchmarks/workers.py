"""Many conversations at once: slow agents on several workers, and hundreds of conversations on two."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.runs import check_ended, children, pytest_run
from pytest_ltm.api.storage import sleep_interruptibly, stopwatch_seconds

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
COMMON = (
    "--ltm-suite=standard",
    "--ltm-no-probe",
    "--ltm-examples=8",
    "--ltm-span=2k",
    "--tb=no",
    "-rN",
)


def workers(size: int, repeats: int) -> Iterator[str]:
    """Yield wall seconds and their ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text("")
        (folder / "slow.py").write_text(
            AGENT.format(seconds=size / 1_000), encoding="utf-8"
        )
        for _ in range(repeats):
            alone = pytest_run(folder, _words("Waits", 1, 0)).seconds
            together = pytest_run(folder, _words("Waits", AGENTS, AGENTS)).seconds
            yield f"one agent of {size} ms alone: {alone:.1f} s"
            yield f"{AGENTS} of them on {AGENTS} workers: {together:.1f} s, {together / alone:.2f} times as long"
            one = pytest_run(folder, _words("Computes", 2, 1)).seconds
            two = pytest_run(folder, _words("Computes", 2, 2)).seconds
            yield f"two agents that compute for {size} ms, on one worker: {one:.1f} s"
            yield f"on two workers: {two:.1f} s, {one / two:.2f} times as fast"


def _words(kind: str, agents: int, processes: int) -> list[str]:
    specs = ",".join(f"{kind}{number}=slow:{kind}" for number in range(agents))
    return [*COMMON, f"-n{processes}", f"--ltm-agent={specs}", "-p", "no:randomly"]


WORKERS = 2
SPANS = "1k,2k,4k,8k,16k"
TRIALS = 3
KINDS = ("full", "window:8k", "bm25:8k", "forgetful:0.2", "echo", "silent")
EVERY = 0.5
"""Seconds between two memory readings."""
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


def many(size: int, repeats: int) -> Iterator[str]:
    """Yield the costs of one run; LtmError with its output if it broke."""
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            yield from _run(Path(name), size)


def _run(folder: Path, size: int) -> Iterator[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    agents = ",".join(
        f"a{number}={KINDS[number % len(KINDS)]}" for number in range(size)
    )
    words = [
        f"--ltm-agent={agents}",
        f"--ltm-span={SPANS}",
        f"--ltm-trials={TRIALS}",
        "--ltm-suite=standard",
        f"-n{WORKERS}",
        "-q",
        "--tb=no",
        "-rN",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
    ]
    began = stopwatch_seconds()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        peaks = peaks_until_ended(process)
    seconds = stopwatch_seconds() - began
    check_ended(process.returncode, folder / "output.txt", "the benchmark's pytest")
    points = [
        tuple(map(float, line.split()))
        for line in (folder / "costs.txt").read_text().splitlines()
    ]
    yield f"{size * len(SPANS.split(',')) * TRIALS} conversations, {points[-1][0]:.0f} items: {seconds:.0f} s"
    others = sorted(
        (peak for pid, peak in peaks.items() if pid != process.pid), reverse=True
    )[:WORKERS]
    shown = ", ".join(f"{peak:.0f} MB" for peak in others)
    yield f"peak memory: controller {peaks[process.pid]:.0f} MB, workers {shown}"
    thirds = [points[index * (len(points) - 1) // 3] for index in range(4)]
    costs = [
        (after[1] - before[1]) / (after[0] - before[0]) * 1_000
        for before, after in pairwise(thirds)
    ]
    yield (
        "controller, processor time for each item in the thirds of the run: "
        + ", ".join(f"{cost:.2f} ms" for cost in costs)
    )


def peaks_until_ended(process: subprocess.Popen[bytes]) -> dict[int, float]:
    """Return the peak memory (in units of 2**20 bytes) of a process and of each child, observed until it ended."""
    peaks: dict[int, float] = {}
    while process.poll() is None:
        for pid in [process.pid, *children(process.pid)]:
            peaks[pid] = max(peaks.get(pid, 0.0), _peak(pid))
        sleep_interruptibly(EVERY)
    return peaks


def _peak(pid: int) -> float:
    """Return a process's peak memory so far, in units of 2**20 bytes; 0.0 if the system does not report it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = next(
        (line for line in status.splitlines() if line.startswith("VmHWM")),
        "VmHWM: 0 kB",
    )
    return int(found.split()[1]) / 2**10
