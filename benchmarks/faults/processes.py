"""The processes of a case: all that it has started, in whatever session, and nobody else's."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pytest_ltm.api.storage import LtmError, sleep_interruptibly, stopwatch_seconds

MARK = "LTM_FAULTS_CASE"
"""The environment variable that holds the folder of the case in all that it starts."""
GRACE = 10.0
"""Seconds that processes have to end after the run that started them."""
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Become the parent of every descendant whose own parent ends, so that none is overlooked.

    Raises:
        LtmError: the system cannot tell which processes a run leaves.
    """
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(
        _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0
    ):
        raise LtmError(
            "the faults are tried on Linux only: elsewhere nobody can tell which processes a run has left"
        )


def of(folder: Path) -> list[int]:
    """Return the descendants of this process that belong to a case."""
    return [pid for pid in _descendants() if _belongs(pid, folder)]


def left(folder: Path, grace: float = GRACE) -> list[int]:
    """Return the processes of a case that are there although it has ended and they have had their time."""
    began = stopwatch_seconds()
    while (found := of(folder)) and stopwatch_seconds() - began < grace:
        sleep_interruptibly(0.05)
    return found


def kill(pids: Iterable[int]) -> None:
    """Kill processes that `of` or `left` has returned."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants() -> list[int]:
    """Return all processes below this one that have not ended."""
    below: dict[int, list[int]] = {}
    ended = set()
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError, IndexError):
                state, parent = (
                    (path / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                )
                below.setdefault(int(parent), []).append(int(path.name))
                if state == b"Z":
                    ended.add(int(path.name))
    found = [os.getpid()]
    for pid in found:
        found += below.get(pid, [])
    return [pid for pid in found[1:] if pid not in ended]


def _belongs(pid: int, folder: Path) -> bool:
    with suppress(OSError):
        if (
            f"{MARK}={folder}\0".encode()
            in Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
        ):
            return True
    with suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(folder)  # noqa: PTH115 - it may be deleted
    return False
