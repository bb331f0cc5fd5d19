"""LongMemEval (Wu et al., ICLR 2025) as the interchange: each question with its own history, without recall by rank."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_ltm.datasets._interchange import History, Question, Session, Turn
from pytest_ltm.datasets.longmemeval.conversations import holds_evidence
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.longmemeval.record import LongMemEvalRecord


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each record, one at a time."""
    for path in paths:
        file = LongMemEvalFile(path)
        for entry in file.entries:
            yield _read_record(file.record(entry.id), counts)


def _read_record(record: LongMemEvalRecord, counts: Counter[str]) -> History:
    used, sessions, cited = Counter[str](), [], []
    for one in record.sessions:
        used[one.id] += 1
        name = one.id if used[one.id] == 1 else f"{one.id}~{used[one.id]}"
        turns = tuple(
            Turn(role="user" if turn.role == "user" else "assistant", content=turn.content or "(nothing)")
            for turn in one.turns
        )
        if not turns:
            continue
        sessions.append(Session(id=name, date=one.at.isoformat(sep=" "), turns=turns))
        marked = [f"{name}_{place}" for place, turn in enumerate(one.turns, start=1) if turn.has_answer]
        cited += marked or [name] * holds_evidence(one, record)
    late = record.sessions[-1].at <= record.at
    counts["cut: dates of questions that are earlier than their last session; they are asked behind it"] += not late
    question = Question(
        id=record.id, kind=record.type.replace("-", "_"), text=record.question,
        gold=None if record.abstention else record.answer, never_told=record.abstention,
        date=record.at.isoformat(sep=" ") if late else "", evidence=tuple(cited),
    )  # fmt: skip
    return History(sessions, [question], record.id)
