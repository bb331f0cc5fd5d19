"""The forms of other people's code: a list of messages in place of one message, an object in place of a text."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from pytest_ltm._core.model.agent import Reply
from pytest_ltm.agents._capabilities import required_parameters

# Where libraries keep the text of a reply, the most telling name first.
_TEXT_FIELDS = (
    "final_output",
    "output_text",
    "reply",
    "answer",
    "response",
    "output",
    "text",
    "content",
    "message",
    "choices",
    "messages",
)
_DEEPEST = 5
_LISTS = re.compile(r"(?:\w+\.)?(?:list|Sequence|Iterable)\b", re.IGNORECASE)
_LIST_NAMES = frozenset({"messages", "history", "chat_history", "conversation"})


def text_in(given: object, depth: int = 0) -> str | None:
    """Return the text of a reply object; None where no field that may hold one does.

    A list of messages is read from its end, and the parts of one content are joined.
    """
    if isinstance(given, str):
        return given
    if depth > _DEEPEST or given is None or callable(given):
        return None
    if isinstance(given, (list, tuple)):
        return _text_in_list(given, depth)
    for name in _TEXT_FIELDS:
        value = (
            given.get(name)
            if isinstance(given, Mapping)
            else getattr(given, name, None)
        )
        text = text_in(value, depth + 1)
        if text is not None:
            return text
    return None


def _text_in_list(given: Sequence[object], depth: int) -> str | None:
    if not given or (depth == 0 and isinstance(given[-1], str)):
        return None
    parts = [text_in(part, depth + 1) for part in given if _is_text_part(part)]
    texts = [part for part in parts if part is not None]
    if len(texts) == len(given):
        return "".join(texts)
    return text_in(given[-1], depth + 1)


def _is_text_part(part: object) -> bool:
    kind = part.get("type") if isinstance(part, Mapping) else getattr(part, "type", "")
    return isinstance(part, str) or kind in {"text", "output_text"}


def reply_in(given: object) -> Any:
    """Return what an agent is taken to have replied: the text in a reply object; anything else as it is."""
    if given is None or isinstance(given, (str, Reply, Awaitable)):
        return given
    text = text_in(given)
    return given if text is None else text


def read_replies(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same callable, whose reply objects become texts."""
    if inspect.iscoroutinefunction(call):

        @functools.wraps(call)
        async def ask(*args: Any, **kwargs: Any) -> Any:
            return reply_in(await call(*args, **kwargs))

        return ask

    @functools.wraps(call)
    def answer(*args: Any, **kwargs: Any) -> Any:
        return reply_in(call(*args, **kwargs))

    return answer


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
        self.reply = (
            self._reply_later if inspect.iscoroutinefunction(call) else self._reply_now
        )

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

    def _keep(self, message: str, given: object) -> Any:
        reply = reply_in(given)
        text = reply.text if isinstance(reply, Reply) else reply
        if isinstance(text, str):
            self.accept(message, text)
        return reply
