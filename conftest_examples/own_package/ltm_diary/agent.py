"""An agent that remembers its last messages verbatim."""

from __future__ import annotations

from collections import deque
from functools import partial


class LastMessages:
    def __init__(self, number: int) -> None:
        self._messages: deque[str] = deque(maxlen=number)

    def reply(self, message: str) -> str:
        reply = " ".join(self._messages)
        self._messages.append(message)
        return reply or "Hello."


def make_reader(argument: str):
    if not argument.isdecimal():
        raise ValueError(f"{argument!r} is not a number of messages")
    return partial(LastMessages, int(argument))
