"""What a LoCoMo file holds: samples of dated sessions of two speakers, with questions about them.

Fields that would give answers away (a photo's search `query`) are not read at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pytest_ltm.datasets.locomo._categories import Category


@dataclass(frozen=True, slots=True)
class Turn:
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
class Session:
    """One sitting of the two speakers."""

    number: int
    """From 1, as in the file."""
    when: str
    """Its date as the file writes it."""
    at: datetime
    """The same, aware (UTC)."""
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the whole conversation."""

    index: int
    """Its place in the sample: texts occur twice, so that they are no key."""
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
class Events:
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
    sessions: tuple[Session, ...]
    """In the order of their dates."""
    questions: tuple[Question, ...]
    events: tuple[Events, ...] = ()
    observations: tuple[Observation, ...] = ()
    summaries: Mapping[int, str] = field(default_factory=dict)
    """Session number -> its summary."""
    notes: tuple[str, ...] = ()
    """What is odd about the file, a sentence each."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, in the order in which they were said."""
        return tuple(turn for session in self.sessions for turn in session.turns)
