"""Filler: exchanges that belong to no scenario and only use up tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FillerExchange:
    """One message that keeps the agent busy, with the reply that it asks for."""

    message: str
    expected_reply: str


class Filler(Protocol):
    """A source of filler; one instance serves one conversation."""

    def make(self, tokens: int) -> FillerExchange:
        """Return filler whose message plus expected reply have about `tokens` tokens, never more.

        If not even the smallest filler fits, return the smallest. Costs time linear in `tokens`.
        """
        ...

    def configuration(self) -> object:
        """Return JSON values for the plan's fingerprint."""
        ...
