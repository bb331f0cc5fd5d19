"""The event graph: what befell two people, when, with whom and by what cause, whether or not it is ever asked about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something true of one person."""

    id: str
    """`E<number>`, from 1, in the order in which they are told."""
    who: str
    kind: str
    """Key of `_texts.kinds`."""
    session: int
    """In which it is told, from 1."""
    on: date | None
    """The day it happened; None for what has no date."""
    roles: Mapping[str, str]
    """Who, what, where ...: role -> value."""
    causes: tuple[str, ...] = ()
    """Ids of the events that it came of."""
    plan: date | None = None
    """First day of the month in which the person means to take the next step."""
    after: str = ""
    """Id of the event that this one brings up to date: what was true before is so no longer."""


@dataclass(frozen=True, slots=True)
class World:
    """Two people, the days they talk, and their events."""

    speakers: tuple[str, str]
    dates: tuple[datetime, ...]
    """Of the sessions, in order, aware."""
    events: tuple[Event, ...]

    def other(self, who: str) -> str:
        """Return the speaker who is not `who`."""
        one, two = self.speakers
        return two if who == one else one

    def as_json(self) -> dict[str, Any]:
        """Return the graph as JSON values."""
        return {
            "speakers": list(self.speakers),
            "sessions": [at.isoformat() for at in self.dates],
            "events": [_plain(asdict(event)) for event in self.events],
        }


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if name in {"on", "plan"} and value else value
        for name, value in fields.items()
        if value
    }
