"""What conversations would take, as a dry run finds out: messages, tokens and when each example speaks."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

OPINION, MESSAGE = 60, 45
"""Tokens of a judge's reply, and of what a simulated user's model writes."""


class Bar(Struct, frozen=True, kw_only=True):
    """One example in the schedule, in tokens of the conversation."""

    scenario: str
    example: str
    start: int
    end: int
    speaks: tuple[int, ...]
    """Where its own messages begin."""


class TokenUse(Struct, frozen=True, kw_only=True):
    """What some messages of a conversation take."""

    messages: int = 0
    """That are answered."""
    tokens_in: int = 0
    """What is sent for the replies, with all that is sent again."""
    cached: int = 0
    """Of those, what may come from the provider's cache at best."""
    tokens_out: int = 0

    def __add__(self, other: TokenUse) -> TokenUse:
        return TokenUse(
            **{
                name: getattr(self, name) + getattr(other, name)
                for name in self.__struct_fields__
            }
        )


class Schedule(Struct, frozen=True):
    """When the examples of one conversation speak."""

    bars: tuple[Bar, ...]
    tokens: int
    """How long the conversation is,"""
    examples: int
    """and how many examples it has: some of them may be silent."""


# What conversations take together is the sum of what each takes.
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
    """What one conversation would take, or several of an agent at a span."""

    agent: str
    span_label: str
    conversations: int = 1
    tokens: int
    """Of all messages and replies, each once."""
    filler_tokens: int
    told: int
    """Exchanges that the agent is told without being asked for a reply."""
    retold: int = 0
    """Exchanges that it is told again, because after a question asked alone there is no other way back."""
    scenarios: TokenUse
    filler: TokenUse
    """Filler, and the history of a data set."""
    harness: TokenUse
    """The opening message, and messages that end a scenario."""
    judge: TokenUse
    users: Mapping[str, TokenUse]
    """What the models of simulated users would take at most."""
    longest_gap: int
    """Tokens between something said and the question that depends on it."""
    simulated_seconds: float
    examples: int
    unplayed: tuple[str, ...]
    """Why examples would be skipped, a sentence each."""
    cut_short: int
    """Examples whose body ended before its last line because of a simulated answer."""
    schedule: Schedule
    """That of the first of them."""
    assumed_reply: int | None = None
    """Tokens that each reply was assumed to have; None: what is typical."""

    def __add__(self, other: Forecast) -> Forecast:
        names = dict.fromkeys([*self.users, *other.users])
        return structs.replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in _SUMMED},
            users={
                name: self.users.get(name, TokenUse())
                + other.users.get(name, TokenUse())
                for name in names
            },
            longest_gap=max(self.longest_gap, other.longest_gap),
            unplayed=tuple(dict.fromkeys([*self.unplayed, *other.unplayed])),
        )

    @property
    def agent_use(self) -> TokenUse:
        """What the agent would take."""
        return self.scenarios + self.filler + self.harness
