"""Records: frozen data classes as JSON and back, with errors that say where a file is wrong."""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_ltm._errors import LtmError
from pytest_ltm._secrets import written

T = TypeVar("T")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list"}


def json_text(value: object) -> str:
    """Return indented JSON without secrets, which a person can read and which any text writes as UTF-8.

    Equal values give equal text. Raises ValueError for numbers that JSON does not know.
    """
    text = written(value, lambda given: json.dumps(given, indent=1, ensure_ascii=False, allow_nan=False))
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n"


def to_record(value: Any) -> Any:
    """Return the JSON value of a data class of texts, numbers, tuples and data classes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_record(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_record(part) for part in value]
    return value


def from_record(kind: type[T], record: object, where: str) -> T:
    """Return the value of type `kind` that `record` holds; fields that `kind` does not know are ignored.

    Raises LtmError naming `where`, the field and what was expected.
    """
    value: T = _read(kind, record, where)
    return value


def _read(kind: Any, record: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _read_fields(kind, record, where)
    origin = get_origin(kind)
    if origin is Literal:
        if record not in get_args(kind):
            raise _wrong(where, "one of " + ", ".join(map(repr, get_args(kind))), record)
        return record
    if origin in (Union, types.UnionType):
        (inner,) = (part for part in get_args(kind) if part is not type(None))
        return None if record is None else _read(inner, record, where)
    if origin is tuple:
        if not isinstance(record, list):
            raise _wrong(where, _WORDS[tuple], record)
        return tuple(_read(get_args(kind)[0], part, f"{where}[{i}]") for i, part in enumerate(record))
    return _read_scalar(kind, record, where)


def _read_scalar(kind: type, record: object, where: str) -> object:
    if kind is float and isinstance(record, int) and not isinstance(record, bool):
        return float(record)
    if not isinstance(record, kind) or (kind is not bool and isinstance(record, bool)):
        raise _wrong(where, _WORDS[kind], record)
    return record


def _read_fields(kind: Any, record: object, where: str) -> object:
    if not isinstance(record, Mapping):
        raise _wrong(where, "an object", record)
    hints = _hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in record:
            values[field.name] = _read(hints[field.name], record[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise LtmError(f"{where}: no field {field.name!r} (fields: {', '.join(sorted(map(str, record)))})")
    try:
        return kind(**values)
    except ValueError as error:
        raise LtmError(f"{where}: {error}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _wrong(where: str, expected: str, record: object) -> LtmError:
    shown = repr(record)
    return LtmError(f"{where}: expected {expected}, not {shown if len(shown) < 80 else shown[:76] + ' ...'}")  # noqa: PLR2004 - a line
