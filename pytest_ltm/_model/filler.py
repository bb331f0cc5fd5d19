"""Filler: exchanges that belong to no scenario and only use up tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FillerExchange:
    """One message that keeps the agent busy, with the reply that it asks for."""

    message: str
    """What the agent is sent."""
    expected_reply: str
    """The reply that the message asks for: told to an agent that accepts history, else only used to measure."""
    message_tokens: int | None = None
    """Tokens of the message by the plan's counter, where the filler knows them exactly, to save counting again."""


class Filler(Protocol):
    """A source of filler; one instance serves one conversation."""

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return filler whose message plus expected reply just reach `tokens` tokens: one item less would not.

        It may be less, and is then asked for the rest. Takes time linear in the tokens made.

        Args:
            tokens: The size wanted; 0 asks for the smallest filler.
            max_message_tokens: The message must not be larger.

        Raises:
            FillerError: If it cannot fill.
        """

    def configuration(self) -> object:
        """Return JSON values for the plan's fingerprint."""
