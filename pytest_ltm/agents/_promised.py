"""Promised: what an adapter's settings say of an agent that is not there yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promised:
    """The powers that the agent will have, and the largest message that it will take (None: of the usual size)."""

    powers: frozenset[str]
    max_message_tokens: int | None = None
