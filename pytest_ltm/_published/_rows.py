"""Published result files: one JSON object a line, or a file an example in folders of benchmark, agent and data set."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

MAIN = "main"
"""The branch that others correct."""
_RESULTS = "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The verdict before it was corrected, as far as it was published."""

    score: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published result."""

    ref: str
    """The branch or version that it was published in."""
    benchmark: str
    agent: str
    dataset: str
    example: str
    """With the repetition behind it, where it is not the first."""
    score: float
    """The share of full marks, 0 to 1."""
    span: int | None
    """Tokens from its start to its end, as measured."""
    manual: bool = False
    """Corrected by hand."""
    before: Before | None = None
    """The verdict of the rules, where it was published beside the corrected one."""
    reason: str = ""
    code: str = ""
    """The version of the code that scored it, where known."""
    log: tuple[str, ...] = ()
    """Its transcript, `Test (time): …` and `Agent (time): …`; empty where none is published."""
    questions: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    script: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the result, whatever the branch."""
        return self.benchmark, self.agent, self.dataset, self.example


def read(paths: Iterable[Path]) -> list[Row]:
    """Return the results in files and folders; DatasetError names file, line and what is wrong."""
    rows = [row for path in paths for row in (_folder(path) if path.is_dir() else _file(path))]
    if not rows:
        raise DatasetError("no published results were found: name .jsonl files or a folder of result files")
    return rows


def merged(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each result: scores of other branches replace those of `main`, transcripts are kept.

    The order is that of the keys, so that the order of the files changes nothing.
    """
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in sorted(rows, key=lambda row: (*row.key, row.ref != MAIN, row.ref, bool(row.log))):
        found[row.key] = _laid_over(row, found[row.key]) if row.key in found else row
    return list(found.values())


def _laid_over(row: Row, below: Row) -> Row:
    before = row.before
    if row.manual and before is None and below.score != row.score and not below.manual:
        before = Before(score=below.score, reason=below.reason)
    if row.log or not below.log:
        return replace(row, before=before)
    same = below.score == row.score
    return replace(
        row,
        before=before,
        reason=row.reason or (below.reason if same else ""),
        code=row.code or (below.code if same else ""),
        log=below.log,
        questions=below.questions,
        responses=below.responses,
        script=below.script,
    )


# --- one JSON object a line


def _file(path: Path) -> Iterator[Row]:
    if path.suffix == ".json":
        yield _result_file(path)
        return
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path}, line {number}"
        record = _object(line, where)
        names = {name: _text(record, name, where) for name in ("benchmark", "agent", "dataset", "example_id")}
        yield _row(record, names, str(record.get("ref") or MAIN), int(record.get("repetition") or 0), where)


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return [line for line in text.decode("utf-8").split("\n") if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}. Name published results, .jsonl or .jsonl.gz") from error


# --- one file an example


def _folder(path: Path) -> Iterator[Row]:
    for file in sorted(path.rglob("*")):
        if file.name.endswith((".jsonl", ".jsonl.gz")) and file.name != "master_log.jsonl":
            yield from _file(file)
        elif file.suffix == ".json" and len(file.parts) > _DEPTH and file.parts[-_DEPTH] == _RESULTS:
            yield _result_file(file)


_DEPTH = 4
"""`results/<agent>/<data set>/<example>_<repetition>.json`."""


def _result_file(file: Path) -> Row:
    parts = file.resolve().parts
    if len(parts) <= _DEPTH or parts[-_DEPTH] != _RESULTS:
        raise DatasetError(
            f"{file}: a result is named by its path, <benchmark>/results/<agent>/<data set>/<example>_<repetition>.json"
        )
    example, _, repetition = file.stem.rpartition("_")
    benchmark, _, agent, dataset = parts[-_DEPTH - 1 : -1]
    names = {"benchmark": benchmark, "agent": agent, "dataset": dataset, "example_id": example or file.stem}
    try:
        record = _object(file.read_text(encoding="utf-8"), str(file))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{file}: cannot be read: {error}") from error
    return _row(record, names, MAIN, int(repetition) if repetition.isdecimal() else 0, str(file))


# --- the fields that both have


def _row(record: Mapping[str, Any], names: Mapping[str, str], ref: str, repetition: int, where: str) -> Row:
    full = _number(record, "max_score", where)
    span = record.get("tokens")
    return Row(
        ref=ref,
        benchmark=names["benchmark"],
        agent=names["agent"],
        dataset=names["dataset"],
        example=names["example_id"] + (f".{repetition}" if repetition else ""),
        score=_share(_number(record, "score", where), full, where),
        span=span if isinstance(span, int) else None,
        manual=bool(record.get("manual")) or _before(record, full, where) is not None,
        before=_before(record, full, where),
        reason="; ".join(_texts(record.get("reasoning"))),
        code=str((record.get("orig_eval") or {}).get("code") or ""),
        log=_texts(record.get("task_log")),
        questions=_texts(record.get("questions")),
        responses=_texts(record.get("responses", record.get("actual_responses"))),
        script=_texts(record.get("script")),
    )


def _before(record: Mapping[str, Any], full: float, where: str) -> Before | None:
    auto = record.get("auto") or record
    if auto.get("auto_score") is None:
        return None
    score = _share(_number(auto, "auto_score", where), full, where)
    return Before(score=score, reason="; ".join(_texts(auto.get("auto_reasoning"))))


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DatasetError(f"{where}: expected an object, not {str(record)[:80]!r}")
    return record


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise DatasetError(f"{where}: no text {name!r} (fields: {', '.join(sorted(record))})")
    return value


def _number(record: Mapping[str, Any], name: str, where: str) -> float:
    value = record.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DatasetError(f"{where}: no number {name!r} (fields: {', '.join(sorted(record))})")
    return float(value)


def _share(score: float, full: float, where: str) -> float:
    if not (full > 0 and 0 <= score <= full):
        raise DatasetError(f"{where}: a score of {score!r} out of {full!r}")
    return score / full


def _texts(value: object) -> tuple[str, ...]:
    parts: Sequence[object] = value if isinstance(value, list) else [] if value is None else [value]
    return tuple("" if part is None else str(part) for part in parts)
