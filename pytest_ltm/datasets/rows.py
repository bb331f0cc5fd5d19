"""Reads files of rows, one JSON object per line, plain or gzipped; errors name file and line."""

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

# Larger numbers are meaningless, and some cannot even be printed.
_LARGEST = 10**100


def values_within(value: Any) -> Iterator[Any]:
    """Yield the values in a JSON value that are neither lists nor objects, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from values_within(part)
    else:
        yield value


def read_json_rows(
    path: Path, required: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (`file:line`) and value of each row; DatasetError for a malformed or incomplete one."""
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


# --- JSON files of data sets: errors for other content include a remedy.

# Bytes of a file, and fields of a record, that an error shows.
_MOST_BYTES = 40
_MOST_FIELDS = 6
# The magic numbers of gzip, zip, bzip2, xz and zstd.
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


def parse_json(raw: bytes, where: str) -> Any:
    """Parse JSON; DatasetError for any other content."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: {explain_non_json(raw, error)}") from error


AT_ONCE = 100_000_000
"""The most bytes of a file, or of a part, to hold in memory as a whole."""


def read_at_once(path: Path) -> bytes:
    """Return the content of a file; DatasetError if it is unreadable or too large."""
    try:
        check_size(path.stat().st_size, str(path))
        return read_regular(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def load_json(path: Path) -> Any:
    """Return the value of a JSON file; DatasetError if it is unreadable, not JSON, or too large."""
    return parse_json(read_at_once(path), str(path))


def check_size(size: int, where: str) -> None:
    """Raise DatasetError for a size that should not be held in memory as a whole."""
    if size > AT_ONCE:
        raise DatasetError(
            f"{where}: has {size:,} bytes, and at most {AT_ONCE:,} are read at once. Split it up"
        )


def explain_non_json(raw: bytes, error: Exception) -> str:
    """Return a sentence on content that is not JSON: it is empty, something else, or truncated."""
    start = raw.lstrip()[:_MOST_BYTES]
    if not start:
        return "it is empty. Download it again"
    if start[:1] not in {b"[", b"{"}:
        return f"not JSON: {describe_content(start)}"
    return f"not JSON: {error}. Truncated? Download it again"


def describe_content(start: bytes) -> str:
    """Describe a file whose first bytes are not JSON, and the remedy."""
    if start.startswith(_PACKED):
        return "it is compressed. Unpack it first"
    return (
        f"it begins with {start.decode(errors='replace')!r}. Download the file itself"
    )


def fields_of(top: Field, required: Iterable[str], kind: str) -> dict[str, Field]:
    """Return the fields of a record; DefinitionError names the missing one, and those present instead.

    `kind`: what a complete record would be.
    """
    fields = top.mapping()
    for name in required:
        if name not in fields:
            names = ", ".join(list(fields)[:_MOST_FIELDS]) or "none"
            if len(fields) > _MOST_FIELDS:
                names += ", ..."
            raise top.fault(
                f"no {kind}: the field {name!r} is missing (fields: {names})."
            )
    return fields


def text_or_number(item: Field, *, empty: bool = True) -> str:
    """Return a field with a text or a number below 10^100 as text; `empty`: whether it may be blank."""
    value = item.value
    if isinstance(value, str):
        is_valid = empty or bool(value.strip())
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_valid = is_number and abs(value) < _LARGEST
    if not is_valid:
        raise item.error("a text or a number")
    return str(value)


@contextmanager
def faults_of_data() -> Iterator[None]:
    """Convert field errors to a DatasetError."""
    try:
        yield
    except DefinitionError as error:
        raise DatasetError(str(error)) from error


def by_unique_label(by_id: Mapping[str, T], *, ids: str, way_out: str) -> dict[str, T]:
    """Return a data set's items by label instead of id; DatasetError, with a remedy, for duplicate labels.

    `ids`: the data set's term for them.
    """
    ids_by_label: dict[str, str] = {}
    by_label: dict[str, T] = {}
    for id_, item in by_id.items():
        label = label_of(id_)
        if label in by_label:
            conflict = f"the {ids} {ids_by_label[label]!r} and {id_!r} both become {label!r} in node ids"
            raise DatasetError(f"{conflict}. {way_out}")
        ids_by_label[label] = id_
        by_label[label] = item
    return by_label
