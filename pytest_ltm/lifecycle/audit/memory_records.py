"""Reads the contents of a memory from files of common kinds, as rows of named values."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.api.storage import ConfigurationError, open_regular, read_regular

# For pytest: the message has everything that is wrong with the file.
__tracebackhide__ = True

SUFFIXES = (".json", ".jsonl", ".csv", ".md", ".txt", ".db", ".sqlite", ".sqlite3")
_DATABASES = SUFFIXES[-3:]
# The only field of rows that come from a list of plain texts.
TEXT = "text"
_ITEM = re.compile(r"^\s{0,12}(?:[-*+]|\d{1,4}[.)])\s+")
_HEADING = re.compile(r"^#{1,6}\s")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)

Row = Mapping[str, Any]


class Dump(Struct, frozen=True):
    """The rows of a memory with their locations."""

    name: str
    rows: Sequence[Row]
    """Nested objects are flattened, as in `metadata.user`."""
    places: Sequence[str]
    """The location of each row, for readers who look it up."""


def read_dump(path: Path) -> Dump:
    """Read the records of a file, or of all files of known kinds in a folder (links are not followed).

    ConfigurationError if there is none, or if a file is unreadable.
    """
    if not path.is_dir():
        return _read_file(path)
    rows: list[Row] = []
    places: list[str] = []
    for file in sorted(path.rglob("*")):
        is_own = file.is_file() and not file.is_symlink()
        if is_own and file.suffix.lower() in SUFFIXES:
            dump = _read_file(file)
            rows += dump.rows
            name = file.relative_to(path).as_posix()
            places += (f"{name}: {place}" for place in dump.places)
    if not rows:
        raise ConfigurationError(
            f"{path}: no memories in this folder. Files of these kinds are read: {', '.join(SUFFIXES)}"
        )
    return Dump(path.name, rows, places)


def _read_file(path: Path) -> Dump:
    suffix = path.suffix.lower()
    if suffix in _DATABASES:
        pairs = _rows_of_database(path)
    else:
        text = _decode(path)
        if suffix == ".csv":
            pairs = _rows_of_csv(text, path)
        elif suffix == ".jsonl":
            pairs = _rows_of_lines(text, path)
        elif suffix == ".json":
            pairs = _rows_of_json(text, path)
        else:
            pairs = _rows_of_prose(text)
    listed = list(pairs)
    if not listed:
        raise ConfigurationError(f"{path}: no memories in this file")
    places = [place for place, _ in listed]
    return Dump(path.name, [row for _, row in listed], places)


def _decode(path: Path) -> str:
    try:
        return read_regular(path).decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}: byte {error.start:,} is not UTF-8. Save the file as UTF-8"
        ) from None


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"{path}: {error.strerror or type(error).__name__}")


def _rows_of_csv(text: str, path: Path) -> Iterator[tuple[str, Row]]:
    reader = csv.DictReader(io.StringIO(text))
    try:
        for row in reader:
            yield (
                f"line {reader.line_num}",
                {name: value for name, value in row.items() if name and value},
            )
    except csv.Error as error:
        raise ConfigurationError(
            f"{path}, line {reader.line_num}: not CSV: {error}"
        ) from None


def _rows_of_lines(text: str, path: Path) -> Iterator[tuple[str, Row]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"line {number}", _row_of(_parse_json(line, f"{path}, line {number}"))


def _rows_of_json(text: str, path: Path) -> Iterator[tuple[str, Row]]:
    dump = dump_of_value(path.name, _parse_json(text, str(path)))
    yield from zip(dump.places, dump.rows, strict=True)


def dump_of_value(name: str, value: Any) -> Dump:
    """Return the records in a JSON value, from its longest list of objects or texts; empty without one."""
    keys, values = _largest_list(value)
    return Dump(name, [_row_of(member) for member in values], list(keys))


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: not JSON: {error}") from None


def _largest_list(value: Any) -> tuple[Sequence[str], Sequence[Any]]:
    """Return the longest list of objects or texts at any depth, or object of objects, with its keys."""
    best: tuple[Sequence[str], Sequence[Any]] = ((), ())
    waiting = [("", value)]
    while waiting:
        place, inner = waiting.pop()
        if isinstance(inner, list):
            keys = [f"{place}[{number}]" for number in range(len(inner))]
            members = inner
        elif isinstance(inner, dict):
            keys = [f"{place}.{key}".lstrip(".") for key in inner]
            members = list(inner.values())
        else:
            continue
        waiting += zip(keys, members, strict=True)
        is_table = all(isinstance(member, dict) for member in members)
        are_strings = all(isinstance(member, str) for member in members)
        is_texts = isinstance(inner, list) and are_strings
        # an object's own fields are records only if each of them is an object
        if (is_table or is_texts) and len(members) > len(best[1]):
            best = keys, members
    return best


def _row_of(value: Any) -> Row:
    """Return an object with nested objects flattened; any other value as a row with one field."""
    if not isinstance(value, dict):
        return {TEXT: value}
    row: dict[str, Any] = {}
    waiting = [(str(name), inner) for name, inner in value.items()]
    while waiting:
        name, inner = waiting.pop(0)
        if isinstance(inner, dict):
            waiting += [(f"{name}.{key}", part) for key, part in inner.items()]
        elif inner is not None:
            row[name] = inner
    return row


def _rows_of_database(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of the database table with the most prose."""
    try:
        open_regular(path).close()
    except OSError as error:
        raise _unreadable(path, error) from None
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        tables = {name: _rows_of_table(connection, name) for (name,) in names}
    except sqlite3.Error as error:
        raise ConfigurationError(f"{path}: not a SQLite database: {error}") from None
    finally:
        connection.close()
    if tables:
        name = max(tables, key=lambda table: _count_words(tables[table]))
        for number, row in enumerate(tables[name], 1):
            yield f"{name}, row {number}", row


def _rows_of_table(connection: sqlite3.Connection, name: str) -> list[Row]:
    quoted = name.replace('"', '""')
    rows = connection.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 - a name of the file's own, quoted
    records: list[Row] = []
    for row in rows:
        pairs = zip(row.keys(), row, strict=True)
        records.append({column: value for column, value in pairs if value is not None})
    return records


def _count_words(rows: Sequence[Row]) -> int:
    values = chain.from_iterable(row.values() for row in rows)
    return sum(value.count(" ") for value in values if isinstance(value, str))


def _rows_of_prose(text: str) -> Iterator[tuple[str, Row]]:
    """Yield list items and the paragraphs between them; front matter applies to all of them."""
    shared: dict[str, Any] = {}
    first_line = 1
    if front := _FRONT_MATTER.match(text):
        first_line += front.group().count("\n")
        text = text[front.end() :]
        for line in front.group(1).splitlines():
            name, colon, value = line.partition(":")
            if colon and value.strip():
                shared[name.strip()] = value.strip().strip("\"'")
    block_start = first_line
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], first_line):
        ends = not line.strip() or _ITEM.match(line) or _HEADING.match(line)
        if ends and block:
            yield f"line {block_start}", {**shared, TEXT: " ".join(block)}
            block = []
        if line.strip() and not _HEADING.match(line):
            if not block:
                block_start = number
            block.append(_ITEM.sub("", line).strip())
