"""The folder of a run: created, locked, and removed if the run was refused."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_ltm._core.journal.cost import LEDGER
from pytest_ltm._core.journal.result import ConversationName
from pytest_ltm._core.journal.run_file import (
    FILE,
    JOURNAL,
    LATEST,
    TIMINGS,
    RunFile,
    conversations_in,
    write_run_file,
)
from pytest_ltm._core.session.options import name_option_in_errors
from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.disk import make_private, read_regular, write_whole
from pytest_ltm._core.storage.errors import DiskFault
from pytest_ltm._core.storage.locks import NAME as LOCK
from pytest_ltm._core.storage.locks import OWNER, FolderLock, lock_holder

# The contents of a run's folder before the first message.
_BEGUN = frozenset({LOCK, FILE, TIMINGS, LEDGER, f"{LEDGER}.lock"})


# The age below which another process may still be about to lock a folder.
_YOUNG_SECONDS = 60.0


def run_id() -> str:
    """Return a unique name for a run; names sort by time."""
    return f"{wall_time():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunFolder:
    """`<ltm-dir>/runs/<run id>`; nothing is created before `create`, nothing changed before `reopen_folder`.

    Between either and `release` no other process can use it. `folder`: its path, if it
    may have been moved.
    """

    def __init__(self, ltm_dir: Path, name: str, folder: Path | None = None) -> None:
        self.ltm_dir = ltm_dir
        self.name = name
        self.path = ltm_dir / "runs" / name
        self.moved = folder is not None and folder.resolve() != self.path.resolve()
        """It is found by its path only, not by its id."""
        if folder is not None and self.moved:
            self.path = folder
        self._lock = FolderLock(self.path)
        self._previous: str | None = None
        """The content of `latest` before this run; None if the run was not created here."""

    def create(self, started: RunFile) -> None:
        """Create the folder, write the run file, and point `latest` to it; UsageError if that fails."""
        try:
            make_private(self.path)
            ignore = self.ltm_dir / ".gitignore"
            if not ignore.exists():
                write_whole(ignore, b"*\n")
            self._lock.acquire()
            write_run_file(self.path, started)
            # Remove the folders of runs that were killed before they began: they have
            # nothing but an unheld lock.
            for folder in self.path.parent.iterdir():
                with suppress(OSError):
                    names = {path.name for path in folder.iterdir()}
                    is_old = (
                        wall_time().timestamp() - folder.stat().st_mtime
                        > _YOUNG_SECONDS
                    )
                    if (
                        is_old
                        and names <= {LOCK, OWNER, f"{OWNER}.new", f"{FILE}.new"}
                        and not lock_holder(folder)
                    ):
                        for name in names:
                            (folder / name).unlink()
                        folder.rmdir()
            self._previous = self._latest()
            self._point()
        except (OSError, DiskFault) as error:
            reason = f"cannot write to {str(self.ltm_dir)!r}: {getattr(error, 'strerror', None) or error}"
            raise pytest.UsageError(
                f"--ltm-dir: {reason}. Name a writable folder"
            ) from error

    def reopen_folder(self) -> None:
        """Lock the folder of a resumed run; UsageError if another process has it or it contains links."""
        for inside, names, files in os.walk(self.path):
            for name in (*names, *files):
                link = Path(inside) / name
                if link.is_symlink():
                    reason = f"{link} is a symbolic link, so what is written there could end up anywhere"
                    raise pytest.UsageError(
                        f"--ltm-resume: {reason}. Replace it by a copy of its target"
                    )
        name_option_in_errors("--ltm-resume", self._lock.acquire)
        if not self.moved:
            name_option_in_errors("--ltm-resume", self._point)

    def release(self) -> None:
        """Release the lock, and delete the folder if the run never began."""
        self._lock.release()
        previous = self._previous
        self._previous = None
        with suppress(OSError):
            if previous is None or {path.name for path in self.path.iterdir()} - _BEGUN:
                return
            if self._latest() == self.name and not previous:
                (self.ltm_dir / LATEST).unlink()
            elif self._latest() == self.name:
                write_whole(self.ltm_dir / LATEST, f"{previous}\n".encode())
            for name in _BEGUN:
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def _latest(self) -> str:
        try:
            return read_regular(self.ltm_dir / LATEST).decode().strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _point(self) -> None:
        write_whole(self.ltm_dir / LATEST, f"{self.name}\n".encode())

    def has_journal(self, labels: str) -> bool:
        """Return whether a conversation, named as in node ids, or a part of it was begun on this machine."""
        name = ConversationName.of_labels(labels)
        return any(
            conversation.whole == name
            for conversation in conversations_in(self.path, JOURNAL)
        )

    def shown(self) -> str:
        """Return the folder's path as a user would type it in the current folder."""
        path = os.path.relpath(self.path)
        return str(self.path) if path.startswith("..") else path
