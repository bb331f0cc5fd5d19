"""Reads: how many tokens an agent is sent for each reply, by what its memory or its context limit shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_ltm._tokens import counter
from pytest_ltm.agents._history import History
from pytest_ltm.agents._memory import count

if TYPE_CHECKING:
    from pytest_ltm.agents._memory import Memory
    from pytest_ltm.agents._openai import Shown

_ROOM = 1000


class Reads(Protocol):
    """Counts for one conversation."""

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the tokens that are sent with a message, and how many of them at best come from a cache."""
        ...

    def tell(self, message: str, reply: str) -> None:
        """Take in an exchange that is told."""
        ...


class Sent:
    """Each message alone: what else the agent reads for its reply is its own affair."""

    def ask(self, message: str, reply: str) -> tuple[int, int]:  # noqa: ARG002 - the protocol's signature
        """Return the tokens of the message."""
        return count(message), 0

    def tell(self, message: str, reply: str) -> None:
        """Need nothing."""


class Whole:
    """The whole conversation."""

    def __init__(self) -> None:
        self._size = self._sent = 0

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return all tokens so far; those of the prompt before come from a cache."""
        cached, asked = self._sent, self._size + count(message)
        self._sent, self._size = asked, asked + count(reply)
        return asked, cached

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._size += count(message) + count(reply)


class Seen:
    """What a memory policy of the embedded reader shows."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sizes: list[int] = []

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the tokens of the exchanges that are seen, the message among them."""
        self._memory.arrive(message)
        self._sizes.append(count(message))
        seen = sum(size for position, size in enumerate(self._sizes) if self._memory.sees(position))
        self._leave(reply)
        return seen, 0

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._memory.arrive(message)
        self._sizes.append(count(message))
        self._leave(reply)

    def _leave(self, reply: str) -> None:
        self._memory.leave(reply)
        self._sizes[-1] += count(reply)


class Chat:
    """The prompt of a chat model: system prompt, as much of the conversation as its context takes, the message."""

    def __init__(self, shown: Shown, max_tokens: int | None) -> None:
        self._history = History(shown.system, counter(shown.tokenizer).count)
        context = shown.context
        room = 0 if context is None else max_tokens or min(_ROOM, context // 4)
        self._limit = None if context is None else max(1, context - room)
        self._sent = self._exchanges = 0

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the size of the prompt; the prompt before it is its beginning, unless something was cut since."""
        size = self._history.size_of(message)
        self._cut(size)
        whole = len(self._history) == self._exchanges
        cached, asked = self._sent if whole else 0, self._history.estimate(size)
        self._add(message, size, reply)
        self._sent = asked
        return asked, cached

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._add(message, self._history.size_of(message), reply)

    def _add(self, message: str, size: int, reply: str) -> None:
        self._exchanges = len(self._history) + 1
        self._history.add(message, size, reply)

    def _cut(self, size: int) -> None:
        if self._limit is not None:
            self._history.cut(size, self._limit)
