"""A memory that goes by length alone: the control that shows which needles stand out by their size."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class ByLength:
    """Sees the message being answered and, of the others, the longest (or shortest) that fit into so many tokens.

    The length of an exchange is that of its message, in tokens; of equal ones the newer is seen. Its reply needs
    room, too.
    """

    def __init__(self, tokens: int, count: Callable[[str], int], *, shortest: bool = False) -> None:
        self._tokens, self._count, self._sign = tokens, count, 1 if shortest else -1
        self._lengths: list[int] = []
        self._sizes: list[int] = []
        self._ranked: list[tuple[int, int]] = []
        self._seen: frozenset[int] | None = None

    def arrive(self, message: str) -> None:
        """Add the message; the one before it takes its place among the others."""
        if self._lengths:
            self._rank(len(self._lengths) - 1)
        self._lengths.append(self._count(message))
        self._sizes.append(self._lengths[-1])
        self._seen = None

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        self._sizes[-1] += self._count(reply)

    def drop(self) -> None:
        """Forget the newest message, which got no reply."""
        self._lengths.pop()
        self._sizes.pop()
        self.restore([self._lengths, self._sizes])

    def overlook(self) -> None:
        """Need nothing."""

    def sees(self, position: int) -> bool:
        """Return whether the exchange is among those that are kept."""
        if self._seen is None:
            self._seen = frozenset(self._kept())
        return position in self._seen

    def state(self) -> list[Any]:
        """Return lengths and sizes."""
        return [self._lengths, self._sizes]

    def restore(self, state: Any) -> None:
        """Go back to what `state` returned."""
        self._lengths, self._sizes = state
        self._ranked, self._seen = [], None
        for position in range(len(self._lengths) - 1):
            self._rank(position)

    def _rank(self, position: int) -> None:
        bisect.insort(self._ranked, (self._sign * self._lengths[position], -position))

    def _kept(self) -> list[int]:
        newest = len(self._sizes) - 1
        kept, left = [newest], self._tokens - self._sizes[newest]
        for _, negative in self._ranked:
            if self._sizes[-negative] <= left:
                kept.append(-negative)
                left -= self._sizes[-negative]
        return kept
