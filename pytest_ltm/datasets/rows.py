"""Reading files of rows, one JSON object a line, plain or gzipped; what is wrong names file and line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from pytest_ltm.api.scenarios import label_of
from pytest_ltm.api.storage import (
    DatasetError,
    DefinitionError,
    Field,
    did_you_mean,
    open_regular,
    open_text,
    read_regular,
)

T = TypeVar("T")

# Larger numbers stand for nothing; some of them cannot even be written.
_LARGEST = 10**100


def read_json_rows(
    path: Path, required: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands (`file:line`) and the row; DatasetError for one that is none or lacks a field."""
    try:
        with _open_rows(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{path}:{number}"
                    yield where, _parse_json_row(line, where, required)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"{path}: cannot be read: {reason}") from error


@contextmanager
def _open_rows(path: Path) -> Iterator[TextIO]:
    if path.suffix != ".gz":
        with open_text(path) as lines:
            yield lines
        return
    with (
        open_regular(path) as packed,
        gzip.open(packed, "rt", encoding="utf-8") as lines,
    ):
        yield lines


def _parse_json_row(line: str, where: str, required: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise DatasetError(
            f"{where}: expected an object with the fields {', '.join(required)}, got {line.strip()[:60]}"
        )
    for name in required:
        if name not in row:
            raise DatasetError(
                f"{where}: the field {name!r} is missing.{did_you_mean(name, row)}"
            )
    return row


# --- JSON files of data sets: errors for anything but JSON name the way out.

_SHOWN = 40
_FIELDS = 6
# How files of gzip, zip, bzip2, xz and zstd begin.
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


def json_in(raw: bytes, where: str) -> Any:
    """Return the value that a file's content is; DatasetError for anything that is not JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: {no_json(raw, error)}") from error


AT_ONCE = 100_000_000
"""Bytes that a file, or a part of one, may have that is in memory as a whole."""


def read_at_once(path: Path) -> bytes:
    """Return the content of a file; DatasetError if it cannot be read, or is too large."""
    try:
        check_size(path.stat().st_size, str(path))
        return read_regular(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def json_of(path: Path) -> Any:
    """Return the value of a JSON file; DatasetError if it cannot be read, is not JSON, or too large."""
    return json_in(read_at_once(path), str(path))


def check_size(size: int, where: str) -> None:
    """Raise DatasetError for so many bytes that they should not be in memory as a whole."""
    if size > AT_ONCE:
        raise DatasetError(
            f"{where}: has {size:,} bytes, and at most {AT_ONCE:,} are read at once. Split it up"
        )


def no_json(raw: bytes, error: Exception) -> str:
    """Return a sentence on a content that is not JSON: it is empty, something else, or cut off."""
    start = raw.lstrip()[:_SHOWN]
    if not start:
        return "it is empty. Download it again"
    if start[:1] not in {b"[", b"{"}:
        return f"not JSON: {no_list(start)}"
    return f"not JSON: {error}. Truncated? Download it again"


def no_list(start: bytes) -> str:
    """Return what a file is that begins with these bytes, which begin no JSON, and the way out."""
    if start.startswith(_PACKED):
        return "it is compressed. Unpack it first"
    return (
        f"it begins with {start.decode(errors='replace')!r}. Download the file itself"
    )


def fields_of(top: Field, required: Iterable[str], kind: str) -> dict[str, Field]:
    """Return the fields of a record; DefinitionError says which one is missing, and which there are instead.

    `kind`: what a record with all of them would be.
    """
    fields = top.mapping()
    for name in required:
        if name not in fields:
            names = ", ".join(
                [*list(fields)[:_FIELDS], *(["..."] if len(fields) > _FIELDS else [])]
            )
            raise top.fault(
                f"no {kind}: the field {name!r} is missing (fields: {names or 'none'})."
            )
    return fields


def text_or_number(item: Field, *, empty: bool = True) -> str:
    """Return the text of a field that may hold a number below 10^100; `empty`: whether it may be blank."""
    value = item.value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (number and abs(value) < _LARGEST) or (
        isinstance(value, str) and (empty or value.strip())
    ):
        return str(value)
    raise item.error("a text or a number")


@contextmanager
def faults_of_data() -> Iterator[None]:
    """Make what is wrong with a field a DatasetError."""
    try:
        yield
    except DefinitionError as error:
        raise DatasetError(str(error)) from error


def by_unique_label(by_id: Mapping[str, T], *, ids: str, way_out: str) -> dict[str, T]:
    """Return what a data set holds by label, not by id; DatasetError, with the way out, where two have one label.

    `ids`: what the data set calls them.
    """
    labels: dict[str, str] = {}
    for name in by_id:
        label = label_of(name)
        first_name = labels.setdefault(label_of(name), name)
        if first_name != name:
            alike = f"the {ids} {first_name!r} and {name!r} both become {label!r} in node ids"
            raise DatasetError(f"{alike}. {way_out}")
    return {label: by_id[name] for label, name in labels.items()}
