"""Reading LongMemEval files: oracle, S and M, older and cleaned, one record in memory at a time."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError, DefinitionError, did_you_mean
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._index import index_of, json_of, sha256_of
from pytest_ltm.datasets.longmemeval._record import read_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_ltm.datasets.longmemeval._index import Entry
    from pytest_ltm.datasets.longmemeval._schema import Record

KNOWN_FILES: Mapping[str, str] = {
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "longmemeval_s_cleaned.json, as published",
}
"""SHA-256 -> which file that is."""


class LongMemEvalFile:
    """A file of records; only their places are kept in memory.

    `cache`: the folder in which the places are remembered between runs; None: they are looked for each time.
    Raises DatasetError for a truncated file, an unknown type, and ids that repeat.
    """

    def __init__(self, path: Path, cache: Path | None = None) -> None:
        self.path = path
        self._index = index_of(path, cache)
        self.entries = self._index.entries
        self.published = KNOWN_FILES.get(self._index.sha256, "")
        """Which published file it is, byte for byte; "" where that is not known."""
        self._by_id = {entry.id: entry for entry in self.entries}

    def record(self, question_id: str) -> Record:
        """Return one record; DatasetError names file, record and field of what is wrong with it."""
        entry = self._by_id.get(question_id)
        if entry is None:
            raise DatasetError(f"{self.path}: no record {question_id!r}.{did_you_mean(question_id, self._by_id)}")
        where = f"{self.path}: {question_id}"
        try:
            record = read_record(Field(json_of(self._content(entry), where), where))
        except DefinitionError as error:
            raise DatasetError(str(error)) from error
        if record.id != question_id:
            raise DatasetError(f"{where}: the record of {record.id!r} stands there: the file was changed meanwhile")
        return record

    def digest(self, question_id: str) -> str:
        """Return the SHA-256 of one record as it stands in the file."""
        return hashlib.sha256(self._content(self._by_id[question_id])).hexdigest()

    def records(self) -> Iterator[Record]:
        """Yield all records, one after the other."""
        return (self.record(entry.id) for entry in self.entries)

    def sha256(self) -> str:
        """Return the SHA-256 of the file, which takes a moment for a large one."""
        return self._index.sha256 or sha256_of(self.path)

    def _content(self, entry: Entry) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(entry.start)
                return file.read(entry.end - entry.start)
        except OSError as error:
            raise DatasetError(f"{self.path}: cannot be read: {error.strerror}") from error
