"""From the fields of a LongMemEval file to a record, and what is odd about it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pytest_ltm.datasets._json import fields_of
from pytest_ltm.datasets.longmemeval._schema import Record, Session, Turn, read_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from pytest_ltm._fields import Field

REQUIRED = (
    "question_id", "question_type", "question", "answer", "question_date", "haystack_dates", "haystack_sessions",
)  # fmt: skip
_PARALLEL = ("haystack_dates", "haystack_session_ids", "haystack_sessions")


def record_fields(top: Field) -> dict[str, Field]:
    """Return the fields of a record; DefinitionError if it is none."""
    return fields_of(top, REQUIRED, "record of LongMemEval")


def read_record(top: Field) -> Record:
    """Return the record that stands at a place in a file; DefinitionError for what is wrong with it."""
    fields = record_fields(top)
    lists = {name: fields[name].items() for name in _PARALLEL if name in fields}
    if len({len(items) for items in lists.values()}) > 1:
        lengths = ", ".join(f"{len(items)} {name}" for name, items in lists.items())
        raise top.fault(f"parallel lists of different length: {lengths}.")
    answer = _answer(fields["answer"])
    sessions = _sessions(lists)
    if not any(session.turns for session in sessions):
        raise fields["haystack_sessions"].fault("holds no turn, so that there is nothing to ask about.")
    at = read_date(fields["question_date"].text())
    if at is None:
        raise fields["question_date"].error("a date such as '2023/05/30 (Tue) 23:40'")
    cited = fields["answer_session_ids"].texts() if "answer_session_ids" in fields else ()
    return Record(
        id=fields["question_id"].text(),
        type=fields["question_type"].text(),
        question=fields["question"].text(),
        answer=answer,
        when=fields["question_date"].text(),
        at=at,
        sessions=sessions,
        answer_sessions=cited,
        notes=tuple(_notes(sessions, cited, at)),
    )


def _answer(item: Field) -> str:
    value = item.value
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number and not (isinstance(value, str) and value.strip()):
        raise item.error("a text or a number")
    return str(value)


def _sessions(lists: Mapping[str, list[Field]]) -> tuple[Session, ...]:
    dates, said = lists["haystack_dates"], lists["haystack_sessions"]
    given = [str(name.value) for name in lists.get("haystack_session_ids", ())]
    names = given or [f"session_{number}" for number in range(len(said))]
    sessions = [_session(name, date, turns) for name, date, turns in zip(names, dates, said, strict=True)]
    return tuple(sorted(sessions, key=lambda session: session.at))


def _session(name: str, date: Field, turns: Field) -> Session:
    when = date.text()
    at = read_date(when)
    if at is None:
        raise date.error("a date such as '2023/05/30 (Tue) 23:40'")
    return Session(name, when, at, tuple(map(_turn, turns.items("turns"))))


def _turn(item: Field) -> Turn:
    fields = item.mapping(required=("role", "content"))
    role, content = fields["role"].value, fields["content"].value
    if role not in {"user", "assistant"}:
        raise fields["role"].error("'user' or 'assistant'")
    if not isinstance(content, str):
        raise fields["content"].error("a text")
    return Turn(role, content, "has_answer" in fields and fields["has_answer"].value is True)


def _notes(sessions: tuple[Session, ...], cited: tuple[str, ...], at: datetime) -> Iterator[str]:
    count = Counter(session.id for session in sessions)
    absent = [name for name in cited if name not in count]
    if absent:
        yield f"its evidence is absent: no session {', '.join(absent)}"
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        yield f"the session {', '.join(twice)} is told more than once"
    if sessions and sessions[-1].at > at:
        yield "the question is dated before its last session"
