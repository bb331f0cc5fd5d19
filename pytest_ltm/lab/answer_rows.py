"""Files of published answers as rows: JSON, JSON lines, tables and Inspect logs, optionally packed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_ltm.api.storage import (
    DatasetError,
    load_packaged_yaml,
    one_line,
    open_regular,
    pluralize,
    read_regular,
    show_value,
)
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.datasets.locomo.strict import official_f1, strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.datasets.longmemeval.record import ABSTENTION, is_abstention
from pytest_ltm.lab.row_fields import (
    Leaf,
    RowFields,
    holds_one_text,
    model_of,
    provider_error,
    published_grade,
    text_in,
)
from pytest_ltm.language.rulings.gold import Ruling

Row: TypeAlias = dict[str, Any]
# Field names by role, including fields other than questions and answers.
_NAMES: Mapping[str, Any] = load_packaged_yaml(__file__, "answer_rows.yml")
_CATEGORIES = {
    **{category.label: category for category in Category},
    "temporal-reasoning": Category.TEMPORAL,
    "world-knowledge": Category.OPEN_DOMAIN,
    "commonsense": Category.OPEN_DOMAIN,
}
LARGEST = 256_000_000
"""The largest file of answers to read, in bytes: it is held in memory as a whole."""
NEEDS_DATA = "it has no expected answer: name the data set's file: --data=FILE"


class PublishedAnswer(Struct, frozen=True, kw_only=True):
    """One question with its answer, and the grade that was published."""

    where: str
    """The file, and the place in it."""
    agent: str
    """The agent, if a file contains answers of several; else ""."""
    group: str
    """The conversation that it is about; "" if unknown."""
    id: str
    question: str
    gold: str
    reply: str
    kind: str
    """The category or type, as named by its data set."""
    category: Category | None = None
    """LoCoMo's category; None for other sets."""
    grade: float | None = None
    """The published grade, 0 to 1; None if there is none."""
    judge: str = ""
    f1: float | None = None
    """The F1 published with it."""

    @property
    def ruling(self) -> Ruling:
        """The rules' ruling."""
        question = self.question
        gold = self.gold
        if self.category is None and (self.kind in TYPES or self.kind == "abstention"):
            # the rules recognize unanswerable questions only by their id
            suffix = ABSTENTION if self.kind == "abstention" else ""
            return rule_on_hypothesis(
                question_id=self.id.removesuffix(ABSTENTION) + suffix,
                question_type=self.kind,
                question=question,
                answer=gold,
                hypothesis=self.reply,
            )
        category = self.category or Category.SINGLE_HOP
        return strict_verdict(
            category=category, question=question, answer=gold, prediction=self.reply
        )

    @property
    def official_f1(self) -> float | None:
        """LoCoMo's own metric; None for other sets."""
        if self.category is None:
            return None
        return official_f1(self.category, self.gold, self.reply)


class PublishedAnswers(Struct, frozen=True):
    """The contents of files of answers."""

    answers: list[PublishedAnswer]
    problems: list[str]
    """A sentence for each unreadable row."""
    errors: list[str]
    """A sentence for each row with a provider's error instead of an answer."""

    @property
    def left_out(self) -> list[str]:
        """Sentences on what is left out, with one for all provider errors."""
        if not self.errors:
            return self.problems
        rows = pluralize(len(self.errors), "row")
        many = f"{rows} with an error of the provider in the place of an answer"
        return [f"{many}; the first: {self.errors[0]}", *self.problems]


def read_published_answers(
    paths: Iterable[Path], data: Path | None
) -> PublishedAnswers:
    """Read the answers in files, and list what is left out; DatasetError for a missing file.

    `data`: the data set's file, for fields that rows lack.
    """
    questions = _KnownQuestions(data)
    found = PublishedAnswers([], [], [])
    places: dict[tuple[str, str, str, str], str] = {}
    for path in paths:
        for where, group, row in _file_rows(path):
            try:
                for answer in _parse_answers(where, group, row, questions):
                    _add_answer(found, answer, places)
            except ProviderError as error:
                found.errors.append(f"{where}: {error}")
            except DatasetError as error:
                found.problems.append(f"{where}: {error}")
    return found


class ProviderError(Exception):
    """A row contains an error instead of an answer."""


def _add_answer(
    found: PublishedAnswers,
    answer: PublishedAnswer,
    places: dict[tuple[str, str, str, str], str],
) -> None:
    # in some files an id names a conversation, in others a question
    key = (answer.agent, answer.group, answer.id, answer.question)
    first = places.setdefault(key, answer.where)
    if first == answer.where:
        found.answers.append(answer)
        return
    found.problems.append(
        f"{answer.where}: a second answer to the same question; the first is at {first}"
    )


# --- The rows of a file


def _file_rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield possible rows: the place, conversation and value of each."""
    try:
        if path.stat().st_size > LARGEST:
            raise DatasetError(
                f"{path}: {path.stat().st_size:,} bytes are too many for a file of answers: split it"
            )
        raw = read_regular(path)
        if zipfile.is_zipfile(io.BytesIO(raw)):
            yield from _packed_rows(raw, path)
            return
        if path.suffix == ".gz":
            with open_regular(path) as packed, gzip.open(packed) as file:
                raw = file.read(LARGEST + 1)
            if len(raw) > LARGEST:
                raise DatasetError(
                    f"{path}: it unpacks to more than {LARGEST:,} bytes: split it"
                )
        text = raw.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    if {".csv", ".tsv"} & set(path.suffixes):
        yield from _table_rows(text, path)
        return
    yield from _text_rows(text, path)


def _text_rows(text: str, path: Path) -> Iterator[tuple[str, str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if len(lines := text.splitlines()) < 2 and not text.lstrip().startswith("{"):
            raise DatasetError(
                f"{path}: neither JSON nor JSON lines: {error}"
            ) from error
        rows = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                rows.append((f"{path}:{number}", "", _line_value(line)))
        events = list(filter(_is_event, rows))
        yield from _join_events(events) if events else rows
        return
    if is_row(value):
        yield str(path), "", value
    else:
        yield from _rows_within(value, str(path), "")


# A log of OpenAI evals: a line per event of a sample, with its fields in `data`.


def _is_event(row: tuple[str, str, Any]) -> bool:
    value = row[-1]
    return (
        isinstance(value, dict)
        and {"sample_id", "type"} <= value.keys()
        and isinstance(value.get("data"), dict)
    )


def _join_events(
    events: Iterable[tuple[str, str, Any]],
) -> Iterator[tuple[str, str, Any]]:
    """Yield a row per sample, with the fields of all its events; lines about the run are skipped."""
    joined: dict[str, tuple[str, str, Row]] = {}
    for where, group, event in events:
        name = str(event["sample_id"])
        _, _, fields = joined.setdefault(name, (where, group, {"id": name}))
        fields |= event["data"]
    for where, group, fields in joined.values():
        prompt = fields.pop("prompt", None)
        sampled = fields.pop("sampled", None)
        reply = sampled[0] if isinstance(sampled, list) and sampled else sampled
        yield (
            where,
            group,
            fields | {"question": _newest_text(prompt), "response": reply},
        )


def _newest_text(prompt: object) -> object:
    """Return the newest message of a prompt, which may be a single text."""
    newest = prompt[-1] if isinstance(prompt, list) and prompt else prompt
    return newest.get("content") if isinstance(newest, dict) else newest


def _table_rows(text: str, path: Path) -> Iterator[tuple[str, str, Any]]:
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    csv.field_size_limit(LARGEST)
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        for number, row in enumerate(rows, start=2):
            filled = {name: value for name, value in row.items() if name and value}
            yield f"{path}:{number}", "", filled
    except csv.Error as error:
        raise DatasetError(f"{path}: not a table: {error}") from error


def _packed_rows(raw: bytes, path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the samples of an Inspect log, which is a zip with a file for each."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            files = []
            for file in packed.infolist():
                if file.filename.startswith("samples/"):
                    files.append(file)
            if sum(file.file_size for file in files) > LARGEST:
                raise DatasetError(
                    f"{path}: it unpacks to more than {LARGEST:,} bytes: split it"
                )
            for file in files:
                value = _line_value(packed.read(file).decode("utf-8-sig"))
                yield f"{path}, {file.filename}", "", value
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{path}: cannot be unpacked: {error}. Write it as JSON: inspect log convert --to json"
        ) from error


def _line_value(line: str) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _rows_within(value: Any, where: str, group: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, dict):
        name = str(value.get("sample_id", group))
        for key, part in value.items():
            if isinstance(part, list | dict) and part:
                yield from _rows_within(
                    part,
                    f"{where}, {key}",
                    name if key in _NAMES["containers"] else name or key,
                )
    elif isinstance(value, list):
        of_rows = any(map(is_row, value))
        for number, item in enumerate(value):
            place = f"{where}[{number}]"
            if of_rows:
                yield place, group, item
            else:
                yield from _rows_within(item, place, group)


def is_row(value: Any) -> bool:
    """Return whether a value has an answer and a question or its id, and contains no other rows."""
    if not isinstance(value, dict):
        return False
    if any(is_row(part) for part in value.values() if isinstance(part, dict)):
        return False
    fields = RowFields(value)
    names_question = fields.question or any(name in value for name in _NAMES["id"])
    return bool(names_question and (fields.reply or fields.error))


# --- One row


class _KnownQuestions:
    """The questions of a data set's file (LoCoMo, LongMemEval or lines with such fields), by id and by text."""

    def __init__(self, path: Path | None) -> None:
        self._rows: dict[str, Row] = {}
        if path is None:
            return
        try:
            text = read_regular(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DatasetError(f"{path}: cannot be read: {reason}") from error
        value = _line_value(text)
        if isinstance(value, str):
            value = [_line_value(line) for line in text.splitlines() if line.strip()]
        names = (
            *_NAMES["id"],
            "question",
            "answer",
            "adversarial_answer",
            *_NAMES["kind"],
            "sample_id",
        )
        for record in value if isinstance(value, list) else [value]:
            if isinstance(record, dict) and isinstance(record.get("qa"), list):
                self._add_questions(record["qa"], str(record.get("sample_id", "")))
            elif isinstance(record, dict) and "question" in record:
                question = {name: record[name] for name in names if name in record}
                self._add_questions([question], str(record.get("sample_id", "")))

    def _add_questions(self, rows: Iterable[Row], group: str) -> None:
        for row in rows:
            names = [str(row[name]) for name in _NAMES["id"] if row.get(name)] + [
                str(row.get("question", ""))
            ]
            for name in names:
                # a text asked in two conversations is identified by the conversation
                self._rows.setdefault(name, row)
                self._rows.setdefault(f"{group}\0{name}", row)

    def find(self, row: Row, question: str, group: str) -> Row | None:
        """Return the data set's row for a question; None without a data set.

        DatasetError for a question that the data set lacks.
        """
        if not self._rows:
            return None
        names = [str(row[name]) for name in _NAMES["id"] if row.get(name)]
        if question:
            names.append(question)
        keys = [f"{group}\0{name}" for name in names] + names
        for key in keys:
            if key in self._rows:
                return self._rows[key]
        raise DatasetError(
            f"the data set has no question {show_value(names[0] if names else None)}"
        )


def _parse_answers(
    where: str, group: str, row: Any, questions: _KnownQuestions
) -> Iterator[PublishedAnswer]:
    if not isinstance(row, dict):
        raise DatasetError(f"not an object: {show_value(row)}")
    fields = RowFields(row)
    question = _first_text(fields.question)
    question_row = questions.find(row, question, group)
    answer_row = row
    row = row | (question_row or {})
    gold = _gold_of(fields, question_row)
    if error := provider_error(fields, gold or ""):
        raise ProviderError(one_line(error))
    answers = _answers_of(fields, answer_row, question_row)
    question_id = _text(row, _NAMES["id"])
    if question_row:
        question = str(question_row.get("question") or question)
    kind, category = _kind_of(row, question_id)
    if gold is None and category is not Category.ADVERSARIAL:
        raise DatasetError(NEEDS_DATA)
    if category is None and kind not in {*TYPES, "abstention"} and not question:
        raise DatasetError(NEEDS_DATA)
    for leaf in answers:
        response = text_in(leaf.value)
        if response is None or not holds_one_text(leaf):
            raise DatasetError(
                f"{leaf.path[-1]} is {show_value(leaf.value)}, not a text"
            )
        model = model_of(leaf) or _text(row, _NAMES["system"])
        f1s = map(row.get, (f"{model}_f1", *_NAMES["f1"]))
        yield PublishedAnswer(
            where=where,
            agent=model,
            group=group or str(row.get("sample_id") or ""),
            id=question_id,
            question=question,
            gold=gold or "",
            reply=response,
            kind=kind,
            category=category,
            grade=published_grade(fields),
            judge=_judge_of(row),
            f1=next((float(f1) for f1 in f1s if _is_share(f1)), None),
        )


def _first_text(leaves: Iterable[Leaf]) -> str:
    texts = (text_in(leaf.value) for leaf in leaves)
    return next(filter(None, texts), "")


def _gold_of(fields: RowFields, question_row: Row | None) -> str | None:
    """Return the expected answer, or None if there is none."""
    values = [question_row.get("answer")] if question_row else []
    values += [leaf.value for leaf in fields.gold]
    texts = [text_in(value) for value in values if value is not None]
    return texts[0] if texts else None


def _answers_of(fields: RowFields, row: Row, question_row: Row | None) -> list[Leaf]:
    """Return the fields with answers; with a data set, a bare `answer` counts as one."""
    if fields.answers:
        return fields.answers
    bare = [leaf for leaf in fields.gold if leaf.path == ("answer",)]
    if question_row and "answer" in row and not bare:
        bare = [Leaf(("answer",), ("answer",), frozenset(), row["answer"])]
    if not bare:
        raise DatasetError("it has no answer: no field such as response or prediction")
    return bare


def _text(row: Row, names: Sequence[str]) -> str:
    for name in names:
        value = row.get(name)
        if isinstance(value, str | int):
            return str(value)
    return ""


def _kind_of(row: Row, question_id: str) -> tuple[str, Category | None]:
    axes: Mapping[str, Any] = row.get("category_axes") or row.get("meta") or {}
    value = _first_value(row, _NAMES["kind"])
    if value is None and isinstance(axes, dict):
        value = _first_value(axes, (*_NAMES["kind"], "question_type"))
    value = value[0] if isinstance(value, list) and value else value
    text = (
        str(value if value is not None else "")
        .strip()
        .lower()
        .replace("_", "-")
        .replace(" ", "-")
    )
    if text in TYPES and not (row.get("evidence") or row.get("sample_id")):
        return ("abstention" if is_abstention(question_id) else text), None
    # followed by the type the question would have: abstention:multi-session
    if text.partition(":")[0] == "abstention":
        return "abstention", None
    if text.isdecimal() and int(text) in list(Category):
        return Category(int(text)).label, Category(int(text))
    if category := _CATEGORIES.get(text):
        return category.label, category
    return text or "question", None


def _first_value(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the value of the first of the names that has one."""
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None


def _judge_of(row: Row) -> str:
    """Return the model that graded the answer, if the row names it."""
    graded = [value for value in row.values() if isinstance(value, dict)]
    names = [row.get("judge_model"), row.get("judge_llm")]
    names += [value.get("model") for value in graded if "label" in value]
    return next((str(name) for name in names if isinstance(name, str)), "")


def _is_share(value: object) -> bool:
    return isinstance(value, bool | int | float) and 0 <= value <= 1
