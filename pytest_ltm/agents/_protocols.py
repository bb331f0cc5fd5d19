"""What an agent is: one required method; extra powers are extra protocols, found by `isinstance`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider bills them (its own tokenizer, its own counting)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with what it used; a plain `str` does where there is nothing to tell."""

    text: str
    usage: Usage | None = None
    cost_usd: float | None = None
    hypothetical: bool = False
    """Nothing is spent: usage and cost are what they would be. No budget counts them."""


@runtime_checkable
class Agent(Protocol):
    """The conversational system under test."""

    def reply(self, message: str) -> str | Reply:
        """Return the agent's reply to one message; may also be an `async def`."""
        ...


@runtime_checkable
class Resettable(Protocol):
    """Can forget everything and begin a new conversation."""

    def reset(self) -> None:
        """Forget everything."""
        ...


@runtime_checkable
class Stateless(Protocol):
    """A promise: no reply depends on anything but its message."""

    stateless: Literal[True]


@runtime_checkable
class Checkpointable(Protocol):
    """Can be saved between two messages and brought back, also in another process."""

    def save(self) -> bytes:
        """Return all state."""
        ...

    def load(self, state: bytes) -> None:
        """Go back to what `save` returned."""
        ...


@runtime_checkable
class AcceptsHistory(Protocol):
    """Can be told an exchange without generating a reply."""

    def accept(self, message: str, reply: str) -> None:
        """Remember the exchange as if it had happened."""
        ...


@runtime_checkable
class TimeAware(Protocol):
    """Wants to know the conversation's time."""

    def tell_time(self, now: datetime) -> None:
        """Be told the time, aware, before every message."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """Can tell the tokens used since it was made."""

    def usage(self) -> Usage:
        """Return the sum so far."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """Counts tokens its own way: for cost and limits, never for spans and gaps."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the text."""
        ...


@runtime_checkable
class LimitsMessages(Protocol):
    """Takes messages up to a size of its own."""

    max_message_tokens: int


@runtime_checkable
class ShowsRetrieval(Protocol):
    """Can tell what it retrieved for its last reply."""

    def retrieved(self) -> Sequence[str]:
        """Return ids or texts, best first."""
        ...


@runtime_checkable
class AcceptsImages(Protocol):
    """Takes images beside a message."""

    def reply_with_images(self, message: str, images: Sequence[bytes]) -> str | Reply:
        """Return the reply to a message with images."""
        ...


@runtime_checkable
class Configured(Protocol):
    """Tells what its answers depend on: goes into the agent's fingerprint."""

    def configuration(self) -> Mapping[str, Any]:
        """Return JSON values, no secrets."""
        ...


POWERS: Mapping[str, type] = {
    power.__name__: power
    for power in (
        Resettable, Stateless, Checkpointable, AcceptsHistory, TimeAware, ReportsUsage,
        CountsTokens, LimitsMessages, ShowsRetrieval, AcceptsImages, Configured,
    )
}  # fmt: skip
"""The powers that a scenario may require, by name."""
