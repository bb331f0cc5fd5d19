"""Codec: frozen data classes as the lines of a file, and back; what a field may hold is read from its annotation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import shown
from pytest_ltm._storage.secrets import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")


class UnknownFieldError(ValueError):
    """A line has a field that its class does not have."""


def to_line(name: str, fields: Mapping[str, object], *, clean: bool = False) -> str:
    """Return the line of an event with its name first, without secrets; `clean`: it cannot contain any.

    What every line carries beside the fields of its class is added here, and taken away in `from_line`.
    """
    body = {"event": name, **fields}
    text = _compact(body) if clean else written(body, _compact)
    if not text.isascii():  # a lone surrogate, which UTF-8 cannot hold, is an escape in JSON
        text = _LONE_SURROGATE.sub(_escaped, text)
    return text + "\n"


def from_line(line: bytes | str, where: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a line's event and its fields; LtmError that begins with `where` if there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LtmError(f"{where}: not a JSON event: {error}") from error
    name = found.pop("event", None) if isinstance(found, dict) else None
    if not isinstance(name, str):
        raise LtmError(f"{where}: not a JSON event: it does not say which")
    return name, found


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file by their numbers; a torn last one is dropped. LtmError if it cannot be read."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield number, line
    except OSError as error:
        raise LtmError(f"{path}: cannot be read: {error.strerror}") from error


def readable(path: Path, decode: Callable[[bytes, str], T]) -> Iterator[T]:
    """Yield what can be decoded of a file, if there is one; lines that cannot be are left out."""
    if path.is_file():
        for _, line in whole_lines(path):
            with suppress(LtmError):
                yield decode(line, "")


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


# --- fields


class _Shape(NamedTuple):
    """How a class is written and read."""

    values: Callable[[Any], tuple[Any, ...]]
    """Return the values of its fields, in their order."""
    parts: tuple[tuple[str, object, Callable[[Any], Any] | None], ...]
    """Each field, the value that is left out (MISSING: none is), and what makes a JSON value of one that is not."""
    readers: tuple[tuple[str, Callable[[Any], Any]], ...]
    """What makes a JSON value the field's; ValueError if it cannot be."""
    required: frozenset[str]


def to_json(value: Any, *, whole: bool = False) -> dict[str, Any]:
    """Return the fields of a data class in their order; those with their defaults only if the `whole` is wanted."""
    kind: Any = type(value)
    shape = _shape(kind, whole)
    found = {}
    for (name, default, plain), held in zip(shape.parts, shape.values(value)):  # noqa: B905 - called for each event
        if held is not default and held != default:
            found[name] = held if plain is None or held is None else plain(held)
    return found


def from_json(kind: Any, found: Mapping[str, Any], *, whole: bool = False) -> Any:
    """Return the value of a data class that `to_json` wrote.

    Raises ValueError, with the field and what was expected; an UnknownFieldError, which is one, names the field only.
    """
    shape = _shape(kind, whole)
    values = {}
    for name, read in shape.readers:
        if name in found:
            try:
                values[name] = read(found[name])
            except UnknownFieldError:
                raise
            except ValueError as error:
                raise ValueError(f"{name!r} is {shown(found[name])}: {error}") from error
    if not shape.required <= values.keys():
        raise ValueError(f"it has no {min(shape.required - values.keys())!r}")
    if len(values) != len(found):
        raise UnknownFieldError(shown(min(found.keys() - values.keys())))
    return kind(**values)


@cache
def _shape(kind: Any, whole: bool) -> _Shape:
    names, types = tuple(each.name for each in fields(kind)), get_type_hints(kind)
    values = attrgetter(*names)
    defaults = {} if whole else {each.name: each.default for each in fields(kind) if each.default is not MISSING}
    return _Shape(
        values=values if len(names) > 1 else lambda value: (values(value),),
        parts=tuple((name, defaults.get(name, MISSING), _plain(types[name])) for name in names),
        readers=tuple((name, _reader(types[name])) for name in names),
        required=frozenset(names) - defaults.keys(),
    )


def _plain(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes a JSON value of a value of that type; None: it is one."""
    inner = next(part for part in get_args(kind) if part is not type(None)) if isinstance(kind, UnionType) else kind
    if inner is datetime:
        return datetime.isoformat
    return _whole_json if hasattr(inner, "__dataclass_fields__") else None


def _whole_json(value: object) -> dict[str, Any]:
    return to_json(value, whole=True)


def _scalar(what: str, fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def checked(value: object) -> object:
        if not fits(value):
            raise ValueError(f"expected {what}")
        return value

    return checked


def _time(value: object) -> datetime:
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError("expected a time") from None


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    object: lambda value: value,
    str: _scalar("a text", lambda value: type(value) is str),
    int: _scalar("a whole number, 0 or more", lambda value: type(value) is int and value >= 0),
    float: _scalar("a number", lambda value: type(value) in {int, float}),
    bool: _scalar("true or false", lambda value: type(value) is bool),
    datetime: _time,
    Mapping[str, Any]: _scalar("an object", lambda value: type(value) is dict),
}


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what checks a JSON value and makes it one of that type."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if get_origin(kind) is Literal:
        return _scalar("one of " + ", ".join(map(repr, get_args(kind))), get_args(kind).__contains__)
    if isinstance(kind, UnionType):
        (inner,) = (_reader(part) for part in get_args(kind) if part is not type(None))
        return lambda value: None if value is None else inner(value)
    if get_origin(kind) is tuple:
        return _list_reader(*map(_reader, (part for part in get_args(kind) if part is not Ellipsis)))
    is_object = _SCALARS[Mapping[str, Any]]
    return lambda value: from_json(kind, is_object(value), whole=True)


def _list_reader(*parts: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the reader of a list: of any length if its parts are all alike, else of one value for each part."""
    is_list = _scalar("a list", lambda value: type(value) is list)
    if len(parts) == 1:
        return lambda value: tuple(map(parts[0], is_list(value)))

    def read_each(value: Any) -> tuple[Any, ...]:
        if len(is_list(value)) != len(parts):
            raise ValueError(f"expected a list of {len(parts)}")
        return tuple(read_part(part) for read_part, part in zip(parts, value, strict=True))

    return read_each
