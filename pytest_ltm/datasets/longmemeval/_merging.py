"""One history for many questions: the sessions of all, none told twice, interleaved by date."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.datasets.longmemeval._schema import Record, Session, Turn

Key: TypeAlias = "tuple[str, tuple[Turn, ...], str]"


class Merging:
    """Takes records one by one and keeps each of their sessions once.

    A filler session that several records have is told at the date of the first that has it; one that is evidence for
    a question is told at the date at which that question has it.
    """

    def __init__(self) -> None:
        self._evidence: dict[Key, tuple[str, Session]] = {}
        """With the id of the record that it comes from."""
        self._fillers: dict[Key, tuple[str, Session]] = {}

    def add(self, record: Record) -> list[Key]:
        """Take a record's sessions; returns the keys of those that hold its evidence."""
        cited = []
        for session in record.sessions:
            if holds_evidence(session, record):
                key = (session.id, session.turns, session.when)
                self._evidence.setdefault(key, (record.id, session))
                cited.append(key)
            else:
                self._fillers.setdefault((session.id, session.turns, ""), (record.id, session))
        return list(dict.fromkeys(cited))

    def sessions(self) -> dict[Key, Session]:
        """Return all sessions by date; those of one moment in the order in which they came.

        Of several with one id and other words, or another date, all but the first have their record's id in front.
        """
        told = {key[:2] for key in self._evidence}
        fillers = {key: found for key, found in self._fillers.items() if key[:2] not in told}
        taken: set[str] = set()
        named = {}
        for key, (record, session) in {**self._evidence, **fillers}.items():
            named[key] = replace(session, id=f"{record}/{session.id}") if session.id in taken else session
            taken.add(session.id)
        return dict(sorted(named.items(), key=lambda item: item[1].at))


def holds_evidence(session: Session, record: Record) -> bool:
    """Return whether the answer to a record's question depends on a session."""
    return session.id in record.answer_sessions or any(turn.has_answer for turn in session.turns)


def marked_or_all(sessions: Sequence[Session]) -> tuple[str, ...]:
    """Return the ids of the turns that hold the answer; all turns of these sessions where none is marked."""
    turns = [(turn_id(session, number), turn) for session in sessions for number, turn in enumerate(session.turns, 1)]
    marked = [name for name, turn in turns if turn.has_answer]
    return tuple(dict.fromkeys(marked or [name for name, _ in turns]))


def turn_id(session: Session, number: int) -> str:
    """Return the id of a turn, counted from 1, as the published retrieval corpora have it."""
    return f"{session.id}_{number}"
