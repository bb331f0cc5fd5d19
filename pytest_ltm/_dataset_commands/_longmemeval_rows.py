"""Rows of LongMemEval answers: complete ones, or the official hypotheses joined with the questions they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._rows import rows
from pytest_ltm._errors import DatasetError, did_you_mean
from pytest_ltm.datasets.longmemeval._file import LongMemEvalFile
from pytest_ltm.datasets.longmemeval._schema import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HYPOTHESIS = ("question_id", "hypothesis")
"""The fields of the official format."""
COMPLETE = ("question_id", "question_type", "question", "answer", "hypothesis")
LABELS = ("autoeval_label", "label")
"""Fields in which a row may carry a judge's verdict: the official log's, and a plain one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question and what was answered."""

    where: str
    question_id: str
    question_type: str
    question: str
    answer: object
    """The gold answer."""
    hypothesis: str
    label: bool | None
    """What the row says that a judge decided; None if it says nothing."""
    judge: str
    """Who that was; "" where the row does not tell."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A file of answers."""

    given: tuple[Answered, ...]
    """In the order of the file."""
    missing: tuple[str, ...]
    """Ids of questions of the data that have no answer here."""


def read_answers(path: Path, data: Path | None) -> Answers:
    """Return the answers of a file, joined with the questions in `data` if it is given.

    Raises DatasetError for a row that is none, an id that `data` does not have, and one that is there twice.
    """
    if data is None:
        return Answers(tuple(_answered(where, _complete(where, row), row) for where, row in rows(path, HYPOTHESIS)), ())
    file = LongMemEvalFile(data)
    known = {entry.id: entry for entry in file.entries}
    given: dict[str, Answered] = {}
    for where, row in rows(path, HYPOTHESIS):
        name = row["question_id"]
        if not isinstance(name, str) or name not in known:
            raise DatasetError(f"{where}: {data} has no question {name!r}.{did_you_mean(str(name), known)}")
        if name in given:
            raise DatasetError(f"{where}: a second answer to {name!r}; the first is at {given[name].where}")
        record = file.record(name)
        about = {"question_id": name, "question_type": record.type, "question": record.question}
        given[name] = _answered(where, about | {"answer": record.answer}, row)
    return Answers(tuple(given.values()), tuple(name for name in known if name not in given))


def _complete(where: str, row: dict[str, Any]) -> dict[str, Any]:
    for name in COMPLETE:
        if name not in row:
            raise DatasetError(
                f"{where}: the field {name!r} is missing. Answers alone need their questions: --data FILE, the file "
                "that was asked"
            )
    return row


def _answered(where: str, about: dict[str, Any], row: dict[str, Any]) -> Answered:
    kind = about["question_type"]
    if kind not in TYPES:
        hint = did_you_mean(str(kind), TYPES)
        raise DatasetError(f"{where}: unknown question_type {kind!r}.{hint} Known are {', '.join(TYPES)}")
    for name in ("question_id", "question"):
        _check_text(where, name, about[name])
    _check_text(where, "hypothesis", row["hypothesis"])
    label, judge = _label(where, row)
    return Answered(
        where=where,
        question_id=about["question_id"],
        question_type=kind,
        question=about["question"],
        answer=about["answer"],
        hypothesis=row["hypothesis"],
        label=label,
        judge=judge,
    )


def _check_text(where: str, name: str, value: object) -> None:
    if not isinstance(value, str):
        raise DatasetError(f"{where}: {name}: expected a text, got {value!r}")


def _label(where: str, row: dict[str, Any]) -> tuple[bool | None, str]:
    """Return a judge's verdict that the row carries, and who the judge was.

    A text is a judge's whole reply: by the official rule it says yes if "yes" is in it.
    """
    name = next((name for name in LABELS if name in row), None)
    if name is None:
        return None, ""
    value: Any = row[name]
    judge = row.get("judge_model", "")
    if isinstance(value, dict):
        value, judge = value.get("label"), value.get("model", judge)
    if isinstance(value, str):
        value = "yes" in value.lower()
    if not isinstance(value, bool):
        raise DatasetError(f"{where}: {name}: expected true, false or the judge's reply, got {value!r}")
    return value, str(judge)


def labelled(given: tuple[Answered, ...], path: Path) -> Iterator[tuple[Answered, bool]]:
    """Yield the answers with their labels; DatasetError for one that has none."""
    for one in given:
        if one.label is None:
            raise DatasetError(f"{one.where}: no {LABELS[0]}: {path} holds no judge's verdicts. Leave out the option")
        yield one, one.label
