"""What a LongMemEval file holds: records of one question each, with the dated sessions of its own history."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
"""The question types of the published files."""

ABILITIES = ("information-extraction", "multi-session", "temporal-reasoning", "knowledge-update", "abstention")
"""The abilities that the questions test (Wu et al., 2025, section 3.1)."""

ABSTENTION = "_abs"
"""How the id of a question ends that cannot be answered: this decides, whatever its type (Wu et al., 2025)."""

_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([A-Za-z]+\))?(?:\s+(\d{1,2}):(\d{2}))?")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one party says at a time."""

    role: str
    """`user` or `assistant`."""
    content: str
    has_answer: bool = False
    """Whether it holds evidence, where the file says so."""


@dataclass(frozen=True, slots=True)
class Session:
    """One dated sub-dialogue of a history; may begin with either party, who need not alternate."""

    id: str
    when: str
    """Its date as the file writes it."""
    at: datetime
    """The same, aware (UTC)."""
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One question and its history."""

    id: str
    type: str
    question: str
    answer: str
    when: str
    """The question's date as the file writes it."""
    at: datetime
    """The same, aware (UTC)."""
    sessions: tuple[Session, ...]
    """In the order of their dates; equal dates in the order of the file."""
    answer_sessions: tuple[str, ...] = ()
    """Ids of the sessions that hold the evidence."""
    notes: tuple[str, ...] = ()
    """What is odd about it, a sentence each."""

    @property
    def abstention(self) -> bool:
        """Whether the right answer is that nobody can know."""
        return is_abstention(self.id)


def is_abstention(question_id: str) -> bool:
    """Return whether a question is one that cannot be answered, which its id alone decides."""
    return question_id.endswith(ABSTENTION)


def ability_of(question_id: str, question_type: str) -> str:
    """Return the ability that a question tests; one that cannot be answered tests abstention, whatever its type."""
    if is_abstention(question_id):
        return "abstention"
    return "information-extraction" if question_type.startswith("single-session") else question_type


def read_date(text: str) -> datetime | None:
    """Return the aware (UTC) date that `2023/05/30 (Tue) 23:40` gives, None if it gives none."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
    except ValueError:
        return None


def written(at: datetime) -> str:
    """Return a date as the data set writes it; English days, whatever the locale."""
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[at.weekday()]
    return f"{at:%Y/%m/%d} ({day}) {at:%H:%M}"
