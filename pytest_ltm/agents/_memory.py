"""Memory policies: which earlier exchanges the embedded reader may still see."""

from __future__ import annotations

import random
import re
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm.agents._retrieval import Retrieving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ENCODING = "cl100k_base"
"""Memory is measured in tokens of this encoding, whatever measures the conversation."""

_TOKENS = re.compile(r"(\d+(?:\.\d+)?)(k?)")
_TOP = re.compile(r"top([1-9]\d{0,5})")


class Memory(Protocol):
    """Decides which exchanges can still be seen; knows the conversation's text and nothing else."""

    def arrive(self, message: str) -> None:
        """Take in the message of the next exchange, before it is answered."""
        ...

    def leave(self, reply: str) -> None:
        """Take in the reply to it."""
        ...

    def overlook(self) -> None:
        """The last message only asks: nothing is in it that anybody would look for."""
        ...

    def sees(self, position: int) -> bool:
        """Return whether the exchange of this number can be seen while the last message is answered."""
        ...

    def state(self) -> Any:
        """Return all state as JSON values."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""
        ...


class Full:
    """Sees everything."""

    def arrive(self, message: str) -> None:
        """Need nothing."""

    def leave(self, reply: str) -> None:
        """Need nothing."""

    def overlook(self) -> None:
        """Need nothing."""

    def sees(self, position: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True."""
        return True

    def state(self) -> None:
        """Return None: there is no state."""

    def restore(self, state: Any) -> None:
        """Need nothing."""


class Window:
    """Sees the newest exchanges that fit whole into so many tokens, the message being answered included."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._sizes: deque[int] = deque()
        self._used = 0
        self._first = 0

    def arrive(self, message: str) -> None:
        """Add the message; the oldest exchanges make room for it."""
        self._sizes.append(count(message))
        self._used += self._sizes[-1]
        while self._used > self._tokens and len(self._sizes) > 1:
            self._used -= self._sizes.popleft()
            self._first += 1

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        size = count(reply)
        self._sizes[-1] += size
        self._used += size

    def overlook(self) -> None:
        """Need nothing."""

    def sees(self, position: int) -> bool:
        """Return whether the exchange is in the window."""
        return position >= self._first

    def state(self) -> list[Any]:
        """Return the first visible exchange's number and the sizes in the window."""
        return [self._first, list(self._sizes)]

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""
        self._first, sizes = state
        self._sizes = deque(sizes)
        self._used = sum(sizes)


class Forgetful:
    """Forgets each exchange with the same chance, once and for all: the same ones in every equal conversation."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._newest = -1
        self._forgotten: set[int] = set()

    def arrive(self, message: str) -> None:
        """Decide whether the exchange will be forgotten: its text and its place decide."""
        self._newest += 1
        if random.Random(f"forgetful {self._newest} {message}").random() < self._share:
            self._forgotten.add(self._newest)

    def leave(self, reply: str) -> None:
        """Need nothing."""

    def overlook(self) -> None:
        """Need nothing."""

    def sees(self, position: int) -> bool:
        """Return whether the exchange is remembered; the one being answered always is."""
        return position == self._newest or position not in self._forgotten

    def state(self) -> list[Any]:
        """Return the newest exchange's number and those that are forgotten."""
        return [self._newest, sorted(self._forgotten)]

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""
        self._newest, forgotten = state
        self._forgotten = set(forgotten)


def make_memory(policy: str, argument: str) -> Callable[[], Memory]:
    """Return what makes a fresh memory for each conversation.

    Raises ConfigurationError for an unknown policy or an argument that the policy cannot use.
    """
    if policy not in _POLICIES:
        hint = did_you_mean(policy, _POLICIES)
        raise ConfigurationError(f"unknown memory policy {policy!r}.{hint} There are: {', '.join(sorted(_POLICIES))}")
    return _POLICIES[policy](argument)


def _full(argument: str) -> Callable[[], Memory]:
    if argument:
        raise ConfigurationError(f"'full:{argument}': the policy 'full' takes no argument. Write 'full'")
    return Full


def _window(argument: str) -> Callable[[], Memory]:
    tokens = tokens_of("window", argument)
    return lambda: Window(tokens)


def _bm25(argument: str) -> Callable[[], Memory]:
    best = _TOP.fullmatch(argument.strip().lower())
    if best:
        return lambda: Retrieving(0, lambda _: 0, top=int(best[1]))
    tokens = tokens_of("bm25", argument)
    return lambda: Retrieving(tokens, count)


def _forgetful(argument: str) -> Callable[[], Memory]:
    try:
        share = float(argument)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ConfigurationError(
            f"'forgetful:{argument}': {argument!r} is no share of 0 to 1. Write it as in 'forgetful:0.2'"
        )
    return lambda: Forgetful(share)


_POLICIES: Mapping[str, Callable[[str], Callable[[], Memory]]] = {
    "full": _full,
    "window": _window,
    "bm25": _bm25,
    "forgetful": _forgetful,
}


def tokens_of(policy: str, argument: str) -> int:
    """Return the number of tokens that `8k` or `500` says."""
    match = _TOKENS.fullmatch(argument.strip().lower())
    tokens = round(float(match.group(1)) * (1000 if match.group(2) else 1)) if match else 0
    if tokens < 1:
        raise ConfigurationError(
            f"'{policy}:{argument}': {argument!r} is no number of tokens. Write it as in '{policy}:8k'"
        )
    return tokens


def count(text: str) -> int:
    """Return the text's tokens in `ENCODING`."""
    from pytest_ltm._tokens import counter  # noqa: PLC0415 - `full` never needs the encoding

    return counter(ENCODING).count(text)
