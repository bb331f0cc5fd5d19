"""Reads files of other benchmarks into declared types: JSON, JSON lines and Parquet, one row at a time.

Errors name file, place and remedy. An unreadable row is reported and left out; a file without any readable row is
refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.interchange import UNREADABLE
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.rows import explain_non_json, read_at_once

T = TypeVar("T")
CURE = "The form that is read is in docs/interchange.md: mend the file, or convert it yourself"
_NAMED = 20
"""The most unreadable rows to report by name; more are counted."""
_MORE = f"{UNREADABLE}and more such rows"


class Foreign(Struct, frozen=True):
    """Base of the types that converters decode; additional fields are ignored."""


@contextmanager
def leaving_out(counts: Counter[str]) -> Iterator[None]:
    """Report an unreadable part of the block as left out, and continue after the block."""
    try:
        yield
    except DatasetError as error:
        named_count = sum(reason.startswith(UNREADABLE) for reason in counts)
        reason = f"{UNREADABLE}{error}"
        counts[reason if reason in counts or named_count < _NAMED else _MORE] += 1


def date_as(text: str, form: str, where: str) -> str:
    """Convert a date or time in a `strptime` format to the interchange's format."""
    try:
        return datetime.strptime(text.strip(), form).isoformat(sep=" ")  # noqa: DTZ007 - the files name no zone
    except ValueError as error:
        example = datetime(2026, 3, 2, 8).strftime(form)  # noqa: DTZ001
        raise DatasetError(
            f"{where}: expected a time such as {example!r}, got {text!r}"
        ) from error


def decode_as(raw: bytes, kind: type[T], where: str) -> T:
    """Decode JSON into a type; DatasetError with the path to a mismatch."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise DatasetError(
            f"{where}: {f'{place[:-1].lstrip(chr(46))}: ' if place else ''}{reason}. {CURE}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{where}: {explain_non_json(raw, error)}") from error


def json_as(path: Path, kind: type[T]) -> T:
    """Decode a JSON file into a type."""
    return decode_as(read_at_once(path), kind, str(path))


def lines_as(
    path: Path, kind: type[T], counts: Counter[str]
) -> Iterator[tuple[str, T]]:
    """Yield place and value of each readable row in a JSON lines or Parquet file."""
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _line_rows(path)
    while True:
        with leaving_out(counts):
            where, raw = next(rows, ("", None))
            if raw is None:
                return
            value = _value_as(raw, kind, where)
            yield where, value


def _line_rows(path: Path) -> Iterator[tuple[str, Any]]:
    for number, _, raw in iter_numbered_lines(path):
        yield f"{path}:{number}", raw


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise DatasetError(
            f"{path}: files of Parquet need pyarrow: pip install 'pytest-ltm[parquet]'"
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=1):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: not a file of Parquet: {error}") from error


def _value_as(raw: Any, kind: type[T], where: str) -> T:
    content = raw if isinstance(raw, bytes) else msgspec.json.encode(raw)
    return decode_as(content, kind, where)


def files_in(paths: Sequence[Path], *patterns: str) -> list[Path]:
    """Return the named files, and the files in named folders that match one of these patterns."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        matches: list[Path] = []
        for pattern in patterns:
            matches += path.rglob(pattern)
        found += sorted(matches)
    if not found:
        raise DatasetError(
            f"{paths[0] if paths else 'no file'}: there is no {' or '.join(patterns)} in it. {CURE}"
        )
    return found


def kind_name(text: str) -> str:
    """Return a published name in a form that is valid in node ids."""
    name = re.sub(r"\W+", "_", text.strip().lower(), flags=re.ASCII).strip("_")
    return name if name[:1].isalpha() else f"kind_{name}"
