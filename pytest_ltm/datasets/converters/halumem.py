"""HaluMem (arXiv 2511.03506): dated sessions of twenty users, with questions behind each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import field

from pytest_ltm.datasets._interchange import History, Question, Session
from pytest_ltm.datasets.converters.declared_files import (
    Foreign,
    ForeignMessage,
    date_as,
    files_in,
    kind_name,
    lines_as,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class _Memory(Foreign, frozen=True):
    memory_content: str


class _Asked(Foreign, frozen=True):
    question: str
    answer: str
    question_type: str = "question"
    evidence: list[_Memory] = field(default_factory=list)


class _Session(Foreign, frozen=True):
    start_time: str
    dialogue: list[ForeignMessage]
    memory_points: list[_Memory] = field(default_factory=list)
    questions: list[_Asked] = field(default_factory=list)


class _User(Foreign, frozen=True):
    uuid: str
    sessions: list[_Session]


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each line: a user."""
    for file in files_in(paths, "*.jsonl"):
        for where, user in lines_as(file, _User):
            numbered, sessions = list[tuple[str, _Session]](), []
            for place, one in enumerate(user.sessions):
                if one.dialogue:
                    date = date_as(one.start_time, "%b %d, %Y, %H:%M:%S", f"{where}: sessions[{place}].start_time")
                    turns = tuple(message.turn(counts) for message in one.dialogue)
                    sessions.append(Session(id=f"s{place + 1}", date=date, turns=turns))
                    numbered.append((f"s{place + 1}", one))
            yield History(sessions, _read_questions(numbered, counts), user.uuid)


def _read_questions(numbered: Sequence[tuple[str, _Session]], counts: Counter[str]) -> Iterator[Question]:
    """Yield the questions, each asked behind its session; its evidence are sessions that gave a memory it rests on."""
    homes: dict[str, str] = {}
    for name, session in numbered:
        homes |= {memory.memory_content: name for memory in session.memory_points}
        counts["left out: memory points, of which only an agent's store could tell"] += len(session.memory_points)
        for number, one in enumerate(session.questions, start=1):
            cited = [homes.get(memory.memory_content, "") for memory in one.evidence]
            counts["left out: evidence that no session before gave"] += cited.count("")
            yield Question(
                id=f"{name}_q{number}", text=one.question, gold=one.answer, kind=kind_name(one.question_type),
                after=name, evidence=tuple(dict.fromkeys(filter(None, cited))),
            )  # fmt: skip
