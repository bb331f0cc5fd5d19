"""The processes of a case: all that it started, in any session, and no others."""

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
"""The environment variable that marks every process of a case, with the case's folder."""
GRACE = 10.0
"""Seconds that processes have to end after the run that started them."""
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Become the parent of orphaned descendants, so that none is missed.

    Raises:
        LtmError: the system cannot list the processes that a run leaves.
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
    """Return the processes of an ended case that outlive their grace period."""
    began = stopwatch_seconds()
    while (found := of(folder)) and stopwatch_seconds() - began < grace:
        sleep_interruptibly(0.05)
    return found


def kill(pids: Iterable[int]) -> None:
    """Kill processes returned by `of` or `left`."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants() -> list[int]:
    """Return all running descendants of this process."""
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
