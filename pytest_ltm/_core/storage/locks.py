"""Locks: the right to write into a folder, and small JSON values that several processes change.

A lock is released when its process ends, so it needs no clean-up.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._core.storage.clock import sleep_interruptibly, wall_time
from pytest_ltm._core.storage.disk import disk_fault, read_regular, write_whole
from pytest_ltm._core.storage.errors import LtmError

if TYPE_CHECKING:
    from filelock import BaseFileLock


NAME = ".lock"
# The holder of the lock, for the message to others; the lock itself is the operating
# system's.
OWNER = ".owner.json"


class InUse(LtmError):
    """Another process is writing there."""


class FolderLock:
    """The right to write into a folder, held from `acquire` to `release` or to the end of the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: BaseFileLock | None = None

    def acquire(self) -> None:
        """Take the lock; InUse names its holder."""
        from filelock import FileLock, Timeout

        lock = FileLock(str(self._folder / NAME), is_singleton=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise InUse(
                f"{self._folder} is in use by {lock_owner(self._folder)}. Wait for it to end, or stop it"
            ) from None
        except OSError as error:
            raise disk_fault(self._folder / NAME, error) from error
        self._lock = lock
        me = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": wall_time().isoformat(timespec="seconds"),
        }
        write_whole(self._folder / OWNER, json.dumps(me).encode())

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        lock = self._lock
        self._lock = None
        if lock is not None:
            with contextlib.suppress(OSError):
                (self._folder / OWNER).unlink(missing_ok=True)
            lock.release()


def lock_holder(folder: Path) -> str:
    """Return the process that is writing into a folder; "" if there is none, OSError if that is unknown."""
    if not (folder / NAME).is_file():
        return ""
    from filelock import FileLock, Timeout

    lock = FileLock(str(folder / NAME), is_singleton=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return lock_owner(folder)
    lock.release()
    return ""


def lock_owner(folder: Path) -> str:
    """Return the process that holds a folder's lock, or held it when it died."""
    try:
        owner = json.loads(read_regular(folder / OWNER))
        return f"process {int(owner['pid'])} on {str(owner['host'])[:80]!r}, since {str(owner['since'])[:40]}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return "another process"


# --- Shared: a small JSON value on disk that the processes of a run change together
# (rate limits, a budget).

# Seconds that a change waits for others; each of them takes well under a millisecond.
LONGEST_WAIT = 30.0
_POLL = 0.002
_BUSY_TRIES = 50


class Shared:
    """A JSON object in a file, the same for all threads and processes that name the same path.

    The folder is created on demand. Next to the file are `NAME.lock` (kept: removing it
    would split the waiting processes) and, for a moment, `NAME.new`. A process may die
    at any point: its lock is released, and the file is replaced as a whole or not at
    all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._new_path = path.with_name(f"{path.name}.new")

    def change(
        self, alter: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        """Replace the value ({} at first) by the result of `alter`, and return it; the lock excludes other changes.

        `alter` must be fast, may change its argument, must not change the same value
        again, and runs once; if it raises, nothing is changed. Raises LtmError if the
        file does not contain a JSON object, or others hold the lock too long.
        """
        import filelock

        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with filelock.FileLock(
                self._lock_path, timeout=LONGEST_WAIT, poll_interval=_POLL
            ):
                value = alter(self._value())
                text = json.dumps(value, allow_nan=False).encode()
                self._new_path.write_bytes(text)
                _retry_on_windows(lambda: os.replace(self._new_path, self.path))  # noqa: PTH105 - quicker, and the same
        except filelock.Timeout as error:
            raise LtmError(
                f"{self.path} was locked by another process for {LONGEST_WAIT:g} s. Is one of them "
                f"suspended? Check which process has {self._lock_path} open"
            ) from error
        return value

    def read(self) -> dict[str, Any]:
        """Return the last complete value, without waiting for a lock; LtmError if it is not a JSON object."""
        return self._value()

    def _value(self) -> dict[str, Any]:
        try:
            text = _retry_on_windows(self.path.read_bytes)
        except FileNotFoundError:
            return {}
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise LtmError(
                f"{self.path} is not a JSON object: {text[:40]!r}. Remove it to start over"
            )
        return value


def _retry_on_windows(call: Callable[[], Any]) -> Any:
    """Return `call()`, retried on Windows, where a file cannot be read and replaced at the same time."""
    for _ in range(_BUSY_TRIES):
        try:
            return call()
        except PermissionError:
            if os.name != "nt":
                raise
            sleep_interruptibly(_POLL)
    return call()
