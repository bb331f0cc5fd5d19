"""Code that takes the messages so far, as chat models do, in place of one message."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from pytest_ltm.agents.answers import text_of_reply
from pytest_ltm.agents.capabilities import required_parameters
from pytest_ltm.api.model import Reply

_LISTS = re.compile(r"(?:\w+\.)?(?:list|Sequence|Iterable)\b", re.IGNORECASE)
_LIST_NAMES = frozenset({"messages", "history", "chat_history", "conversation"})


def takes_messages(call: object) -> bool:
    """Return whether a callable takes the messages so far, and not one message, as its signature says."""
    if not callable(call):
        return False
    try:
        positional, keywords = required_parameters(call)
        parameters = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False
    if keywords or len(positional) != 1:
        return False
    annotation = parameters[positional[0]].annotation
    if annotation is inspect.Parameter.empty:
        return positional[0] in _LIST_NAMES
    text = annotation if isinstance(annotation, str) else repr(annotation)
    text = text.removeprefix("<class '")
    return _LISTS.match(text) is not None


class MessagesAgent:
    """An agent of one conversation around code that takes the messages so far, as chat models do."""

    def __init__(self, call: Callable[[list[dict[str, str]]], Any]) -> None:
        self._call = call
        self._messages: list[dict[str, str]] = []
        # Chosen here: an async agent is known by its `reply`.
        if inspect.iscoroutinefunction(call):
            self.reply = self._reply_later
        else:
            self.reply = self._reply_now

    def accept(self, message: str, reply: str) -> None:
        """Add an exchange that others had."""
        self._messages.append({"role": "user", "content": message})
        self._messages.append({"role": "assistant", "content": reply})

    def _reply_now(self, message: str) -> Any:
        return self._keep(message, self._call(self._asked(message)))

    async def _reply_later(self, message: str) -> Any:
        call = cast("Callable[..., Awaitable[Any]]", self._call)
        return self._keep(message, await call(self._asked(message)))

    def _asked(self, message: str) -> list[dict[str, str]]:
        # A list of its own each time: some code adds the reply to it.
        return [*map(dict, self._messages), {"role": "user", "content": message}]

    def _keep(self, message: str, result: object) -> Any:
        reply = text_of_reply(result)
        text = reply.text if isinstance(reply, Reply) else reply
        if isinstance(text, str):
            self.accept(message, text)
        return reply
