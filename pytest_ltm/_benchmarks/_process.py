"""One pytest process of its own, and what it needed: seconds and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._clock import stopwatch
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    import resource
    from collections.abc import Sequence
    from pathlib import Path

_APART = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME")
"""Variables that would make it another run, or compile everything anew each time."""


class Cost(NamedTuple):
    """What a process needed."""

    seconds: float
    """On the wall."""
    cpu_seconds: float
    """Of the processor: hardly disturbed by what else the machine does; on the wall where the system does not tell."""
    megabytes: float
    """The most memory that it held at any time, in units of 2**20 bytes; 0.0 where the system does not tell."""


def pytest_run(folder: Path, words: Sequence[str]) -> Cost:
    """Run pytest in a folder and return what it needed; LtmError with its output if it broke (status above 1)."""
    environment = {name: value for name, value in os.environ.items() if name not in _APART}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    log = folder / "output.txt"
    with log.open("wb") as output:
        began = stopwatch()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        usage = _wait(process)
        seconds = stopwatch() - began
    if process.returncode not in {0, 1}:
        tail = log.read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise LtmError(f"the benchmark's pytest ended with status {process.returncode}:\n{tail}")
    if usage is None:
        return Cost(seconds, seconds, 0.0)
    megabytes = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, megabytes)


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage | None:
    """Wait for the end of a process and return what it used, where the system tells."""
    if not hasattr(os, "wait4"):
        process.wait()
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage
