"""What is told in one conversation, and what is known of each question that is asked there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval._delivery import history
from pytest_ltm.datasets.longmemeval._merging import Merging, holds_evidence, marked_or_all, turn_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from pytest_ltm._history import PastExchange
    from pytest_ltm.datasets.longmemeval._schema import Record, Session

LATER = "the history that it shares with others goes on after its date"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, and where its evidence stands in the history that is told."""

    id: str
    type: str
    text: str
    answer: str
    when: str
    """Its date as the file writes it."""
    at: datetime
    """The same, aware (UTC)."""
    sessions: tuple[str, ...]
    """Ids of the sessions that hold the evidence, as they are told."""
    evidence: tuple[str, ...]
    """Ids of the turns that do: those marked, or all of these sessions."""
    wanted: tuple[str, ...]
    """Ids of the user's turns that a retriever should find; empty where retrieval is not measured."""
    after: int
    """So many exchanges of the history have been told when all of the evidence has; all where there is none."""
    notes: tuple[str, ...]
    """What is odd about it, a sentence each."""


@dataclass(frozen=True, slots=True)
class Told:
    """A history and the questions asked about it."""

    past: Sequence[PastExchange]
    questions: Mapping[str, Question]
    """By id."""
    irregular: Mapping[str, tuple[int, ...]]
    """The numbers of the user's turns, for sessions in which these are not the 1st, 3rd, 5th and so on."""

    @property
    def last(self) -> datetime | None:
        """When the last session was; None if there is none."""
        return self.past[-1].at if self.past else None


def told_alone(record: Record | None) -> Told:
    """Return a record's own history, as its file has it but for the order, which is by date; None: nothing is told."""
    if record is None:
        return Told((), {}, {})
    cited = [session for session in record.sessions if holds_evidence(session, record)]
    past = history(record.sessions)
    return Told(past, {record.id: _question(record, cited, past)}, _irregular(record.sessions))


def told_together(records: Iterable[Record]) -> Told:
    """Return one history for all records, which are taken one at a time."""
    merging = Merging()
    bare = [(merging.add(record), replace(record, sessions=())) for record in records]
    sessions = merging.sessions()
    past = history(list(sessions.values()))
    questions = {record.id: _question(record, [sessions[key] for key in keys], past) for keys, record in bare}
    return Told(past, questions, _irregular(sessions.values()))


def _question(record: Record, cited: Sequence[Session], past: Sequence[PastExchange]) -> Question:
    evidence = marked_or_all(cited)
    places = [number for number, one in enumerate(past, start=1) if not set(evidence).isdisjoint(one.holds)]
    later = bool(past) and past[-1].at > record.at and not record.sessions
    return Question(
        id=record.id,
        type=record.type,
        text=record.question,
        answer=record.answer,
        when=record.when,
        at=record.at,
        sessions=tuple(dict.fromkeys(session.id for session in cited)),
        evidence=evidence,
        wanted=() if record.abstention else _wanted(cited),
        after=max(places, default=len(past)),
        notes=(*record.notes, *((LATER,) if later else ())),
    )


def _wanted(cited: Sequence[Session]) -> tuple[str, ...]:
    """Return the user's turns that are marked, as often as they are told."""
    return tuple(
        turn_id(session, number)
        for session in cited
        for number, turn in enumerate(session.turns, start=1)
        if turn.has_answer and turn.role == "user"
    )


def _irregular(sessions: Iterable[Session]) -> dict[str, tuple[int, ...]]:
    found = {}
    for session in sessions:
        users = tuple(number for number, turn in enumerate(session.turns, start=1) if turn.role == "user")
        if users != tuple(range(1, len(session.turns) + 1, 2)):
            found[session.id] = users
    return found
