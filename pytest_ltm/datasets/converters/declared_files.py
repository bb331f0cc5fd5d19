"""Files of others, read as the types that a converter declares; what does not fit names file, place and way out."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import check_size, no_json
from pytest_ltm.datasets._interchange import Turn
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.record import iter_record_slices, part_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")
_CURE = "The form that is read is in docs/interchange.md: mend the file, or convert it yourself"


class Foreign(Struct, frozen=True):
    """A base of what converters read: further fields are ignored."""


class ForeignMessage(Foreign, frozen=True):
    """What a user or an assistant says, in the form that most files have."""

    role: str
    content: str

    def turn(self, counts: Counter[str], cut: re.Pattern[str] | None = None, why: str = "") -> Turn:
        """Return it as a turn, without what a pattern finds, which is counted: `why` says what that is."""
        text = cut.sub("", self.content) if cut else self.content
        counts[why] += text != self.content
        return Turn(role="assistant" if self.role == "assistant" else "user", content=text or "(nothing)")


def date_as(text: str, form: str, where: str) -> str:
    """Return a date or time of a form of `strptime` as the interchange writes it."""
    try:
        return datetime.strptime(text.strip(), form).isoformat(sep=" ")  # noqa: DTZ007 - the files name no zone
    except ValueError as error:
        example = datetime(2026, 3, 2, 8).strftime(form)  # noqa: DTZ001
        raise DatasetError(f"{where}: expected a time such as {example!r}, got {text!r}") from error


def decode_as(raw: bytes, kind: type[T], where: str) -> T:
    """Return a JSON value as a type; DatasetError, with the way to what does not fit."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise DatasetError(f"{where}: {f'{place[:-1].lstrip(chr(46))}: ' if place else ''}{reason}. {_CURE}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{where}: {no_json(raw, error)}") from error


def json_as(path: Path, kind: type[T]) -> T:
    """Return what a JSON file holds."""
    try:
        check_size(path.stat().st_size, str(path))
        return decode_as(path.read_bytes(), kind, str(path))
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def lines_as(path: Path, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield place and value of each line of a file of JSON lines."""
    for number, _, raw in iter_numbered_lines(path):
        yield f"{path}:{number}", decode_as(raw, kind, f"{path}:{number}")


def iter_items(path: Path, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield place and content of each object or list in the JSON list of a file; `what`: what errors call one."""
    with closing(iter_record_slices(path)) as places:
        for number, (start, end) in enumerate(places, start=1):
            where = f"{path}: {what} {number:,}"
            check_size(end - start, where)
            yield where, part_of(path, start, end)


def files_in(paths: Sequence[Path], *patterns: str) -> list[Path]:
    """Return the files that are named, or that stand in named folders under one of these patterns."""
    found = [
        file
        for path in paths
        for file in (sorted(one for each in patterns for one in path.rglob(each)) if path.is_dir() else [path])
    ]
    if not found:
        raise DatasetError(f"{paths[0] if paths else 'no file'}: there is no {' or '.join(patterns)} in it. {_CURE}")
    return found


def kind_name(text: str) -> str:
    """Return a published name as one that may stand in node ids."""
    name = re.sub(r"\W+", "_", text.strip().lower(), flags=re.ASCII).strip("_")
    return name if name[:1].isalpha() else f"kind_{name}"


def as_texts(value: Any) -> tuple[str, ...]:
    """Return a text or number, or a list of them, as texts."""
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
