"""Facts from a file in the format of TriviaQA."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from pytest_ltm._errors import FillerError
from pytest_ltm.fillers._pool import Pool
from pytest_ltm.fillers._quiz import Fact


def pool_of_file(path: str) -> Pool:
    """Return the facts of a file `{"Data": [{"Question": ..., "AnswerValue": ...}, ...]}`.

    `"Answer": {"Value": ...}`, as in TriviaQA's own files, will do as well. Read again only if it changed.
    Raises FillerError, which names the file and the field.
    """
    file = Path(path).expanduser()
    try:
        status = file.stat()
    except OSError as exc:
        raise FillerError(f"filler file {path!r} cannot be read ({exc.strerror})") from exc
    return _read(file.resolve(), status.st_mtime_ns, status.st_size)


@cache
def _read(file: Path, _changed: int, _size: int) -> Pool:
    try:
        content = file.read_bytes()
        data = json.loads(content)
    except (OSError, ValueError) as exc:
        raise FillerError(f"filler file '{file}' cannot be read as JSON ({exc})") from exc
    records = data.get("Data") if isinstance(data, dict) else None
    if not isinstance(records, list) or not records:
        raise FillerError(f"filler file '{file}': field 'Data' must be a list of questions that is not empty")
    facts = [_fact(f"filler file '{file}', Data[{i}]", record) for i, record in enumerate(records)]
    # Only where the answer stands last after " A: " can a reader find it.
    facts = [fact for fact in facts if " A: " not in f" {fact.answer}"]
    if not facts:
        raise FillerError(f"filler file '{file}': no question left, for every answer contains 'A: '")
    return Pool(dict.fromkeys(facts), f"sha256 {hashlib.sha256(content).hexdigest()}")


def _fact(where: str, record: object) -> Fact:
    if not isinstance(record, dict):
        raise FillerError(f"{where} must be a mapping with 'Question' and 'AnswerValue', not {record!r:.60}")
    return Fact(_text(where, record, "Question"), _text(where, _with_answer_value(record), "AnswerValue"))


def _with_answer_value(record: dict[str, Any]) -> dict[str, Any]:
    nested = record.get("Answer")
    if "AnswerValue" not in record and isinstance(nested, dict) and "Value" in nested:
        return {**record, "AnswerValue": nested["Value"]}
    return record


def _text(where: str, record: dict[str, Any], field: str) -> str:
    """Return a field as one line of text that can be written as UTF-8."""
    if field not in record:
        also = " (nor 'Answer' with 'Value')" if field == "AnswerValue" else ""
        raise FillerError(f"{where}: no field {field!r}{also}; its fields: {', '.join(map(repr, record))}")
    value = record[field]
    if not isinstance(value, str) or not value.strip():
        raise FillerError(f"{where}: field {field!r} must be a text that is not empty, not {value!r:.60}")
    return " ".join(value.split()).encode(errors="replace").decode()
