"""What a LoCoMo file holds: samples of dated sessions of two speakers, with questions about them.

Fields that would give answers away (a photo's search `query`) are not read at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import IntEnum
from typing import TYPE_CHECKING

from pytest_ltm._language.dates import MONTHS, month_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date


@dataclass(frozen=True, slots=True)
class LocomoTurn:
    """What one speaker says at a time, maybe with a photo."""

    id: str
    """`D<session>:<turn>`, both from 1."""
    speaker: str
    text: str
    caption: str = ""
    """What the photo shows, in words; "" where there is none."""
    images: tuple[str, ...] = ()
    """Addresses of the photos."""


@dataclass(frozen=True, slots=True)
class LocomoSession:
    """One sitting of the two speakers."""

    number: int
    """From 1, as in the file."""
    when: str
    """Its date as the file writes it."""
    at: datetime
    """The same, aware (UTC)."""
    turns: tuple[LocomoTurn, ...]


@dataclass(frozen=True, slots=True)
class LocomoQuestion:
    """A question about the whole conversation."""

    index: int
    """Its place in the sample: texts may occur twice, so they cannot be the key."""
    category: Category
    text: str
    answer: str | None
    """The gold answer; adversarial questions have none but for two in the published file."""
    adversarial_answer: str | None = None
    """The wrong answer that an adversarial question suggests."""
    evidence: tuple[str, ...] = ()
    """Ids of the turns that hold the answer, repaired: each exists."""
    cited: tuple[str, ...] = ()
    """The same as the file has them."""


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """What happened in the life of a speaker around one session, by the file."""

    session: int
    date: str
    of: Mapping[str, tuple[str, ...]]
    """Speaker -> events, each a sentence; may be empty."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A fact about a speaker that somebody noted after a session."""

    speaker: str
    text: str
    evidence: tuple[str, ...]
    session: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One long conversation and what is asked about it."""

    id: str
    speakers: tuple[str, str]
    sessions: tuple[LocomoSession, ...]
    """In the order of their dates."""
    questions: tuple[LocomoQuestion, ...]
    events: tuple[SessionEvents, ...] = ()
    observations: tuple[Observation, ...] = ()
    summaries: Mapping[int, str] = field(default_factory=dict)
    """Session number -> its summary."""
    notes: tuple[str, ...] = ()
    """What is odd about the file, a sentence each."""

    @property
    def turns(self) -> tuple[LocomoTurn, ...]:
        """All turns, in the order in which they were said."""
        return tuple(turn for session in self.sessions for turn in session.turns)


# --- Dates as LoCoMo writes them: `1:56 pm on 8 May, 2023`.

_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([A-Za-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_NOON = 12


def read_date(text: str) -> datetime | None:
    """Return the aware (UTC) date that the text gives, None if it gives none."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    hour, minute, half, day, month, year = match.groups()
    number = month_number(month)
    if number is None or not 1 <= int(hour) <= _NOON:
        return None
    try:
        return datetime(
            int(year), number, int(day), int(hour) % _NOON + _NOON * (half.lower() == "p"), int(minute),
            tzinfo=timezone.utc,
        )  # fmt: skip
    except ValueError:
        return None


def format_locomo_date(at: datetime) -> str:
    """Return the date as the data set writes it."""
    hour = at.hour % _NOON or _NOON
    return f"{hour}:{at.minute:02} {'am' if at.hour < _NOON else 'pm'} on {written_day(at)}"


def written_day(at: date) -> str:
    """Return the day as the data set writes it: `8 May, 2023`."""
    return f"{at.day} {MONTHS[at.month - 1]}, {at.year}"


# --- The five categories of LoCoMo's questions, by number and name (Maharana et al., 2024, section 4.1).


class Category(IntEnum):
    """A question's category, numbered as in the file."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5

    @property
    def label(self) -> str:
        """The name that reports use: `multi-hop`, `temporal`, ..."""
        return self.name.lower().replace("_", "-")
