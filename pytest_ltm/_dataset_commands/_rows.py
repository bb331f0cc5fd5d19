"""Reading files of rows, one JSON object a line, plain or gzipped; what is wrong names file and line."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def rows(path: Path, required: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands (`file:line`) and the row; DatasetError for one that is none or lacks a field."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{path}:{number}"
                    yield where, _row(line, where, required)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"{path}: cannot be read: {reason}") from error


def _row(line: str, where: str, required: Sequence[str]) -> dict[str, Any]:
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
            raise DatasetError(f"{where}: the field {name!r} is missing.{did_you_mean(name, row)}")
    return row
