"""Reading LongMemEval files: oracle, S and M, older and cleaned, one record in memory at a time."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError, DefinitionError, did_you_mean
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._index import REQUIRED, Entry, index_of, json_of, sha256_of
from pytest_ltm.datasets.longmemeval._schema import Record, Session, Turn, read_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

__all__ = ["KNOWN_FILES", "Entry", "LongMemEvalFile", "read_record"]

KNOWN_FILES: Mapping[str, str] = {
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "longmemeval_s_cleaned.json, as published",
}
"""SHA-256 -> which file that is."""
_PARALLEL = ("haystack_dates", "haystack_session_ids", "haystack_sessions")


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


def read_record(top: Field) -> Record:
    """Return the record that stands at a place in a file; DefinitionError for what is wrong with it."""
    fields = top.mapping(required=REQUIRED)
    lists = {name: fields[name].items() for name in _PARALLEL if name in fields}
    if len({len(items) for items in lists.values()}) > 1:
        lengths = ", ".join(f"{len(items)} {name}" for name, items in lists.items())
        raise top.fault(f"parallel lists of different length: {lengths}.")
    if not isinstance(fields["answer"].value, (str, int, float)):
        raise fields["answer"].error("a text or a number")
    sessions = _sessions(lists)
    at = read_date(fields["question_date"].text())
    if at is None:
        raise fields["question_date"].error("a date such as '2023/05/30 (Tue) 23:40'")
    cited = fields["answer_session_ids"].texts() if "answer_session_ids" in fields else ()
    return Record(
        id=fields["question_id"].text(),
        type=fields["question_type"].text(),
        question=fields["question"].text(),
        answer=str(fields["answer"].value),
        when=fields["question_date"].text(),
        at=at,
        sessions=sessions,
        answer_sessions=cited,
        notes=tuple(_notes(sessions, cited, at)),
    )


def _sessions(lists: Mapping[str, list[Field]]) -> tuple[Session, ...]:
    dates, said = lists["haystack_dates"], lists["haystack_sessions"]
    given = [str(name.value) for name in lists.get("haystack_session_ids", ())]
    names = given or [f"session_{number}" for number in range(len(said))]
    sessions = [_session(name, date, turns) for name, date, turns in zip(names, dates, said, strict=True)]
    return tuple(sorted(sessions, key=lambda session: session.at))


def _session(name: str, date: Field, turns: Field) -> Session:
    when = date.text()
    at = read_date(when)
    if at is None:
        raise date.error("a date such as '2023/05/30 (Tue) 23:40'")
    return Session(name, when, at, tuple(map(_turn, turns.items("turns"))))


def _turn(item: Field) -> Turn:
    fields = item.mapping(required=("role", "content"))
    role, content = fields["role"].value, fields["content"].value
    if role not in {"user", "assistant"}:
        raise fields["role"].error("'user' or 'assistant'")
    if not isinstance(content, str):
        raise fields["content"].error("a text")
    return Turn(role, content, "has_answer" in fields and fields["has_answer"].value is True)


def _notes(sessions: tuple[Session, ...], cited: tuple[str, ...], at: datetime) -> Iterator[str]:
    count = Counter(session.id for session in sessions)
    absent = [name for name in cited if name not in count]
    if absent:
        yield f"its evidence is absent: no session {', '.join(absent)}"
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        yield f"the session {', '.join(twice)} is told more than once"
    if sessions and sessions[-1].at > at:
        yield "the question is dated before its last session"
