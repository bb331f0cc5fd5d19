"""Filler: exchanges that belong to no scenario and only use up tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FillerExchange:
    """One message that keeps the agent busy, with the reply that it asks for."""

    message: str
    expected_reply: str
    message_tokens: int | None = None
    """Tokens of the message by the plan's counter, where the filler knows them exactly: then nobody counts again."""


class Filler(Protocol):
    """A source of filler; one instance serves one conversation."""

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return filler whose message plus expected reply just reach `tokens` tokens: one item less would not.

        It may be less, and is then asked for the rest: the message never has more than `max_message_tokens`. 0 tokens
        ask for the smallest filler. Costs time linear in the tokens made.
        """
        ...

    def configuration(self) -> object:
        """Return JSON values for the plan's fingerprint."""
        ...
