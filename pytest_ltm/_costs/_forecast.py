"""Forecast: what one conversation would take, of a dry run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One example in the schedule, in tokens of the conversation."""

    scenario: str
    example: str
    start: int
    end: int
    speaks: tuple[int, ...]
    """Where its own messages begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What some messages of a conversation take."""

    messages: int = 0
    """That are answered."""
    tokens_in: int = 0
    """What is sent for the replies, with all that is sent again."""
    cached: int = 0
    """Of those, what may come from the provider's cache at best."""
    tokens_out: int = 0

    def __add__(self, other: Use) -> Use:
        return Use(
            messages=self.messages + other.messages, tokens_in=self.tokens_in + other.tokens_in,
            cached=self.cached + other.cached, tokens_out=self.tokens_out + other.tokens_out,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What one conversation would take."""

    agent: str
    span_label: str
    trial: str
    tokens: int
    """Of all messages and replies, each once."""
    filler_tokens: int
    told: int
    """Exchanges that the agent is told without being asked for a reply."""
    scenarios: Use
    filler: Use
    """Filler, and the history of a data set."""
    harness: Use
    """The opening message, and messages that end a scenario."""
    judge: Use
    longest_gap: int
    """Tokens between something said and the question that depends on it."""
    simulated_seconds: float
    examples: int
    unplayed: tuple[str, ...]
    """Why examples would be skipped, a sentence each."""
    cut_short: int
    """Examples whose body ended before its last line because of an answer of the stand-in."""
    bars: tuple[Bar, ...]

    @property
    def agent_use(self) -> Use:
        """What the agent would take."""
        return self.scenarios + self.filler + self.harness
