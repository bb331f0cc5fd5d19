"""What an agent behind HTTP looks like: where to post, and which fields hold what."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pytest_ltm._errors import AgentError
from pytest_ltm.agents._keyless import is_keyless
from pytest_ltm.agents._paths import JsonPath

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm._fields import Field

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_HEADER = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
_MESSAGE, _CONVERSATION, _REPLY = JsonPath("message"), JsonPath("conversation"), JsonPath("reply")
_NUMBERS = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
_PATHS = ("message", "conversation", "time", "reply", *_NUMBERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where an agent is, and how its JSON looks. `${NAME}` in URLs and headers stands for a variable's value."""

    url: str
    message: JsonPath = _MESSAGE
    """The request's field for the message."""
    conversation: JsonPath | None = _CONVERSATION
    """The request's field for the conversation's id; None: it is not sent."""
    time: JsonPath | None = None
    """The request's field for the conversation's time (ISO 8601)."""
    reply: JsonPath = _REPLY
    """The response's field for the reply."""
    numbers: Mapping[str, JsonPath] = field(default_factory=dict)
    """The response's fields for usage and cost, by the names of `Usage` and `Reply`; absent ones count nothing."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """What every request says beside."""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds for one request; None: the reply timeout of the run."""
    reset: str = ""
    """Where to post before the first message, as a URL relative to `url`; "": nowhere."""
    history: str = ""
    """Where to post an exchange that the agent is told; "": nowhere."""
    keeps_conversations: bool = False
    """Whether the server still knows a conversation's id when a run is resumed."""
    max_message_tokens: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise AgentError(f"{self.url!r} is no URL such as http://localhost:8000/chat")
        if parts.password is not None:
            raise AgentError("a URL is written to files, so it holds no password. Use a header with ${VARIABLE}")
        for name, value in self.headers.items():
            if _SECRET_HEADER.search(name) and not _VARIABLE.search(value):
                raise AgentError(
                    f"the header {name!r} would be a secret in a file. Name an environment variable: '${{MY_TOKEN}}'"
                )
        for text in (self.url, self.reset, self.history, *self.headers.values()):
            filled(text)

    def at(self, path: str) -> str:
        """Return the URL of a path that is relative to the agent's ("": the agent's own)."""
        return filled(urljoin(self.url, path))

    def place(self, path: str) -> str:
        """Return the same for people: variables by name, and without the query, where keys may be."""
        return urljoin(self.url, path).partition("?")[0]

    def to_json(self) -> dict[str, Any]:
        """Return all of it, with variables by name only."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        numbers = {name: path.text for name, path in self.numbers.items()}
        shown = {name: value.text if isinstance(value, JsonPath) else value for name, value in plain.items()}
        return {**shown, "numbers": numbers, "body": dict(self.body), "headers": dict(self.headers)}


def filled(text: str) -> str:
    """Return the text with the values of the variables in it; AgentError for one that is not set."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found and is_keyless():
            return ""
        if not found:
            raise AgentError(f"{text!r} needs the environment variable {match[1]!r}, which is not set")
        return found

    return _VARIABLE.sub(value, text)


def read_settings(url: str, parameters: Field) -> HttpSettings:
    """Return the settings that a file gives; DefinitionError for a wrong one, or a URL that cannot be."""
    given = parameters.mapping(known=[*_PATHS, *_READERS])
    values: dict[str, Any] = {"url": url}
    for name, child in given.items():
        values[name] = _value(name, child)
    numbers = {name: values.pop(name) for name in _NUMBERS if name in values}
    try:
        return HttpSettings(numbers=numbers, **values)
    except AgentError as error:
        raise parameters.fault(f"{error}.") from None


def _value(name: str, field: Field) -> Any:
    if name in _PATHS:
        return None if field.value is None and name in {"conversation", "time"} else _path(field)
    return _READERS[name](field)


def _headers(field: Field) -> dict[str, str]:
    return {key: child.text() for key, child in field.mapping().items()}


def _body(field: Field) -> Any:
    field.mapping()
    return field.json()


def _path(field: Field) -> JsonPath:
    try:
        return JsonPath(field.text("the path of a JSON field, such as choices.0.text"))
    except AgentError as error:
        raise field.fault(f"{error}.") from None


def _url(field: Field) -> str:
    return field.text("a URL, or a path on the agent's server")


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "body": _body,
    "headers": _headers,
    "timeout": lambda field: field.number(0.001, 86_400, "seconds"),
    "reset": _url,
    "history": _url,
    "keeps_conversations": lambda field: field.boolean(),
    "max_message_tokens": lambda field: field.tokens(),
}
