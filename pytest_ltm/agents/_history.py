"""History: what a chat model is shown of the conversation, cut at its old end to fit, and counted once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = 4
"""Tokens that a message takes beside its text: the role and the marks around it, in most chat formats."""
SILENCE = "(no reply)"
"""Shown in the place of an empty reply, because many endpoints refuse a conversation that holds one."""
_LEAST_RATIO, _MOST_RATIO = 0.5, 3.0
_ENOUGH = 200
"""Estimated tokens of a prompt above which its real size says something of the tokenizer."""


class History:
    """The exchanges that are still shown, oldest first, with their sizes as an estimate in tokens of ours.

    `ratio` is how many tokens of the model one of ours is, learned from what the endpoint says it counted. Adding,
    cutting and measuring take the same time however long the conversation is.
    """

    def __init__(self, system: str | None, count: Callable[[str], int]) -> None:
        self.count = count
        self.ratio = 1.0
        self._system = [{"role": "system", "content": system}] if system else []
        self._fixed = self.size_of(system) if system else 0
        self._exchanges: deque[tuple[str, str, int]] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._exchanges)

    def size_of(self, text: str) -> int:
        """Return the estimated tokens of one message."""
        return self.count(text) + FRAME

    def prompt(self, message: str) -> list[dict[str, str]]:
        """Return the messages to send: the system prompt, what is left of the history, the newest one."""
        messages = list(self._system)
        for said, replied, _ in self._exchanges:
            messages.append({"role": "user", "content": said})
            messages.append({"role": "assistant", "content": replied})
        messages.append({"role": "user", "content": message})
        return messages

    def estimate(self, newest: int) -> int:
        """Return the estimated tokens of the prompt whose newest message has `newest`."""
        return self._fixed + self._size + newest

    def add(self, message: str, size: int, reply: str) -> None:
        """Append an exchange; `size` is that of the message."""
        shown = reply if reply.strip() else SILENCE
        size += self.size_of(shown)
        self._exchanges.append((message, shown, size))
        self._size += size

    def cut(self, newest: int, tokens: float) -> None:
        """Drop the oldest exchanges until the prompt has at most so many tokens of the model, or none is left."""
        while self._exchanges and self.estimate(newest) * self.ratio > tokens:
            self._size -= self._exchanges.popleft()[2]

    def learn(self, newest: int, counted: int) -> None:
        """The model's endpoint says how long the prompt really was."""
        estimated = self.estimate(newest)
        if estimated >= _ENOUGH:
            self.ratio = min(_MOST_RATIO, max(_LEAST_RATIO, counted / estimated))

    def clear(self) -> None:
        """Forget all exchanges; what is known of the tokenizer stays."""
        self._exchanges.clear()
        self._size = 0

    def state(self) -> dict[str, Any]:
        """Return all state as JSON values."""
        return {"ratio": self.ratio, "exchanges": [list(exchange) for exchange in self._exchanges]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        self.ratio = state["ratio"]
        self._exchanges = deque((said, replied, size) for said, replied, size in state["exchanges"])
        self._size = sum(size for *_, size in self._exchanges)
