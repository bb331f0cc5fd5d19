"""The questions that histories are made for, with their evidence sessions; one record in memory at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._file import LongMemEvalFile
from pytest_ltm.datasets.longmemeval._record import read_record
from pytest_ltm.datasets.longmemeval._schema import read_date
from pytest_ltm.evaluators._words import content_stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

ASKED = ("question_id", "question_type", "question", "answer", "question_date")
"""The fields that a compiled record takes over as they are."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One session that a question depends on."""

    id: str
    when: str
    """As the file writes it."""
    at: datetime
    turns: list[dict[str, Any]]
    """As the file has them."""


@dataclass(frozen=True, slots=True)
class NeedleRecord:
    """A question and its evidence."""

    asked: Mapping[str, Any]
    """The fields of ASKED."""
    at: datetime
    evidence: tuple[Evidence, ...]
    """In the order of their dates."""
    where: str
    """File and question, for errors."""

    @property
    def id(self) -> str:
        """The question's id."""
        return str(self.asked["question_id"])

    def user_text(self) -> str:
        """Return all that the user says in the evidence."""
        return "\n".join(turn["content"] for one in self.evidence for turn in one.turns if turn["role"] == "user")

    def heard(self) -> frozenset[str]:
        """Return the stems of what the question and the marked turns say; of all user's turns where none is marked."""
        turns = [turn for one in self.evidence for turn in one.turns]
        marked = [turn for turn in turns if turn.get("has_answer") is True]
        chosen = marked or [turn for turn in turns if turn["role"] == "user"]
        return content_stems("\n".join([str(self.asked["question"]), *(turn["content"] for turn in chosen)]))


def needles(path: Path) -> Iterator[NeedleRecord]:
    """Yield every question of a file; DatasetError for a file without records or with one that cannot be used."""
    for entry in LongMemEvalFile(path).entries:
        with path.open("rb") as content:
            content.seek(entry.start)
            yield needle(json.loads(content.read(entry.end - entry.start)), f"{path}: {entry.id}")


def needle(raw: dict[str, Any], where: str) -> NeedleRecord:
    """Return a record's question with the sessions that it cites, or all of them where it cites none."""
    try:
        record = read_record(Field(raw, where))
    except DefinitionError as error:
        raise DatasetError(str(error)) from error
    sessions = list(_sessions(raw))
    cited = set(record.answer_sessions)
    absent = cited - {one.id for one in sessions}
    if absent:
        raise DatasetError(f"{where}: its evidence is absent: no session {', '.join(sorted(absent))}")
    evidence = {one.id: one for one in sessions if not cited or one.id in cited}
    ordered = sorted(evidence.values(), key=lambda one: one.at)
    return NeedleRecord({name: raw[name] for name in ASKED}, record.at, tuple(ordered), where)


def _sessions(raw: Mapping[str, Any]) -> Iterator[Evidence]:
    said, dates = raw["haystack_sessions"], raw["haystack_dates"]
    names = raw.get("haystack_session_ids") or [f"session_{number}" for number in range(len(said))]
    for name, when, turns in zip(names, dates, said, strict=True):
        at = read_date(when)
        assert at is not None, "read_record has read it"
        yield Evidence(str(name), when, at, turns)


def evidence_tokens(record: NeedleRecord, count: Callable[[str], int]) -> int:
    """Return how many tokens the turns of the evidence have."""
    return sum(count(turn["content"]) for one in record.evidence for turn in one.turns)
