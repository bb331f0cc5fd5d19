"""MemoryAgentBench (Hu et al., ICLR 2026): a long text told in parts, then many questions by rules of its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import field

from pytest_ltm._model.filler import split_by_tokens
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Question, Session, Turn
from pytest_ltm.datasets.converters.declared_files import Foreign, as_texts, files_in, kind_name, lines_as

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_TOKENS = 4096
"""Of a part, at four characters a token."""
# What decides, by the beginning of a source's name; all others are for a judge.
_MATCHES = {
    "eventqa": "contains", "ruler": "contains", "factconsolidation": "contains", "icl": "exact", "detective": "exact",
    "recsys": "recall@5",
}  # fmt: skip


class _Metadata(Foreign, frozen=True):
    source: str
    qa_pair_ids: list[str] = field(default_factory=list)


class _Row(Foreign, frozen=True):
    context: str
    questions: list[str]
    answers: list[str | list[str]]
    metadata: _Metadata


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each row of the splits' files of JSON lines."""
    for file in files_in(paths, "*.jsonl"):
        for number, (where, row) in enumerate(lines_as(file, _Row), start=1):
            if len(row.questions) != len(row.answers):
                raise DatasetError(f"{where}: {len(row.questions)} questions, but {len(row.answers)} answers")
            parts = split_by_tokens(row.context, _TOKENS, lambda text: -(-len(text) // 4))
            counts["guessed: tokens of a part, at four characters each"] += len(parts)
            sessions = (
                Session(id=f"part{place}", turns=(Turn(role="user", content=part.strip()),))
                for place, part in enumerate(parts, start=1)
                if part.strip()
            )
            yield History(sessions, _read_questions(row), f"{file.stem}_{number}")


def _read_questions(row: _Row) -> Iterator[Question]:
    source = re.split(r"[_\W]", row.metadata.source.lower())[0]
    ids = row.metadata.qa_pair_ids
    for number, (asked, answers) in enumerate(zip(row.questions, row.answers, strict=True)):
        yield Question(
            id=ids[number] if len(ids) == len(row.questions) else f"q{number}", kind=kind_name(row.metadata.source),
            text=asked, gold=as_texts(answers), match=_MATCHES.get(source, "answer"),
        )  # fmt: skip
