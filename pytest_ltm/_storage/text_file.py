"""Texts that need not be in memory: what was said in a conversation of millions of tokens."""

from __future__ import annotations

import tempfile
import weakref
from array import array
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pytest_ltm._storage.disk import disk_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY = 2**20
"""Bytes up to which there is no file."""


class TextFile:
    """Texts by number, in a file without a name once they are many; in memory is where each ends.

    DiskFault if the disk takes no more.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with the texts
        self._ends = array("Q", [0])
        self._lock = Lock()  # reports read what a conversation in another thread writes
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._ends) - 1

    def append(self, text: str) -> None:
        """Add a text; its number is how many there were before."""
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            try:
                self._file.seek(self._ends[-1])
                self._file.write(data)
            except OSError as error:
                raise disk_fault(Path(tempfile.gettempdir()), error) from error
            self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, number: int) -> str:
        """Return a text; IndexError if there is none."""
        start, end = self._ends[number], self._ends[number + 1]
        with self._lock:
            self._file.seek(start)
            return self._file.read(end - start).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts in their order."""
        return map(self.__getitem__, range(len(self)))

    def truncate(self, length: int) -> None:
        """Forget all but the first texts."""
        del self._ends[length + 1 :]
