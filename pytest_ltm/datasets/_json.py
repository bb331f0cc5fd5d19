"""JSON files of data sets: whatever is no JSON is told with the way out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm._fields import Field

_SHOWN = 40
_FIELDS = 6
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""How files of gzip, zip, bzip2, xz and zstd begin."""


def json_in(raw: bytes, where: str) -> Any:
    """Return the value that a file's content is; DatasetError for what is no JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: {no_json(raw, error)}") from error


def no_json(raw: bytes, error: Exception) -> str:
    """Return a sentence on a content that is no JSON: it is empty, something else, or cut off."""
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
    return f"it begins with {start.decode(errors='replace')!r}. Download the file itself"


def fields_of(top: Field, required: Iterable[str], what: str) -> dict[str, Field]:
    """Return the fields of a record; DefinitionError says which one is missing, and which there are instead.

    `what`: what a record with all of them would be.
    """
    fields = top.mapping()
    for name in required:
        if name not in fields:
            names = ", ".join([*list(fields)[:_FIELDS], *(["..."] if len(fields) > _FIELDS else [])])
            raise top.fault(f"no {what}: the field {name!r} is missing (fields: {names or 'none'}).")
    return fields
