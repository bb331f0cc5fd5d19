"""Disk: files that grow by whole lines or are replaced as a whole, and reading them; a refusal is a DiskFault.

A killed process loses nothing that `append` or `write_whole` has returned from. A
machine that loses its power may lose data younger than LASTING_SECONDS, or older data
if many files grow and the disk is slow: an fsync for every event would cost more than
the event.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, TextIO
from weakref import WeakSet

from pytest_ltm._core.storage.clock import stopwatch_seconds
from pytest_ltm._core.storage.errors import DatasetError, DiskFault, LtmError

# The minimum interval between two flushes to disk: each reply of an agent that takes as
# long.
LASTING_SECONDS = 1.0
# After a flush, a file waits this many times the flush's duration for each open file, so
# that a slow disk takes up a quarter of the time at most.
_REST = 4


# Raw bytes, and no symbolic link in place of the file, since it may lead anywhere.
_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


# The other end of a FIFO may never be opened.
_UNWAITING = getattr(os, "O_NONBLOCK", 0)
_PRIVATE = 0o700


_OPEN = WeakSet["Appender"]()


class Appender:
    """A file that grows; the process that creates one must be its only writer."""

    def __init__(self, path: Path, *, new: bool) -> None:
        self._path = path
        self._due = 0.0
        """When the next flush is due, on the stopwatch; the first is due at once."""
        self._process = os.getpid()
        flags = (
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | (os.O_EXCL if new else 0) | _PLAIN
        )
        try:
            self._file: int | None = os.open(path, flags | _UNWAITING, 0o666)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                os.close(self._file)
                raise disk_fault(path, "it is not a regular file")
        except OSError as error:
            raise disk_fault(path, error) from error
        _OPEN.add(self)

    def append(self, data: bytes, *, lasting: bool = False) -> None:
        """Append data, all or nothing; `lasting`: it must survive a loss of power."""
        if self._file is None:
            raise disk_fault(self._path, "it is closed")
        if os.getpid() != self._process:
            raise disk_fault(
                self._path, "this process is a copy of the one that writes it"
            )
        try:
            if not os.fstat(self._file).st_nlink:
                raise disk_fault(self._path, "it was deleted")
            _append_all(self._file, data)
            if lasting and stopwatch_seconds() >= self._due:
                self.sync()
        except OSError as error:
            raise disk_fault(self._path, error) from error

    def sync(self) -> None:
        """Flush the written data to disk."""
        if self._file is not None:
            began = stopwatch_seconds()
            try:
                os.fsync(self._file)
            except OSError as error:
                raise disk_fault(self._path, error) from error
            now = stopwatch_seconds()
            self._due = now + max(LASTING_SECONDS, _REST * len(_OPEN) * (now - began))

    def close(self) -> None:
        """Ensure that everything is on disk; a second call does nothing."""
        if self._file is None:
            return
        try:
            self.sync()
        finally:
            file = self._file
            self._file = None
            _OPEN.discard(self)
            os.close(file)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; OSError even for a FIFO or device, which might block forever."""
    file = open(  # noqa: SIM115
        path, "rb", opener=lambda name, flags: os.open(name, flags | _UNWAITING)
    )
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a regular file")


def read_regular(path: Path) -> bytes:
    """Return the content of a file; OSError even for files that `open_regular` refuses."""
    with open_regular(path) as file:
        return file.read()


def refuse_named_pipe(path: Path) -> None:
    """Raise OSError for a FIFO, which might block a writer forever.

    `/dev/stdout` is allowed, even if a shell has made it a pipe: that has a reader.
    """
    if path.resolve().is_fifo():
        raise OSError(errno.EINVAL, "it is not a regular file")


def open_text(
    path: Path,
    encoding: str = "utf-8",
    newline: str | None = None,
    errors: str = "strict",
) -> TextIO:
    """Open a file as text; the parameters are those of `open`, the errors those of `open_regular`."""
    return io.TextIOWrapper(
        open_regular(path), encoding=encoding, newline=newline, errors=errors
    )


def read_text(path: Path, errors: str = "strict") -> str:
    """Return a file's text in UTF-8; OSError even for files that `open_regular` refuses."""
    with open_text(path, errors=errors) as file:
        return file.read()


def make_private(folder: Path, *, exist_ok: bool = False) -> None:
    """Create a folder and its missing parents with access for the owner only; existing ones are unchanged.

    Raises OSError, including for an existing folder unless `exist_ok`.
    """
    missing = [parent for parent in folder.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(mode=_PRIVATE, exist_ok=True)
    folder.mkdir(mode=_PRIVATE, exist_ok=exist_ok)


@contextlib.contextmanager
def build_folder(path: Path) -> Iterator[Path]:
    """Build a folder so that other processes see all of it or nothing; yields the path to build at.

    An existing folder must be empty. Raises LtmError if it cannot be written.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        shutil.rmtree(beside, ignore_errors=True)  # left by a process that was killed
        make_private(beside)
        yield beside
        if path.exists():
            path.rmdir()
        beside.rename(path)
    except OSError as error:
        raise LtmError(
            f"{path}: cannot be written ({error.strerror or error})"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def append_line(
    file: IO[str] | Appender | None, line: str, *, lasting: bool = False
) -> None:
    """Append a line to an Appender or a given file; None: nothing is kept. DiskFault if it cannot be written."""
    if isinstance(file, Appender):
        file.append(line.encode(), lasting=lasting)
    elif file is not None:
        try:
            file.write(line)
            file.flush()
        except (OSError, ValueError) as error:  # ValueError: it is closed
            raise disk_fault(
                getattr(file, "name", "the journal"), str(error)
            ) from error


def write_whole(path: Path, data: bytes, *, lasting: bool = False) -> None:
    """Write a file so that other processes see either the old or the new one; DiskFault if it cannot be written."""
    try:
        _replace_file(path, data, lasting)
    except OSError as error:
        raise disk_fault(path, error) from error


def write_output(path: Path, data: bytes) -> None:
    """Write a user's output file, with its parent folders, like `write_whole`; LtmError if it cannot be written.

    A link stays a link, and a device or this process's own pipe is written to directly.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_named_pipe(path)
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace_file(path.resolve(), data, lasting=False)
    except OSError as error:
        raise LtmError(
            f"{path}: cannot be written ({error.strerror or error})"
        ) from error


def _replace_file(path: Path, data: bytes, lasting: bool) -> None:
    beside = path.with_name(f"{path.name}.new")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN, 0o666)
        try:
            _append_all(file, data)
            if lasting:
                os.fsync(file)
        finally:
            os.close(file)
        try:
            beside.replace(path)
        except FileNotFoundError:
            # Otherwise another process wrote it at the same moment, and renamed this
            # temporary file.
            if not path.exists():
                raise
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def disk_fault(path: object, why: OSError | str) -> DiskFault:
    """Return the fault of a disk that cannot be written."""
    reason = why if isinstance(why, str) else why.strerror or str(why)
    loss = ""
    if isinstance(path, Path) and not path.parent.exists():
        loss = "; its folder is gone, with all that was recorded there"
    return DiskFault(f"cannot write {path}: {reason}. Nothing more is sent{loss}")


def _append_all(file: int, data: bytes) -> None:
    """Append data to a file, all or nothing."""
    remaining = memoryview(data)
    try:
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
    except OSError:
        with contextlib.suppress(OSError):
            # The reader would drop half a line, too.
            os.ftruncate(file, os.fstat(file).st_size - (len(data) - len(remaining)))
        raise


# --- Images: files whose content is passed on unchanged; nothing here decodes one.

# The largest file that is sent; base64 makes it a third larger, which is about the
# limit of services.
MAX_IMAGE_BYTES = 20_000_000
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_WAY_OUT = "Replace it, or remove it: then its caption is sent instead"


def image_type(content: bytes) -> str:
    """Return the media type of an image by its first bytes; "" if it is not a PNG, JPEG, GIF or WebP."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((name for begin, name in _BEGINNINGS if content.startswith(begin)), "")


def read_image(path: Path) -> bytes:
    """Return the content of an image file; DatasetError if it cannot be read, is too large, or is not an image."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}. {_WAY_OUT}"
        ) from error
    if len(content) > MAX_IMAGE_BYTES:
        raise DatasetError(
            f"{path}: larger than {MAX_IMAGE_BYTES:,} bytes, too large to be sent. {_WAY_OUT}"
        )
    if not image_type(content):
        raise DatasetError(
            f"{path}: its content is not a PNG, JPEG, GIF or WebP image. {_WAY_OUT}"
        )
    return content
