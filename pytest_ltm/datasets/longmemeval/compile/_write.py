"""Writing records as one JSON list, each as soon as it is made."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write(path: Path, records: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Write the records to a file, which appears when all are in it; return how many, and how many bytes.

    Raises DatasetError for what cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            number = 0
            for number, record in enumerate(records, start=1):
                file.write("[\n" if number == 1 else ",\n")
                file.write(json.dumps(record, ensure_ascii=False))
            file.write("\n]\n" if number else "[]\n")
        size = part.stat().st_size
        os.replace(part, path)  # noqa: PTH105 - Path.replace is the same call
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return number, size
