"""Locks: one writer for each folder; a lock dies with its process, so that nobody has to clean up."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import TYPE_CHECKING

from pytest_ltm._storage.clock import wall_time
from pytest_ltm._storage.disk import disk_fault, read_regular, write_whole
from pytest_ltm._storage.errors import LtmError

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import BaseFileLock


NAME = ".lock"
# Who holds the lock, for the message to others; the lock itself is the operating system's.
OWNER = ".owner.json"


class InUse(LtmError):
    """Another process is writing there."""


class FolderLock:
    """The right to write into a folder, held from `acquire` to `release` or to the end of the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: BaseFileLock | None = None

    def acquire(self) -> None:
        """Take it; InUse names who holds it."""
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
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": wall_time().isoformat(timespec="seconds")}
        write_whole(self._folder / OWNER, json.dumps(me).encode())

    def release(self) -> None:
        """Give it back; nothing happens the second time."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                (self._folder / OWNER).unlink(missing_ok=True)
            lock.release()


def lock_holder(folder: Path) -> str:
    """Return who is writing into a folder, "" if nobody is; OSError if that cannot be told."""
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
    """Return who holds a folder's lock, or held it when it died."""
    try:
        known = json.loads(read_regular(folder / OWNER))
        return f"process {int(known['pid'])} on {str(known['host'])[:80]!r}, since {str(known['since'])[:40]}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return "another process"
