"""Detects the program that exported a file: forms are scored by their fields; unknown files are described."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ltm.api.storage import (
    DatasetError,
    load_packaged_yaml,
    open_regular,
    open_text,
)
from pytest_ltm.datasets.converters.message_columns import message_lists
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.record import iter_list_items
from pytest_ltm.datasets.rows import check_size, explain_non_json, read_at_once


class Form(NamedTuple):
    """The form of one program's export; `forms.yml` has them all."""

    name: str
    reader: str
    """The module in this folder whose `read_NAME` reads the format."""
    shapes: Sequence[Sequence[str]]
    """The fields that identify it in a file's objects, one list per version.

    `a.*.b` stands for the field `b` of any item of `a`.
    """


FORMS = tuple(
    Form(name, **fields)
    for name, fields in load_packaged_yaml(__file__, "forms.yml").items()
)
LIST = "list"
"""The name of the fallback form: any list of messages with fields for time, sender and text."""
READERS = {form.name: form.reader for form in FORMS} | {LIST: "messengers"}
LAYOUTS = tuple(READERS)
"""The names of all forms."""
READ = (".json", ".jsonl", ".txt", ".csv", ".html", ".htm")
"""The suffixes of files that may be an export."""
_JSON = re.compile(r"\{|\[\s*[\[{]")
_SAMPLE = 40
"""The number of objects sampled per file."""
_WIDE = 200
"""The number of items sampled per list in an object."""
_ENOUGH = 0.6
_HEAD = 40
_FIGURES = 6
"""The fewest digits of a date with time, such as 1/2/24 9:05, and the number of characters that they are in."""
_DAY_FILE = "*/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json"


class Likeness(NamedTuple):
    """How well a file matches a form."""

    form: str
    found: int
    """The number of the form's fields that the file has."""
    wanted: int
    """The number of the form's fields."""

    @property
    def score(self) -> float:
        """The share of fields that are present."""
        return self.found / self.wanted

    def __str__(self) -> str:
        """Return the match as text for an error."""
        return f"{self.form} ({self.found} of {self.wanted} fields)"


def rank_forms(samples: Iterable[Any]) -> list[Likeness]:
    """Return the forms that share a field with the sampled objects, best match first."""
    objects = list(samples)
    ranked = []
    for form in FORMS:
        fits = []
        for shape in form.shapes:
            found = _count_fields(shape, objects)
            fits.append(Likeness(form.name, found, len(shape)))
        ranked.append(max(fits, key=_rank))
    return sorted((fit for fit in ranked if fit.found), key=_rank, reverse=True)


def _rank(fit: Likeness) -> tuple[float, int]:
    return fit.score, fit.found


def _count_fields(shape: Iterable[str], objects: list[Any]) -> int:
    found = 0
    for field in shape:
        names = field.split(".")
        found += any(_has_field(value, names) for value in objects)
    return found


def _has_field(value: Any, steps: list[str]) -> bool:
    if not steps:
        return True
    if steps[0] == "*":
        items = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(items, list):
            return False
        return any(_has_field(item, steps[1:]) for item in items[:_WIDE])
    if not isinstance(value, dict) or steps[0] not in value:
        return False
    return _has_field(value[steps[0]], steps[1:])


def layout_of(path: Path, counts: Counter[str] | None = None) -> str:
    """Return the form of a file or folder, judging by its content; DatasetError with a remedy for others.

    `counts` gets a note if the form matches only in part.
    """
    if path.is_dir():
        return _layout_of_folder(path)
    samples = _samples_of(path)
    ranked = rank_forms(samples)
    if not ranked or ranked[0].score < _ENOUGH:
        return _layout_of_unknown(path, samples, ranked, counts)
    best = ranked[0]
    if len(ranked) > 1 and _rank(ranked[1]) == _rank(best):
        raise DatasetError(
            f"{path}: it may be an export of {best} or of {ranked[1]}. Say which: "
            f"ltm data convert {best.form} or {ranked[1].form}"
        )
    if counts is not None and best.score < 1:
        counts[f"guessed: the form, which is that of {best} at best"] += 1
    return best.form


def _layout_of_unknown(
    path: Path, samples: list[Any], ranked: list[Likeness], counts: Counter[str] | None
) -> str:
    """Return the fallback form for a list of messages; DatasetError for other content."""
    if next(message_lists(samples), None) is None:
        raise DatasetError(_unknown_form(path, ranked))
    if counts is not None:
        counts[
            "guessed: which fields are time, sender and text, of a form that is not known"
        ] += 1
    return LIST


def _unknown_form(path: Path, ranked: list[Likeness]) -> str:
    near = " or ".join(map(str, ranked[:2]))
    closest = f" It is closest to {near}." if near else ""
    return (
        f"{path}: no known export: {describe_file(path)}.{closest} "
        f"If it is one of these, say so: ltm data convert {' | '.join(LAYOUTS)}; "
        "else write it as sessions: docs/logs.md"
    )


def _layout_of_folder(path: Path) -> str:
    if any(path.glob(_DAY_FILE)):
        return "slack"
    files = _readable_files(path)
    fits: list[Likeness] = []
    for file in files:
        fits += _ranked_if_readable(file)[:1]
    best = max(fits, key=_rank, default=None)
    if best is None or best.score < _ENOUGH:
        if any(next(message_lists(_samples_of(file)), None) for file in files):
            return LIST
        first = f" {_unknown_form(files[0], [])}" if files else ""
        raise DatasetError(
            f"{path}: there is no export of a chat in it.{first or ' Name the file or folder that holds it'}"
        )
    return best.form


def _readable_files(path: Path) -> list[Path]:
    files = []
    for file in path.rglob("*"):
        if file.suffix.lower() in READ and file.is_file():
            files.append(file)
    return sorted(files)


def _ranked_if_readable(path: Path) -> list[Likeness]:
    try:
        return rank_forms(_samples_of(path))
    except DatasetError:
        return []


def export_files(path: Path, layout: str, counts: Counter[str]) -> list[Path]:
    """Return the files of a folder that have a form, or the file itself."""
    if not path.is_dir():
        return [path]
    files = _readable_files(path)
    found = []
    for file in files:
        ranked = _ranked_if_readable(file)
        if ranked and ranked[0].form == layout and ranked[0].score >= _ENOUGH:
            found.append(file)
    counts["left out: files of a folder in another form"] += len(files) - len(found)
    if not found:
        raise DatasetError(f"{path}: no file in it has the form of {layout}")
    return found


# --- The content of a file.


def _samples_of(path: Path) -> list[Any]:
    """Return the first objects of a file: JSON values, table rows, or parts of a page or text."""
    if path.suffix.lower() not in READ:
        return []
    if path.suffix.lower() in {".html", ".htm"}:
        classes = re.findall(r'class="([^"]*)"', _start_of(path, 200_000))
        names = chain.from_iterable(map(str.split, classes))
        return [{f"class {name}": 1 for name in names}]
    if path.suffix.lower() == ".txt" and not _JSON.match(_start_of(path)):
        lines = _start_of(path).splitlines()
        if lines and not any(map(_is_dated, lines)):
            return []
        return [{"line with a date and a time": 1}]
    return [value for _, value in iter_objects(path, limit=_SAMPLE)]


def _is_dated(line: str) -> bool:
    """Return whether a line begins with as many digits, in any script, as a date with time has."""
    return sum(map(str.isdigit, line[:_HEAD])) >= _FIGURES


def _start_of(path: Path, size: int = 4096) -> str:
    try:
        with open_regular(path) as file:
            start = file.read(size)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    return start.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").lstrip()


def describe_file(path: Path) -> str:
    """Describe a file's content in a few words."""
    suffix = path.suffix.lower()
    if suffix not in READ:
        return f"files that end in {suffix or 'nothing'} are not read"
    if suffix in {".html", ".htm"}:
        return "it is a web page; most programs export JSON, too"
    samples = _samples_of(path)
    start = "" if samples else _start_of(path)
    if start:
        begins = start.partition("\n")[0][:_HEAD]
        return (
            f"it is a text that begins with {begins!r}; no line has a date and a time"
        )
    if not samples:
        return "it is empty"
    return f"it has objects with {describe_value(samples[0])}"


def describe_value(value: Any, depth: int = 2) -> str:
    """Describe the fields of a value, and those of the lists in it."""
    if isinstance(value, list):
        inner = describe_value(value[0], depth) if value else "nothing"
        return f"a list of {len(value):,} ({inner})"
    if not isinstance(value, dict):
        return type(value).__name__
    names = list(value)
    parts = []
    for name in names[:_SHOWN]:
        nested = isinstance(value[name], dict | list) and depth > 0
        inner = f" ({describe_value(value[name], depth - 1)})" if nested else ""
        parts.append(f"{name}{inner}")
    more = ", ..." if len(names) > _SHOWN else ""
    if parts:
        return f"the fields {', '.join(parts)}{more}"
    return "no field"


_SHOWN = 8


def iter_objects(
    path: Path, counts: Counter[str] | None = None, *, limit: int | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each object: in a JSON list of any size, JSON lines, a table, or a whole file.

    `counts` collects duplicate keys.
    """
    clashes = Counter[str]() if counts is None else counts
    if path.suffix.lower() == ".csv":
        yield from islice(_table_rows(path), limit)
        return
    start = _start_of(path)
    if start.startswith("["):
        for where, raw in islice(iter_list_items(path, "conversation"), limit):
            yield where, _decode(raw, where, clashes)
    elif path.suffix.lower() == ".jsonl" or _is_first_of_lines(path):
        for number, _, raw in islice(iter_numbered_lines(path), limit):
            yield f"{path}:{number}", _decode(raw, f"{path}:{number}", clashes)
    else:
        yield str(path), _decode(read_at_once(path), str(path), clashes)


def _is_first_of_lines(path: Path) -> bool:
    """Return whether the first line of a file is an object that is followed by another line."""
    lines = [raw for _, _, raw in islice(iter_numbered_lines(path), 2)]
    if len(lines) < 2:
        return False
    try:
        return isinstance(json.loads(lines[0]), dict)
    except (ValueError, RecursionError):
        return False


def _decode(raw: bytes, where: str, clashes: Counter[str]) -> Any:
    """Decode JSON; for a duplicate key, the last non-empty value counts."""

    def take_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if name in fields and fields[name] != value:
                clashes["guessed: duplicate keys; the last value counts"] += 1
                if value in (None, "", [], {}):
                    continue
            fields[name] = value
        return fields

    try:
        return json.loads(
            raw.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=take_pairs
        )
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: {explain_non_json(raw, error)}") from error


def _table_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        check_size(path.stat().st_size, str(path))
        with open_text(path, "utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            # the separator that the header contains most often
            rows = csv.DictReader(file, delimiter=max(",;\t|", key=head.count))
            for number, row in enumerate(rows, start=2):
                yield f"{path}:{number}", row
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{path}: no table of comma-separated values in UTF-8: {error}"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
