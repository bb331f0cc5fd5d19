"""Published files: results and definitions, one JSON object a line, or folders with a file for each example."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError
from pytest_ltm._published._rows import MAIN, Names, Row, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_RESULT = ("benchmark", "agent", "dataset", "example_id", "score", "max_score")
"""The fields of a line that is a result."""
_DEFINITION = ("path", "script")
"""The fields of a line that is a definition."""
_FOLDERS = 4
"""`results/<agent>/<data set>/<example>_<repetition>.json`, in a benchmark's folder."""
_LEFT_OUT = re.compile(r"((?:Test|System) \([^)]*\): )@script\[(\d+)\]")
"""Stands in a collected transcript for a message that the definition holds."""


@dataclass(frozen=True, slots=True)
class _Record:
    """One result as it stands in a file."""

    where: str
    names: Names
    fields: Mapping[str, Any]


def read(paths: Iterable[Path]) -> list[Row]:
    """Return the results in files and folders; DatasetError names file, line and what is wrong.

    Messages that a collection left out are taken from definitions, if those are among the files.
    """
    records: list[_Record] = []
    scripts: dict[str, list[str]] = {}
    for path in paths:
        for file in _in_folder(path) if path.is_dir() else [path]:
            if file.suffix == ".json":
                records.append(_result_file(file))
            else:
                _collection(file, records, scripts, named=file == path)
    if not records:
        raise DatasetError("no published results were found. Name .jsonl or .jsonl.gz files, or a folder of results")
    return [row_of(_complete(each.fields, scripts), each.names, each.where) for each in records]


def _in_folder(path: Path) -> Iterator[Path]:
    for file in sorted(path.rglob("*")):
        collected = file.name.endswith((".jsonl", ".jsonl.gz")) and _RESULTS not in file.parts
        if collected or (file.suffix == ".json" and _is_result(file)):
            yield file


# --- collections: one JSON object a line


def _collection(file: Path, records: list[_Record], scripts: dict[str, list[str]], *, named: bool) -> None:
    """Add the results and definitions of a file; one that holds neither is an error only if it was `named`."""
    for number, line in enumerate(_lines(file), start=1):
        where = f"{file}, line {number}"
        record = _object(line, where)
        if all(name in record for name in _RESULT):
            records.append(_Record(where, _names(record, where), record))
        elif all(name in record for name in _DEFINITION) and isinstance(record["script"], list):
            scripts[str(record["path"])] = [str(message) for message in record["script"]]
        elif named:
            fields = ", ".join(name for name in _RESULT if name not in record)
            raise DatasetError(f"{where}: not a published result: no {fields} (fields: {', '.join(sorted(record))})")
        else:
            return


def _names(record: Mapping[str, Any], where: str) -> Names:
    for name in _RESULT[:4]:
        if not isinstance(record[name], str) or not record[name]:
            raise DatasetError(f"{where}: {name} is {record[name]!r}, not a name")
    repetition = record.get("repetition") or 0
    if not isinstance(repetition, int):
        raise DatasetError(f"{where}: repetition is {repetition!r}, not a number")
    return Names(
        benchmark=record["benchmark"],
        agent=record["agent"],
        dataset=record["dataset"],
        example=record["example_id"],
        repetition=repetition,
        ref=str(record.get("ref") or MAIN),
    )


def _complete(record: Mapping[str, Any], scripts: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """Return a record with the messages that its transcript left out, and with what is missing named so."""
    script = record.get("script") or scripts.get(str(record.get("definition"))) or []

    def message(found: re.Match[str]) -> str:
        place = int(found[2])
        return found[1] + (script[place] if place < len(script) else f"(message {place + 1} of its script is missing)")

    log = [_LEFT_OUT.sub(message, line) if isinstance(line, str) else line for line in record.get("task_log") or []]
    return {**record, "task_log": log, "script": script}


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return [line for line in text.decode("utf-8").split("\n") if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}. Name published results, .jsonl or .jsonl.gz") from error


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DatasetError(f"{where}: expected an object, not {str(record)[:80]!r}")
    return record


# --- folders: one file an example

_RESULTS = "results"


def _is_result(file: Path) -> bool:
    parts = file.resolve().parts
    return len(parts) > _FOLDERS and parts[-_FOLDERS] == _RESULTS


def _result_file(file: Path) -> _Record:
    if not _is_result(file):
        raise DatasetError(
            f"{file}: a result is named by its path, <benchmark>/results/<agent>/<data set>/<example>_<repetition>.json"
        )
    benchmark, _, agent, dataset = file.resolve().parts[-_FOLDERS - 1 : -1]
    example, _, repetition = file.stem.rpartition("_")
    try:
        record = _object(file.read_text(encoding="utf-8"), str(file))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{file}: cannot be read: {error}") from error
    numbered = bool(example) and repetition.isdecimal()
    names = Names(
        benchmark=benchmark,
        agent=agent,
        dataset=dataset,
        example=example if numbered else file.stem,
        repetition=int(repetition) if numbered else 0,
    )
    return _Record(str(file), names, record)
