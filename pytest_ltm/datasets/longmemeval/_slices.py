"""Finding the records of a JSON list in a file of any size, without holding more than one."""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets._json import no_list

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Whole strings are skipped in one go, so that brackets inside them do not count.
_PARTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_DEEPER = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_LIST, _RECORD = 1, 2
_SHOWN = 40
_WINDOW = 1 << 25
"""So many bytes are kept mapped: the pages before them are given back."""


def slices(path: Path) -> Iterator[tuple[int, int]]:
    """Yield where each object of the file's list begins and ends, in bytes; DatasetError if it is cut off.

    One pass, linear time, no memory but 32 MB of the operating system's own pages, or a record's if it is larger.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _slices(content, path)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        reason = getattr(error, "strerror", None)
        raise DatasetError(f"{path}: {f'cannot be read: {reason}' if reason else 'it is empty'}") from error


def _slices(content: mmap.mmap, path: Path) -> Iterator[tuple[int, int]]:
    _check_start(content, path)
    depth = start = freed = 0
    for part in _PARTS.finditer(content):
        change = _DEEPER.get(part[0], 0)
        if change > 0:
            depth += 1
            if depth == _RECORD:
                start = part.start()
        elif change < 0:
            depth -= 1
            if depth == _LIST:
                yield start, part.end()
                if part.end() - freed > _WINDOW:
                    freed = _freed(content, part.end())
            if depth == 0:
                return _check_end(content, part.end(), path)
    raise DatasetError(f"{path}: ends in the middle of a record (after byte {start:,}): truncated? Download it again")


def _check_start(content: mmap.mmap, path: Path) -> None:
    start = content[:_SHOWN].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"{":
        raise DatasetError(
            f"{path}: not a JSON list of records, but an object. JSON lines need [ ] around them and commas between"
        )
    if start[:1] != b"[":
        raise DatasetError(f"{path}: not a JSON list of records: {no_list(start)}")


def _check_end(content: mmap.mmap, end: int, path: Path) -> None:
    if content[end : end + _SHOWN].strip():
        raise DatasetError(f"{path}: goes on after the end of its list (at byte {end:,}). One list to a file")


def _freed(content: mmap.mmap, end: int) -> int:
    """Give back the pages before a place, where the system can; returns the place."""
    if hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED, 0, end - end % mmap.PAGESIZE)
    return end
