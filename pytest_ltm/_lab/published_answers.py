"""Files of question and answer as others publish them: their rows, with verdicts by rules and the grades beside them.

Known by their fields, not by who wrote them: LoCoMo's official predictions, results of mem0 and memobase, of the Agent
Memory Benchmark and memorybench, LongMemEval's hypotheses, and lines with the like.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from pytest_ltm._storage.disk import read_regular
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.schema import show_value
from pytest_ltm.datasets._dataset_registry import TYPES
from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.datasets.locomo.strict import official_f1, strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.datasets.longmemeval.record import is_abstention

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._language.rulings.gold import Ruling


Row: TypeAlias = dict[str, Any]
# The names that fields have, the more telling ones first.
_QUESTION = ("question", "query")
_ID = ("question_id", "questionId", "query_id", "id")
_SAID = ("hypothesis", "response", "prediction", "model_answer", "generated_answer", "predicted_answer")
_GOLD = ("gold_answers", "groundTruth", "ground_truth", "gold_answer", "gold", "reference", "expected_answer")
_KIND = ("category", "question_type", "questionType", "type")
_GRADE = ("autoeval_label", "llm_score", "llm_judge", "judge", "is_correct", "correct", "label", "score")
_F1 = ("f1", "f1_score")
_SYSTEM = ("source", "system", "provider", "model")
_PREDICTION = "_prediction"
# Lists that are no group of questions of their own.
_CONTAINERS = frozenset({"results", "evaluations", "data", "questions", "rows", "answers", "items", "qa"})
_RIGHT = {"correct": 1.0, "right": 1.0, "yes": 1.0, "true": 1.0}
_WRONG = {"incorrect": 0.0, "wrong": 0.0, "no": 0.0, "false": 0.0}
_CATEGORIES = {
    **{category.label: category for category in Category}, "temporal-reasoning": Category.TEMPORAL,
    "world-knowledge": Category.OPEN_DOMAIN, "commonsense": Category.OPEN_DOMAIN,
}  # fmt: skip
LARGEST = 256_000_000
"""Bytes of a file of answers that is read: all of it is held at once."""
NEEDS_DATA = "it has no expected answer: name the data set's file: --data=FILE"


class PublishedAnswer(Struct, frozen=True, kw_only=True):
    """One question, what was answered, and the grade that was published."""

    where: str
    """File and place in it."""
    agent: str
    """Whose answer it is, where a file holds those of several; else ""."""
    group: str
    """The conversation that it is about; "" where that is not known."""
    id: str
    question: str
    gold: str
    said: str
    kind: str
    """The category or type, in the words of its data set."""
    category: Category | None = None
    """Of LoCoMo; None for other sets."""
    grade: float | None = None
    """What the file says that it earned, 0 to 1; None: nothing."""
    judge: str = ""
    f1: float | None = None
    """The F1 that was published with it."""

    @property
    def ruling(self) -> Ruling:
        """What the rules say."""
        question, gold = self.question, self.gold
        if self.category is None and (self.kind in TYPES or self.kind == "abstention"):
            return rule_on_hypothesis(
                question_id=self.id, question_type=self.kind, question=question, answer=gold, hypothesis=self.said
            )
        category = self.category or Category.SINGLE_HOP
        return strict_verdict(category=category, question=question, answer=gold, prediction=self.said)

    @property
    def official_f1(self) -> float | None:
        """LoCoMo's own metric; None for other sets."""
        return None if self.category is None else official_f1(self.category, self.gold, self.said)


def read_published_answers(paths: Iterable[Path], data: Path | None) -> tuple[list[PublishedAnswer], list[str]]:
    """Return the answers of files, and a sentence for each row that cannot be read; DatasetError for no such file.

    `data`: the file that was asked, for what rows do not say themselves.
    """
    known = _KnownQuestions(data)
    answers: list[PublishedAnswer] = []
    problems: list[str] = []
    seen: dict[tuple[str, str, str, str], str] = {}
    for path in paths:
        for where, group, row in _file_rows(path):
            try:
                for answer in _parse_answers(where, group, row, known):
                    key = (answer.agent, answer.group, answer.id, "" if answer.id else answer.question)
                    if (first := seen.setdefault(key, where)) == where:
                        answers.append(answer)
                    else:
                        problems.append(f"{where}: a second answer to the same question; the first is at {first}")
            except DatasetError as error:
                problems.append(f"{where}: {error}")
    return answers, problems


# --- the rows of a file


def _file_rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield what may be rows: where each stands, the conversation it is of, and the value."""
    try:
        if path.stat().st_size > LARGEST:
            raise DatasetError(f"{path}: {path.stat().st_size:,} bytes are too many for a file of answers: split it")
        raw = read_regular(path)
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                raw = file.read(LARGEST + 1)
            if len(raw) > LARGEST:
                raise DatasetError(f"{path}: it unpacks to more than {LARGEST:,} bytes: split it")
        text = raw.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if len(lines := text.splitlines()) < 2 and not text.lstrip().startswith("{"):
            raise DatasetError(f"{path}: neither JSON nor JSON lines: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"{path}:{number}", "", _line_value(line)
        return
    yield from _rows_within(value, str(path), "") if not _is_row(value) else [(str(path), "", value)]


def _line_value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _rows_within(value: Any, where: str, group: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, dict):
        name = str(value.get("sample_id", group))
        for key, part in value.items():
            if isinstance(part, list | dict) and part:
                yield from _rows_within(part, f"{where}, {key}", name if key in _CONTAINERS else name or key)
    elif isinstance(value, list):
        of_rows = any(map(_is_row, value))
        for number, one in enumerate(value):
            yield from (
                [(f"{where}[{number}]", group, one)] if of_rows else _rows_within(one, f"{where}[{number}]", group)
            )


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and any(name in value for name in (*_QUESTION, *_ID)) and bool(_said_names(value))


def _said_names(row: Row) -> list[str]:
    """Return the names of the fields that hold answers; several where a file has those of several models."""
    own = [name for name in row if name.endswith(_PREDICTION) and name != _PREDICTION]
    plain = [name for name in _SAID if name in row][:1]
    return plain or own or ["answer"] * ("answer" in row and any(name in row for name in _GOLD))


# --- one row


class _KnownQuestions:
    """What a data set's file says of its questions, by id and by text."""

    def __init__(self, path: Path | None) -> None:
        self._rows: dict[str, Row] = {}
        if path is None:
            return
        for _, group, row in _question_rows(path):
            names = [str(row[name]) for name in _ID if row.get(name)] + [str(row.get("question", ""))]
            for name in names:
                # a text that two conversations ask is told apart by its conversation
                self._rows.setdefault(name, row)
                self._rows.setdefault(f"{group}\0{name}", row)

    def complete(self, row: Row, group: str) -> Row:
        """Return a row with what is known of its question."""
        if not self._rows:
            return row
        names = [str(row[name]) for name in (*_ID, *_QUESTION) if row.get(name)]
        known = next((one for name in names for one in (self._rows.get(f"{group}\0{name}"),) if one), None)
        known = known or next((self._rows[name] for name in names if name in self._rows), None)
        if known is None:
            raise DatasetError(f"the data set has no question {show_value(names[0] if names else None)}")
        said = {name: row[name] for name in _said_names(row) if name != "answer"} or {"response": row.get("answer")}
        return {**row, **known, **said}


def _question_rows(path: Path) -> Iterator[tuple[str, str, Row]]:
    """Yield the questions of LoCoMo's or LongMemEval's file, or of lines with such fields."""
    text = read_regular(path).decode("utf-8-sig")
    try:
        value = json.loads(text)
    except ValueError:
        value = [_line_value(line) for line in text.splitlines() if line.strip()]
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict) and isinstance(one.get("qa"), list):
            for row in one["qa"]:
                yield "", str(one.get("sample_id", "")), row
        elif isinstance(one, dict) and "question" in one:
            kept = (*_ID, "question", "answer", "adversarial_answer", *_KIND, "sample_id")
            yield "", str(one.get("sample_id", "")), {name: one[name] for name in kept if name in one}


def _parse_answers(where: str, group: str, row: Any, known: _KnownQuestions) -> Iterator[PublishedAnswer]:
    if not isinstance(row, dict):
        raise DatasetError(f"not an object: {show_value(row)}")
    names = _said_names(row)
    row = known.complete(row, group)
    question_id, question = _text(row, _ID), _text(row, _QUESTION)
    if not names:
        raise DatasetError(f"it has no answer: none of {', '.join(_SAID)}")
    kind, category = _kind_of(row, question_id)
    values = [row[name] for name in (*_GOLD, "answer") if row.get(name) is not None and name not in names]
    value = values[0] if values else None
    if isinstance(value, list):
        value = value[0] if value else None
    gold = None if isinstance(value, dict | bool | None) else str(value)
    if gold is None and category is not Category.ADVERSARIAL:
        raise DatasetError(NEEDS_DATA)
    if category is None and kind not in {*TYPES, "abstention"} and not question:
        raise DatasetError(NEEDS_DATA)
    for name in names:
        response = row[name] if name in row else row.get("response")
        if isinstance(response, bool) or not isinstance(response, str | int | float):
            raise DatasetError(f"{name} is {show_value(response)}, not a text")
        model = name.removesuffix(_PREDICTION) if name.endswith(_PREDICTION) else _text(row, _SYSTEM)
        grade, judge = _grade_of(row)
        yield PublishedAnswer(
            where=where, agent=model, group=group or str(row.get("sample_id") or ""), id=question_id, question=question,
            gold=gold or "", said=str(response), kind=kind, category=category, grade=grade, judge=judge,
            f1=next((float(row[one]) for one in (f"{model}_f1", *_F1) if _is_share(row.get(one))), None),
        )  # fmt: skip


def _text(row: Row, names: Sequence[str]) -> str:
    return next((str(row[name]) for name in names if isinstance(row.get(name), str | int)), "")


def _kind_of(row: Row, question_id: str) -> tuple[str, Category | None]:
    axes: Mapping[str, Any] = row.get("category_axes") or row.get("meta") or {}
    value = next((row[name] for name in _KIND if row.get(name) is not None), None)
    if value is None and isinstance(axes, dict):
        value = next((axes[name] for name in (*_KIND, "question_type") if axes.get(name) is not None), None)
    value = value[0] if isinstance(value, list) and value else value
    text = str(value if value is not None else "").strip().lower().replace("_", "-").replace(" ", "-")
    if text in TYPES and not (row.get("evidence") or row.get("sample_id")):
        return ("abstention" if is_abstention(question_id) else text), None
    if text.isdecimal() and int(text) in list(Category):
        return Category(int(text)).label, Category(int(text))
    if category := _CATEGORIES.get(text):
        return category.label, category
    return text or "question", None


def _grade_of(row: Row) -> tuple[float | None, str]:
    """Return what a judge gave, and who that was."""
    judge = str(row.get("judge_model") or row.get("judge_llm") or "")
    for name in _GRADE:
        value = row.get(name)
        if isinstance(value, dict):
            judge, value = str(value.get("model", judge)), value.get("label", value.get("score"))
        if isinstance(value, list) and value and all(_is_share(one) for one in value):
            value = sum(map(float, value)) / len(value)
        if isinstance(value, str):
            value = {**_RIGHT, **_WRONG}.get(value.strip().lower().rstrip("."))
        if _is_share(value):
            return float(value), judge  # type: ignore[arg-type]
    return None, judge


def _is_share(value: object) -> bool:
    return isinstance(value, bool | int | float) and 0 <= value <= 1
