"""LongMemEval files of any size: records read one at a time, their positions, and warnings about them."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from pytest_ltm.api.storage import (
    DatasetError,
    DefinitionError,
    DiskFault,
    Field,
    did_you_mean,
    open_regular,
    read_regular,
    write_whole,
)
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.rows import (
    check_size,
    describe_content,
    faults_of_data,
    fields_of,
    parse_json,
    text_or_number,
)
from pytest_ltm.language.dates import DAYS

ABSTENTION = "_abs"
"""The id suffix of unanswerable questions, which takes precedence over the type (Wu et al., 2025)."""

_DATE = re.compile(
    r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([A-Za-z]+\))?(?:\s+(\d{1,2}):(\d{2}))?"
)


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """One utterance of one party."""

    role: str
    """Either `user` or `assistant`."""
    content: str
    has_answer: bool = False
    """Whether it is marked as evidence in the file."""


@dataclass(frozen=True, slots=True)
class HistorySession:
    """One dated session of a history; either party may begin, and turns need not alternate."""

    id: str
    when: str
    """The date as written in the file."""
    at: datetime
    """The same date, aware (UTC)."""
    turns: tuple[HistoryTurn, ...]


@dataclass(frozen=True, slots=True)
class LongMemEvalRecord:
    """One question and its history."""

    id: str
    type: str
    question: str
    answer: str
    when: str
    """The question's date as written in the file."""
    at: datetime
    """The same date, aware (UTC)."""
    sessions: tuple[HistorySession, ...]
    """In order of their dates; equal dates in file order."""
    answer_sessions: tuple[str, ...] = ()
    """Ids of the sessions with evidence."""
    notes: tuple[str, ...] = ()
    """Warnings about the record, a sentence each."""

    @property
    def abstention(self) -> bool:
        """Whether the right answer is that it cannot be known."""
        return is_abstention(self.id)


def is_abstention(question_id: str) -> bool:
    """Return whether a question is unanswerable, which its id alone decides."""
    return question_id.endswith(ABSTENTION)


def ability_of(question_id: str, question_type: str) -> str:
    """Return the ability that a question tests; an unanswerable one tests abstention, whatever its type."""
    if is_abstention(question_id):
        return "abstention"
    if question_type.startswith("single-session"):
        return "information-extraction"
    return question_type


def read_date(text: str) -> datetime | None:
    """Return the aware (UTC) date in a text such as `2023/05/30 (Tue) 23:40`, or None if there is none."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
    except ValueError:
        return None


def format_longmemeval_date(moment: datetime) -> str:
    """Return a date in the data set's form, with English days whatever the locale."""
    return f"{moment:%Y/%m/%d} ({DAYS[moment.weekday()][:3]}) {moment:%H:%M}"


REQUIRED = (
    "question_id",
    "question_type",
    "question",
    "answer",
    "question_date",
    "haystack_dates",
    "haystack_sessions",
)
_PARALLEL = ("haystack_dates", "haystack_session_ids", "haystack_sessions")


def read_record(top: Field) -> LongMemEvalRecord:
    """Parse the record at a place in a file; DefinitionError for a malformed one."""
    fields = fields_of(top, REQUIRED, "record of LongMemEval")
    lists = {name: fields[name].items() for name in _PARALLEL if name in fields}
    if len(set(map(len, lists.values()))) > 1:
        lengths = ", ".join(f"{len(items)} {name}" for name, items in lists.items())
        raise top.fault(f"parallel lists of different length: {lengths}.")
    answer = text_or_number(fields["answer"], empty=False)
    # the published files name each session, some others do not
    names = [str(name.value) for name in lists.get("haystack_session_ids", ())]
    if not names:
        count = len(lists["haystack_sessions"])
        names = [f"session_{number}" for number in range(count)]
    rows = zip(names, lists["haystack_dates"], lists["haystack_sessions"], strict=True)
    parsed = []
    for name, date, turns in rows:
        session_turns = tuple(map(read_turn, turns.items("turns")))
        parsed.append(HistorySession(name, *_parse_record_date(date), session_turns))
    sessions = tuple(sorted(parsed, key=lambda session: session.at))
    if not any(session.turns for session in sessions):
        raise fields["haystack_sessions"].fault(
            "holds no turn, so that there is nothing to ask about."
        )
    when, moment = _parse_record_date(fields["question_date"])
    if "answer_session_ids" in fields:
        cited = fields["answer_session_ids"].texts()
    else:
        cited = ()
    notes = tuple(_record_notes(sessions, cited, moment))
    return LongMemEvalRecord(
        fields["question_id"].text(),
        fields["question_type"].text(),
        fields["question"].text(),
        answer,
        when,
        moment,
        sessions,
        cited,
        notes,
    )


def _parse_record_date(item: Field) -> tuple[str, datetime]:
    """Return a date as written, and its value."""
    moment = read_date(item.text())
    if moment is None:
        raise item.error("a date such as '2023/05/30 (Tue) 23:40'")
    return item.text(), moment


def read_turn(item: Field) -> HistoryTurn:
    """Parse the turn at a place in a file."""
    fields = item.mapping(required=("role", "content"))
    role = fields["role"].value
    content = fields["content"].value
    if role not in ("user", "assistant"):  # a tuple: it may be a list
        raise fields["role"].error("'user' or 'assistant'")
    if not isinstance(content, str):
        raise fields["content"].error("a text")
    return HistoryTurn(
        role, content, "has_answer" in fields and fields["has_answer"].value is True
    )


def _record_notes(
    sessions: tuple[HistorySession, ...], cited: tuple[str, ...], asked_at: datetime
) -> Iterator[str]:
    count = Counter(session.id for session in sessions)
    absent = [name for name in cited if name not in count]
    if absent:
        yield f"its evidence is absent: no session {', '.join(absent)}"
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        yield f"the session {', '.join(twice)} is told more than once"
    if sessions and sessions[-1].at > asked_at:
        yield "the question is dated before its last session"


# --- Finding the records of a JSON list in a file of any size, with one of them in
# memory at a time.

# Whole strings are skipped at once, so that brackets inside them do not count.
_PARTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_DEEPER = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_LIST = 1
_RECORD = 2
_SHOWN = 40
# The number of bytes kept mapped: pages before them are released.
_WINDOW = 1 << 25


def iter_record_slices(path: Path) -> Generator[tuple[int, int], None, None]:
    """Yield begin and end of each object in the file's list, in bytes; DatasetError if it is truncated.

    One pass in linear time, using 32 MB of the operating system's own pages, or the size of a larger record.
    """
    try:
        with (
            open_regular(path) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            yield from _scan_slices(content, path)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        reason = getattr(error, "strerror", None)
        raise DatasetError(
            f"{path}: {f'cannot be read: {reason}' if reason else 'it is empty'}"
        ) from error


def _scan_slices(content: mmap.mmap, path: Path) -> Iterator[tuple[int, int]]:
    beginning = content[:_SHOWN].removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning[:1] != b"[":
        problem = ", but an object. JSON lines need [ ] around them and commas between"
        problem = (
            problem if beginning[:1] == b"{" else f": {describe_content(beginning)}"
        )
        raise DatasetError(f"{path}: not a JSON list of records{problem}")
    depth = start = freed = 0
    for part in _PARTS.finditer(content):
        change = _DEEPER.get(part[0], 0)
        depth += change
        if change > 0 and depth == _RECORD:
            start = part.start()
        elif change < 0:
            if depth == _LIST:
                yield start, part.end()
                if sys.platform != "win32" and part.end() - freed > _WINDOW:
                    freed = part.end()
                    # releases pages
                    content.madvise(
                        mmap.MADV_DONTNEED, 0, freed - freed % mmap.PAGESIZE
                    )
            if depth == 0:
                if not content[part.end() : part.end() + _SHOWN].strip():
                    return
                after = f"has more data after the end of its list (at byte {part.end():,}). Use one file per list"
                raise DatasetError(f"{path}: {after}")
    raise DatasetError(
        f"{path}: ends in the middle of a record (after byte {start:,}): truncated? Download it again"
    )


# --- The positions of a file's records, kept between runs: scanning the largest file
# takes a minute.

FORMAT = 2
CHEAP = 1 << 30
"""The size in bytes up to which a file's SHA-256 is computed: about two seconds of work."""


class RecordIndexEntry(Struct, frozen=True, array_like=True):
    """The position of a record in its file, with the fields used for selection."""

    id: str
    type: str
    start: int
    """In bytes."""
    end: int
    fault: str = ""
    """Why the record is unreadable (file, record, value), or ""."""
    notes: tuple[str, ...] = ()
    """Warnings about the record, a sentence each."""


class RecordIndex(Struct, frozen=True):
    """All records of a file."""

    entries: tuple[RecordIndexEntry, ...]
    sha256: str
    """The file's SHA-256; "" if it is too large to compute."""


def index_of(path: Path, cache: Path | None = None) -> RecordIndex:
    """Return the index of a file: the one in the folder `cache` if it is still valid, else a new one.

    Raises DatasetError for a truncated file, a malformed record, an unknown type, and duplicate ids.
    """
    try:
        with open_regular(path) as file:
            state = os.fstat(file.fileno())
    except IsADirectoryError as error:
        raise DatasetError(
            f"{path}: is a folder. Name one of its files, such as longmemeval_s_cleaned.json"
        ) from error
    except OSError as error:
        cure = "download it, or make questions with ltm data longmemeval-generate"
        raise DatasetError(
            f"{path}: cannot be read: {error.strerror}. LongMemEval is not shipped: {cure}"
        ) from error
    if cache is None:
        return _scan_records(path)
    stamp = {
        "format": FORMAT,
        "path": str(path.resolve()),
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
    }
    name = hashlib.sha256(
        str(stamp["path"]).encode(errors="surrogatepass")
    ).hexdigest()[:32]
    place = cache / f"{name}.json"
    # an unreadable index, or one of another state of the file, is ignored
    with suppress(
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        msgspec.ValidationError,
    ):
        data = json.loads(read_regular(place))
        if stamp.items() <= data.items():
            return msgspec.convert(data, RecordIndex)
    index = _scan_records(path)
    record = {
        **stamp,
        "sha256": index.sha256,
        "entries": [structs.astuple(entry) for entry in index.entries],
    }
    with suppress(OSError, DiskFault):
        # an unwritable folder costs the cache, not the run
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(record).encode())
    return index


def _scan_records(path: Path) -> RecordIndex:
    entries = []
    with closing(iter_record_slices(path)) as places:
        for number, place in enumerate(places, start=1):
            where = f"{path}: record {number:,} (at byte {place[0]:,})"
            top = Field(parse_json(part_of(path, *place), where), where)
            with faults_of_data():
                fields = fields_of(top, REQUIRED, "record of LongMemEval")
                name = fields["question_id"].text()
                kind = fields["question_type"].text()
            if kind not in TYPES:
                hint = f"{did_you_mean(kind, TYPES)} Known are {', '.join(TYPES)}"
                raise DatasetError(
                    f"{path}: {name}: unknown question_type {kind!r}.{hint}"
                )
            # any other fault costs only this question: all others can be asked
            try:
                record = read_record(structs.replace(top, where=f"{path}: {name}"))
                entries.append(RecordIndexEntry(name, kind, *place, notes=record.notes))
            except DefinitionError as error:
                entries.append(RecordIndexEntry(name, kind, *place, fault=str(error)))
    if not entries:
        raise DatasetError(f"{path}: holds no record: expected a JSON list of objects")
    for name, count in Counter(entry.id for entry in entries).items():
        if count > 1:
            raise DatasetError(
                f"{path}: {count} records have the question_id {name!r}. Rename all but one"
            )
    return RecordIndex(
        tuple(entries), sha256_of(path) if path.stat().st_size <= CHEAP else ""
    )


def iter_list_items(path: Path, kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield place and content of each object or list in a file's JSON list; `kind` names them in errors."""
    with closing(iter_record_slices(path)) as places:
        for number, (start, end) in enumerate(places, start=1):
            where = f"{path}: {kind} {number:,}"
            check_size(end - start, where)
            yield where, part_of(path, start, end)


def part_of(path: Path, start: int, end: int) -> bytes:
    """Return a part of a file; DatasetError if it is unreadable."""
    try:
        with open_regular(path) as file:
            file.seek(start)
            return file.read(end - start)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, which takes a moment for a large one."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# --- Reading LongMemEval files: oracle, S and M, older and cleaned, with one record in
# memory at a time.

KNOWN_FILES: Mapping[str, str] = {
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "longmemeval_s_cleaned.json, as published"
}
"""The published files by SHA-256."""


class LongMemEvalFile:
    """A file of records, of which only the positions are kept in memory.

    `cache`: the folder that keeps the positions between runs; None to scan each time. Raises DatasetError for a
    truncated file, an unknown type, and duplicate ids.
    """

    def __init__(self, path: Path, cache: Path | None = None) -> None:
        self.path = path
        self._index = index_of(path, cache)
        self.entries = self._index.entries
        self.published = KNOWN_FILES.get(self._index.sha256, "")
        """The published file that it equals byte for byte; "" if unknown."""
        self._by_id = {entry.id: entry for entry in self.entries}

    def record(self, question_id: str) -> LongMemEvalRecord:
        """Return one record; DatasetError names file, record and field of a fault."""
        entry = self._by_id.get(question_id)
        if entry is None:
            raise DatasetError(
                f"{self.path}: no record {question_id!r}.{did_you_mean(question_id, self._by_id)}"
            )
        where = f"{self.path}: {question_id}"
        with faults_of_data():
            record = read_record(
                Field(
                    parse_json(part_of(self.path, entry.start, entry.end), where), where
                )
            )
        if record.id != question_id:
            raise DatasetError(
                f"{where}: found the record of {record.id!r} instead: the file has changed"
            )
        return record

    def digest(self, question_id: str) -> str:
        """Return the SHA-256 of one record as written in the file."""
        entry = self._by_id[question_id]
        return hashlib.sha256(part_of(self.path, entry.start, entry.end)).hexdigest()

    def records(self) -> Iterator[LongMemEvalRecord]:
        """Yield all records, one at a time."""
        return (self.record(entry.id) for entry in self.entries)
