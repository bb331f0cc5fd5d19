"""History: dated exchanges of a data set that the agent is told in the place of filler, the oldest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class PastExchange:
    """One exchange of a history."""

    id: str
    """What questions name it by: the id of its turn or session, unique in its history."""
    at: datetime
    """When it happened, aware; none is earlier than the one before it."""
    message: str
    """What an agent that accepts history is told as the message,"""
    reply: str
    """and as the reply to it."""
    asked: str
    """What any other agent is sent; it replies to that, and the reply earns nothing."""
    holds: tuple[str, ...] = ()
    """Ids of the turns in it, where it has several: questions may name these, too."""
