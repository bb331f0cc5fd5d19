"""PersonaMem (COLM 2025): replies to choose from, each question at a place in a shared conversation."""

from __future__ import annotations

import ast
import csv
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import check_size
from pytest_ltm.datasets._interchange import History, Question, Session, Turn
from pytest_ltm.datasets.converters.declared_files import (
    Foreign,
    ForeignMessage,
    decode_as,
    files_in,
    kind_name,
    lines_as,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SPEAKER = re.compile(r"^(?:User|Assistant):\s*")


class _Row(Foreign, frozen=True):
    question_id: str
    user_question_or_message: str
    correct_answer: str
    all_options: str
    shared_context_id: str
    end_index_in_shared_context: int
    question_type: str = "question"


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each context of the files shared_contexts_*.jsonl beside questions_*.csv (or .jsonl)."""
    for file in files_in(paths, "questions_*.csv", "questions_*.jsonl"):
        asked: dict[str, list[tuple[str, _Row]]] = {}
        for where, row in _read_rows(file):
            asked.setdefault(row.shared_context_id, []).append((where, row))
        size = file.stem.removeprefix("questions_")
        for _, contexts in lines_as(file.with_name(f"shared_contexts_{size}.jsonl"), dict[str, list[ForeignMessage]]):
            for name, messages in contexts.items():
                rows = asked.pop(name, [])
                yield _read_context(f"{size}_{name}", messages, rows, counts)
        counts["left out: questions whose context is not in the file"] += sum(map(len, asked.values()))


def _read_rows(file: Path) -> Iterator[tuple[str, _Row]]:
    if file.suffix == ".jsonl":
        yield from lines_as(file, _Row)
        return
    check_size(file.stat().st_size, str(file))
    try:
        with file.open(encoding="utf-8-sig", newline="") as content:
            for number, row in enumerate(csv.DictReader(content), start=2):
                index: Any = row.get("end_index_in_shared_context")
                row |= {"end_index_in_shared_context": int(index) if str(index).isdecimal() else index}
                yield f"{file}:{number}", decode_as(msgspec.json.encode(row), _Row, f"{file}:{number}")
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: no table of comma-separated values in UTF-8: {error}") from error


def _read_context(
    user: str, messages: Sequence[ForeignMessage], rows: Sequence[tuple[str, _Row]], counts: Counter[str]
) -> History:
    """Return a context as sessions, which system messages begin."""
    starts = [0, *(place for place, one in enumerate(messages) if one.role == "system" and place), len(messages)]
    sessions, names = [], [""]
    for number, (start, end) in enumerate(pairwise(starts), start=1):
        turns = [_read_turn(one, counts) for one in messages[start:end]]
        names += [f"s{number}_{place}" for place in range(1, len(turns) + 1)]
        sessions += [Session(id=f"s{number}", turns=tuple(turns))] if turns else []
    return History(sessions, [_read_question(where, row, names) for where, row in rows], user)


def _read_turn(one: ForeignMessage, counts: Counter[str]) -> Turn:
    turn = one.turn(counts, _SPEAKER, "cut: the words User: and Assistant: before what they say")
    return msgspec.structs.replace(turn, name="About me") if one.role == "system" else turn


def _read_question(where: str, row: _Row, names: Sequence[str]) -> Question:
    end = row.end_index_in_shared_context
    if not 0 < end < len(names):
        raise DatasetError(f"{where}: end_index_in_shared_context: expected 1 to {len(names) - 1}, got {end}")
    try:
        options = [str(one) for one in ast.literal_eval(row.all_options)]
        choices = {one.strip()[1]: one.strip()[3:].strip() for one in options}
    except (ValueError, SyntaxError, TypeError, IndexError, RecursionError, MemoryError) as error:
        raise DatasetError(f"{where}: all_options: expected a list such as ['(a) …', '(b) …']: {error}") from error
    return Question(
        id=row.question_id, kind=kind_name(row.question_type), text=row.user_question_or_message, choices=choices,
        gold=row.correct_answer.strip(" ()"), after=names[end],
    )  # fmt: skip
