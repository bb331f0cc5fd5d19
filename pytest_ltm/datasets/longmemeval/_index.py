"""Where the records of a LongMemEval file stand, remembered between runs: a scan of the largest file takes a minute."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, DefinitionError, did_you_mean
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._record import read_record, record_fields
from pytest_ltm.datasets.longmemeval._schema import TYPES
from pytest_ltm.datasets.longmemeval._slices import slices

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 2
FOLDER = "data-index"
"""Its place in the folder of `--ltm-dir`; it may be deleted at any time."""
CHEAP = 1 << 30
"""Bytes up to which a file's SHA-256 is asked for: about two seconds of work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a record stands in its file, and what it is selected by."""

    id: str
    type: str
    start: int
    """In bytes."""
    end: int
    fault: str = ""
    """Why its record cannot be read: file, record, value; "" if it can."""
    notes: tuple[str, ...] = ()
    """What is odd about it, a sentence each."""


@dataclass(frozen=True, slots=True)
class Index:
    """All records of a file."""

    entries: tuple[Entry, ...]
    sha256: str
    """Of the file; "" for one so large that asking takes long."""


def index_of(path: Path, cache: Path | None = None) -> Index:
    """Return the index of a file: the one in the folder `cache` if the file has not changed since, else a new one.

    Raises DatasetError for a truncated file, a record that is none, an unknown type, and ids that repeat.
    """
    if cache is None:
        return _scanned(path)
    with _opened(path):
        stamp = _stamp(path)
    place = cache / f"{hashlib.sha256(stamp['path'].encode(errors='surrogatepass')).hexdigest()[:32]}.json"
    found = _remembered(place, stamp)
    if found is None:
        found = _scanned(path)
        _remember(place, stamp, found)
    return found


def _stamp(path: Path) -> dict[str, Any]:
    """Return what an unchanged file has in common with itself."""
    state = path.stat()
    return {"format": FORMAT, "path": str(path.resolve()), "size": state.st_size, "mtime_ns": state.st_mtime_ns}


def _remembered(place: Path, stamp: Mapping[str, Any]) -> Index | None:
    """Return what was remembered; whatever cannot be read, and an index of another state of the file, is as none."""
    try:
        found = json.loads(place.read_bytes())
        if {name: found[name] for name in stamp} != stamp:
            return None
        entries = tuple(
            Entry(str(name), str(kind), int(start), int(end), str(fault), tuple(map(str, notes)))
            for name, kind, start, end, fault, notes in found["entries"]
        )
        return Index(entries, str(found["sha256"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _remember(place: Path, stamp: Mapping[str, Any], index: Index) -> None:
    """Keep an index; a folder that cannot be written costs the memory, not the run."""
    record = {**stamp, "sha256": index.sha256, "entries": [astuple(entry) for entry in index.entries]}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", errors="backslashreplace", dir=place.parent, suffix=".new", delete=False
        ) as file:
            file.write(json.dumps(record))
        os.replace(file.name, place)  # noqa: PTH105 - the name is a text
    except OSError:
        return


def _scanned(path: Path) -> Index:
    with _opened(path) as file:
        places = enumerate(slices(path), start=1)
        entries = tuple(_entry(path, number, _read(file, *place), place) for number, place in places)
    if not entries:
        raise DatasetError(f"{path}: holds no record: expected a JSON list of objects")
    for name, count in Counter(entry.id for entry in entries).items():
        if count > 1:
            raise DatasetError(f"{path}: {count} records have the question_id {name!r}. Rename all but one")
    return Index(entries, sha256_of(path) if path.stat().st_size <= CHEAP else "")


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except IsADirectoryError as error:
        raise DatasetError(f"{path}: is a folder. Name one of its files, such as longmemeval_s_cleaned.json") from error
    except OSError as error:
        raise DatasetError(
            f"{path}: cannot be read: {error.strerror}. LongMemEval is not shipped: download it, or make questions "
            "with python -m pytest_ltm longmemeval-generate"
        ) from error


def _read(file: Any, start: int, end: int) -> bytes:
    file.seek(start)
    content: bytes = file.read(end - start)
    return content


def _entry(path: Path, number: int, content: bytes, place: tuple[int, int]) -> Entry:
    """Return the entry of the record of a number, from 1, that stands at a place."""
    where = f"{path}: record {number:,} (at byte {place[0]:,})"
    top = Field(json_of(content, where), where)
    try:
        fields = record_fields(top)
        name, kind = fields["question_id"].text(), fields["question_type"].text()
    except DefinitionError as error:
        raise DatasetError(str(error)) from error
    if kind not in TYPES:
        raise DatasetError(
            f"{path}: {name}: unknown question_type {kind!r}.{did_you_mean(kind, TYPES)} Known are {', '.join(TYPES)}"
        )
    try:
        return Entry(name, kind, *place, notes=read_record(replace(top, where=f"{path}: {name}")).notes)
    except DefinitionError as error:
        return Entry(name, kind, *place, fault=str(error))


def json_of(content: bytes, where: str) -> Any:
    """Return what a record's bytes say; DatasetError if they are no JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {error}") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, which takes a moment for a large one."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
