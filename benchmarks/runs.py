"""Runs of pytest in their own processes: their costs and their messages."""

from __future__ import annotations

import inspect
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from pytest_ltm.api.journal import events
from pytest_ltm.api.model import load_encoding
from pytest_ltm.api.storage import LtmError, stopwatch_seconds


class Ready:
    """The agent of the benchmarks: it replies at once, so that a run's cost is pytest-ltm's own."""

    def reply(self, message: str) -> str:  # noqa: ARG002 - the protocol's signature
        """Return `OK.` to every message."""
        return "OK."


def agent_in(folder: Path) -> str:
    """Write that agent where a run in this folder finds it; return its spec."""
    (folder / "ready.py").write_text(inspect.getsource(Ready), encoding="utf-8")
    return "ready:Ready"


_APART = (
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPROFILEIMPORTTIME",
)
"""Variables that would change the run, or recompile everything each time."""


class Cost(NamedTuple):
    """The costs of a process."""

    seconds: float
    """Wall time."""
    cpu_seconds: float
    """Processor time, hardly affected by other load; wall time if the system does not report it."""
    megabytes: float
    """Peak memory in units of 2**20 bytes; 0.0 if the system does not report it."""


def pytest_run(
    folder: Path,
    words: Sequence[str],
    *,
    python: str | Path = sys.executable,
    writes: bool = True,
) -> Cost:
    """Run pytest in a folder and return its costs; see `measured_run`."""
    return measured_run(
        folder,
        ["pytest", "-q", "-p", "no:cacheprovider", *words],
        python=python,
        writes=writes,
    )


def measured_run(
    folder: Path,
    words: Sequence[str],
    *,
    python: str | Path = sys.executable,
    writes: bool = True,
) -> Cost:
    """Run a module in a folder and return its costs; LtmError with its output if it broke (status above 1).

    `python`: the interpreter. `writes`: whether bytecode may be written.
    """
    environment = {
        name: value for name, value in os.environ.items() if name not in _APART
    }
    if not writes:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [python, "-m", *words]
    log = folder / "output.txt"
    with log.open("wb") as output:
        began = stopwatch_seconds()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        usage = _wait(process)
        seconds = stopwatch_seconds() - began
    check_ended(process.returncode, log, f"the benchmark's {words[0]}")
    if usage is None:
        return Cost(seconds, seconds, 0.0)
    megabytes = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Cost(seconds, usage.ru_utime + usage.ru_stime, megabytes)


def check_ended(status: int, log: Path, what: str) -> None:
    """Raise LtmError with the end of the output if a run of pytest broke (status above 1)."""
    if status not in {0, 1}:
        tail = log.read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise LtmError(f"{what} ended with status {status}:\n{tail}")


def children(pid: int) -> list[int]:
    """Return the children of a process; none if the system does not list them."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return (
        [int(one) for one in path.read_text(encoding="ascii").split()]
        if path.exists()
        else []
    )


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage | None:
    """Wait for the end of a process and return its costs, as far as the system reports them."""
    if not hasattr(os, "wait4"):
        process.wait()
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


class Recorded(NamedTuple):
    """One conversation and its costs."""

    cost: Cost
    tokens: int
    texts: tuple[str, ...]


def converse(span: int, filler: str = "trivia") -> Recorded:
    """Play the built-in suite in an empty folder at a memory span in tokens, with an agent that replies at once.

    `filler`: a message has thousands of tokens with `trivia`, a few dozen with
    `varied`.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [
            f"--ltm-agent={agent_in(folder)}",
            f"--ltm-span={span}",
            f"--ltm-filler={filler}",
            "--ltm-suite=standard",
            "--ltm-no-probe",
            "--ltm-dir=runs",
            "--tb=no",
        ]
        cost = pytest_run(folder, words)
        said = [
            event
            for path in folder.glob("runs/runs/*/*/journal.jsonl")
            for event in events.read_events(path)
        ]
    spoken = [
        event
        for event in said
        if isinstance(event, (events.MessageSent, events.ReplyReceived))
    ]
    return Recorded(
        cost,
        sum(event.tokens for event in spoken),
        tuple(event.text for event in spoken),
    )


def tiktoken_pass(texts: tuple[str, ...]) -> tuple[float, int]:
    """Return the processor seconds that tiktoken takes to encode all texts once, and their token count."""
    encode = load_encoding("cl100k_base").encode_ordinary
    began = process_time()
    tokens = sum(len(encode(text)) for text in texts)
    return process_time() - began, tokens
