"""The run folder: where a run's conversations are written, and where `latest` points."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._clock import wall_time
from pytest_ltm._costs._budget import LEDGER
from pytest_ltm._disk import write_whole
from pytest_ltm._errors import DiskFault, LtmError
from pytest_ltm._locks import NAME as LOCK
from pytest_ltm._locks import FolderLock
from pytest_ltm._recording import JOURNAL
from pytest_ltm._run_file import FILE, LATEST, RunFile, write_run_file

if TYPE_CHECKING:
    from collections.abc import Iterator


_BEGUN = frozenset({LOCK, FILE, LEDGER, f"{LEDGER}.lock"})
"""What stands in the folder of a run in which nothing has been said."""


def run_id() -> str:
    """Return a name for a run that sorts by time and is not given twice."""
    return f"{wall_time():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunFolder:
    """`<ltm-dir>/runs/<run id>`; nothing is made before `create`, nothing changed before `reopen`.

    Between either and `release` no other process can have it. `at`: where it is, if it may have been moved elsewhere.
    """

    def __init__(self, ltm_dir: Path, name: str, at: Path | None = None) -> None:
        self.ltm_dir, self.name = ltm_dir, name
        self.path = ltm_dir / "runs" / name
        self.moved = at is not None and at.resolve() != self.path.resolve()
        """Its id does not name it, only its path."""
        if at is not None and self.moved:
            self.path = at
        self._lock = FolderLock(self.path)
        self._before: str | None = None
        """What `latest` said before this run was made; None: it was not made here."""

    def create(self, started: RunFile) -> None:
        """Make the folder, write down how the run was started, and point `latest` to it; UsageError if it cannot be."""
        try:
            self.path.mkdir(parents=True)
            ignore = self.ltm_dir / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            self._lock.acquire()
            write_run_file(self.path, started)
            self._before = self._latest()
            self._point()
        except (OSError, DiskFault) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise pytest.UsageError(
                f"--ltm-dir: cannot write to {str(self.ltm_dir)!r}: {reason}. Name a folder that can be written"
            ) from error

    def reopen(self) -> None:
        """Take the folder of a run that is gone on with; UsageError if another process has it or it has links."""
        link = next(_links(self.path), None)
        if link is not None:
            raise pytest.UsageError(
                f"--ltm-resume: {link} is a symbolic link, and what is written there might end up anywhere. Put a copy "
                "of what it leads to in its place"
            )
        try:
            self._lock.acquire()
            if not self.moved:
                self._point()
        except LtmError as error:
            raise pytest.UsageError(f"--ltm-resume: {error}") from error

    def release(self) -> None:
        """Let others have it; a new one that was refused before anything was written into it is taken away."""
        self._lock.release()
        before, self._before = self._before, None
        if before is not None:
            with suppress(OSError):
                self._take_away(before)

    def _take_away(self, before: str) -> None:
        if {path.name for path in self.path.iterdir()} - _BEGUN:
            return
        if self._latest() == self.name and not before:
            (self.ltm_dir / LATEST).unlink()
        elif self._latest() == self.name:
            write_whole(self.ltm_dir / LATEST, f"{before}\n".encode())
        for name in _BEGUN:
            (self.path / name).unlink(missing_ok=True)
        self.path.rmdir()

    def _latest(self) -> str:
        try:
            return (self.ltm_dir / LATEST).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _point(self) -> None:
        write_whole(self.ltm_dir / LATEST, f"{self.name}\n".encode())

    def conversation(self, labels: tuple[str, ...]) -> Path:
        """Return the folder of a conversation."""
        return self.path / "~".join(labels)

    def has_journal(self, labels: str) -> bool:
        """Return whether a conversation, named as in node ids, was begun on this machine; in parts, whether one was."""
        name = labels.replace("-", "~")
        return any(any(self.path.glob(f"{folder}/{JOURNAL}")) for folder in (name, f"{name}~*"))

    def shown(self) -> str:
        """Return the folder as a person would type it from here."""
        shown = os.path.relpath(self.path)
        return str(self.path) if shown.startswith("..") else shown


def _links(folder: Path) -> Iterator[Path]:
    for inside, names, files in os.walk(folder):
        yield from (path for name in (*names, *files) if (path := Path(inside) / name).is_symlink())
