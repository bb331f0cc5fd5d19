"""Adapter for code that takes the message history, as chat models do, instead of one message."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from pytest_ltm.agents.answers import text_of_reply
from pytest_ltm.agents.capabilities import required_parameters
from pytest_ltm.agents.replying import HISTORY_NAMES
from pytest_ltm.agents.signatures import signature_of
from pytest_ltm.api.model import Reply

_LISTS = re.compile(r"(?:\w+\.)?(?:list|Sequence|Iterable)\b", re.IGNORECASE)


def takes_messages(call: object) -> bool:
    """Return whether a callable's signature takes the message history instead of one message."""
    if not callable(call):
        return False
    try:
        positional, keywords = required_parameters(call)
        parameters = signature_of(call).parameters
    except (TypeError, ValueError):
        return False
    if keywords or len(positional) != 1:
        return False
    annotation = parameters[positional[0]].annotation
    if annotation is inspect.Parameter.empty:
        return positional[0] in HISTORY_NAMES
    text = annotation if isinstance(annotation, str) else repr(annotation)
    text = text.removeprefix("<class '")
    return _LISTS.match(text) is not None


def history_place(call: object) -> int | None:
    """Return which of a function's two parameters (0, 1) takes the earlier messages; None if neither."""
    if not inspect.isfunction(call):
        return None
    positional, keywords = required_parameters(call)
    if keywords or len(positional) != 2:
        return None
    places = [place for place in (0, 1) if positional[place] in HISTORY_NAMES]
    return places[0] if len(places) == 1 else None


class MessagesAgent:
    """The agent of one conversation around code that takes the message history, as chat models do.

    `place`: the position of the parameter for the earlier messages, if the current
    message has its own parameter; None: one parameter takes them all.
    """

    def __init__(self, call: Callable[..., Any], place: int | None = None) -> None:
        self._call = call
        self._place = place
        self._messages: list[dict[str, str]] = []
        # Assigned here because `reply` itself must show whether the agent is async.
        if inspect.iscoroutinefunction(call):
            self.reply = self._reply_later
        else:
            self.reply = self._reply_now

    def accept(self, message: str, reply: str) -> None:
        """Add an exchange that the agent did not generate."""
        self._messages.append({"role": "user", "content": message})
        self._messages.append({"role": "assistant", "content": reply})

    def _reply_now(self, message: str) -> Any:
        return self._keep(message, self._call(*self._arguments(message)))

    async def _reply_later(self, message: str) -> Any:
        call = cast("Callable[..., Awaitable[Any]]", self._call)
        return self._keep(message, await call(*self._arguments(message)))

    def _arguments(self, message: str) -> list[Any]:
        # A new list for each call: some code appends the reply to it.
        messages = [*map(dict, self._messages)]
        if self._place is None:
            return [[*messages, {"role": "user", "content": message}]]
        arguments: list[Any] = [message]
        arguments.insert(self._place, messages)
        return arguments

    def _keep(self, message: str, result: object) -> Any:
        reply = text_of_reply(result)
        text = reply.text if isinstance(reply, Reply) else reply
        if isinstance(text, str):
            self.accept(message, text)
        return reply
