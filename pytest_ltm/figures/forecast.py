"""The expected effort of conversations, as a dry run finds it: messages, tokens, and when each example speaks."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

OPINION, MESSAGE = 60, 45
"""Assumed tokens of a judge's reply, and of a message written by a simulated user's model."""


class Bar(Struct, frozen=True, kw_only=True):
    """One example in the schedule, in tokens of the conversation."""

    scenario: str
    example: str
    start: int
    end: int
    speaks: tuple[int, ...]
    """The positions where its own messages begin."""


class TokenUse(Struct, frozen=True, kw_only=True):
    """The expected usage of some messages."""

    messages: int = 0
    """Number of messages that get a reply."""
    tokens_in: int = 0
    """Tokens sent for the replies, including what is sent again."""
    cached: int = 0
    """Input tokens that the provider's cache may supply at best."""
    tokens_out: int = 0

    def __add__(self, other: TokenUse) -> TokenUse:
        sums: dict[str, int] = {}
        for name in self.__struct_fields__:
            sums[name] = getattr(self, name) + getattr(other, name)
        return TokenUse(**sums)


class Schedule(Struct, frozen=True):
    """The schedule of the examples of one conversation."""

    bars: tuple[Bar, ...]
    tokens: int
    """The length of the conversation."""
    examples: int
    """The number of examples, some of which may be silent."""


# Fields that are summed over conversations.
_SUMMED = (
    "conversations",
    "tokens",
    "filler_tokens",
    "told",
    "retold",
    "scenarios",
    "filler",
    "harness",
    "judge",
    "simulated_seconds",
    "examples",
    "cut_short",
)


class Forecast(Struct, frozen=True, kw_only=True):
    """The expected effort of one conversation, or of several of an agent at a span."""

    agent: str
    span_label: str
    conversations: int = 1
    tokens: int
    """Tokens of all messages and replies, each counted once."""
    filler_tokens: int
    told: int
    """Exchanges that the agent is given without being asked for a reply."""
    retold: int = 0
    """Exchanges given again after a question asked alone, as the agent has no other way back."""
    scenarios: TokenUse
    filler: TokenUse
    """Usage of filler, and of a data set's history."""
    harness: TokenUse
    """Usage of the opening message, and of messages that end a scenario."""
    judge: TokenUse
    users: Mapping[str, TokenUse]
    """The maximum usage of the models of simulated users."""
    longest_gap: int
    """Tokens between a statement and the question that depends on it."""
    simulated_seconds: float
    examples: int
    unplayed: tuple[str, ...]
    """Why examples would be skipped, a sentence each."""
    cut_short: int
    """Number of examples whose body ended before its last line because of a simulated answer."""
    schedule: Schedule
    """The schedule of the first of the conversations."""
    assumed_reply: int | None = None
    """The assumed tokens of each reply; None for a typical length."""

    def __add__(self, other: Forecast) -> Forecast:
        users = dict(self.users)
        for name, use in other.users.items():
            users[name] = users.get(name, TokenUse()) + use
        return structs.replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in _SUMMED},
            users=users,
            longest_gap=max(self.longest_gap, other.longest_gap),
            unplayed=tuple(dict.fromkeys([*self.unplayed, *other.unplayed])),
        )

    @property
    def agent_use(self) -> TokenUse:
        """The agent's total usage."""
        return self.scenarios + self.filler + self.harness
