"""An agent behind HTTP: JSON requests, JSON responses."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from msgspec import Struct, field

from pytest_ltm.agents import sources
from pytest_ltm.api.calls import add_trace, is_amount
from pytest_ltm.api.model import (
    SAVES_REFERENCE,
    SCORED,
    Promised,
    Reply,
    Tools,
    Usage,
    operation_rows,
    shown_tools,
    sort_end,
)
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    Field,
    TransientFault,
    describe_error,
    remember_secret,
)
from pytest_ltm.providers.answer_fields import find_end, find_thoughts
from pytest_ltm.providers.refusal import RequestRefused, read_refusal
from pytest_ltm.providers.transport import TOO_LONG, read_bounded

_PATH = re.compile(r"[^.\s]+(?:\.[^.\s]+)*")


class JsonPath(Struct, frozen=True):
    """A path into JSON: field names and list indices, separated by dots."""

    text: str

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.text):
            raise AgentError(
                f"{self.text!r} is not a path to a JSON field. Write it as in 'reply' or 'choices.0.text'"
            )

    def read(self, data: Any) -> Any:
        """Return the value at this path; LookupError, naming where the path ends, if there is none."""
        value = data
        steps: list[str] = []
        for step in self.text.split("."):
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif (
                isinstance(value, list) and step.isdecimal() and int(step) < len(value)
            ):
                value = value[int(step)]
            else:
                where = f"at {'.'.join(steps)!r} there is" if steps else "there is"
                if isinstance(value, dict):
                    names = ", ".join(sorted(map(repr, value))[:_NAMES])
                    raise LookupError(f"no field {self.text!r}: {where} {{{names}}}")
                kind = _KINDS.get(type(value), "number")
                if isinstance(value, list):
                    kind += f" of {len(value)}"
                raise LookupError(f"no field {self.text!r}: {where} a {kind}")
            steps.append(step)
        return value

    def written(self, data: dict[str, Any], value: Any) -> dict[str, Any]:
        """Return a copy of the data with the value at this path, creating mappings on the way."""
        step, _, inner_path = self.text.partition(".")
        if not inner_path:
            return {**data, step: value}
        inner = data.get(step)
        if not isinstance(inner, dict):
            inner = {}
        return {**data, step: JsonPath(inner_path).written(inner, value)}


_NAMES = 8
_KINDS: dict[type, str] = {
    list: "list",
    str: "text",
    bool: "true or false",
    type(None): "null",
}

# --- The settings of an agent behind HTTP: where to post, and the fields to use.

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_HEADER = re.compile(
    r"authorization|cookie|key|token|secret|password", re.IGNORECASE
)
_RESULTS = JsonPath("tool_results")
_CALLS = JsonPath("tool_calls")
_MESSAGE = JsonPath("message")
_CONVERSATION = JsonPath("conversation")
_REPLY = JsonPath("reply")
_NUMBERS = ("input_tokens", "output_tokens", "cached_tokens", "calls", "cost_usd")
_PATHS = ("message", "reply", "tool_results", "tool_calls", *_NUMBERS)
# Newer settings: left out of fingerprints unless given, so that old ones stay valid.
_LATER = (
    "written",
    "settle",
    "delete",
    "tools",
    "tool_results",
    "tool_calls",
    "ends",
    "session",
    "agent",
)


class HttpSettings(Struct, frozen=True, kw_only=True):
    """The URL of an agent and the layout of its JSON.

    `${NAME}` in URLs and headers is replaced by the variable.
    """

    url: str
    message: JsonPath = _MESSAGE
    """The request's field for the message."""
    conversation: JsonPath | None = _CONVERSATION
    """The request's field for the conversation's id; None: it is not sent."""
    user: JsonPath | None = None
    """The request's field for the user who sends the message."""
    session: JsonPath | None = None
    """The request's field for that user's session, if a suite has several."""
    agent: JsonPath | None = None
    """The request's field for the agent that is addressed."""
    time: JsonPath | None = None
    """The request's field for the conversation's time (ISO 8601)."""
    reply: JsonPath = _REPLY
    """The response's field for the reply."""
    numbers: Mapping[str, JsonPath] = field(default_factory=dict)
    """The response's fields for usage and cost, by the names of `Usage` and `Reply`. If token fields are
    named, missing ones are estimated.
    """
    body: Mapping[str, Any] = field(default_factory=dict)
    """Constant fields of every request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds for one request; None: the run's reply timeout."""
    reset: str = ""
    """Where to post before the first message, as a URL relative to `url`; "": nowhere."""
    history: str = ""
    """Where to post an exchange that the agent accepts as history; "": nowhere."""
    written: JsonPath | None = None
    """The response's field for the memory's operations: a list of {"what", "id", "text"}."""
    settle: str = ""
    """Where to post before a message, to wait until the memory is searchable; "": nowhere."""
    delete: str = ""
    """Where to post a record's `id` to delete the record; "": nowhere."""
    tools: JsonPath | None = None
    """The request's field for the scenario's tools; None: the agent takes none."""
    tool_results: JsonPath = _RESULTS
    """The request's field for the results of the previous response's calls."""
    tool_calls: JsonPath = _CALLS
    """The response's field for tool calls: a list of {"name", "arguments", "id"}."""
    ends: str = ""
    """The finish reason that this server uses for `stop`."""
    keeps_conversations: bool = False
    """Whether the server still knows a conversation's id when a run is resumed."""
    max_message_tokens: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise AgentError(
                f"{self.url!r} is not a URL such as http://localhost:8000/chat"
            )
        if parts.password is not None:
            raise AgentError(
                "a URL is written to files, so it holds no password. Use a header with ${VARIABLE}"
            )
        for name, value in self.headers.items():
            if _SECRET_HEADER.search(name) and not _VARIABLE.search(value):
                raise AgentError(
                    f"the header {name!r} would be a secret in a file. Name an environment variable: '${{MY_TOKEN}}'"
                )
        # Report an unset variable now, not in the middle of a run.
        for text in (
            self.url,
            self.reset,
            self.history,
            self.settle,
            self.delete,
            *self.headers.values(),
        ):
            fill_variables(text)

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that these settings give an agent."""
        having = {
            "Resettable": self.reset,
            "SeparatesUsers": self.user is not None,
            "AcceptsHistory": self.history,
            "TimeAware": self.time is not None,
            "Checkpointable": self.keeps_conversations,
            "Configured": True,
            SAVES_REFERENCE: self.keeps_conversations,
            "ShowsWrites": self.written is not None,
            "Settles": self.settle,
            "DeletesRecords": self.delete,
            "TakesTools": self.tools is not None,
        }
        return frozenset(name for name, has in having.items() if has)

    def url_of(self, path: str) -> str:
        """Return the URL of a path relative to the agent's URL ("": the agent's URL)."""
        return fill_variables(urljoin(self.url, path))

    def place(self, path: str) -> str:
        """Return the same URL for messages: variables by name, and no query, which may hold keys."""
        return urljoin(self.url, path).partition("?")[0]

    def to_json(self) -> dict[str, Any]:
        """Return all settings as JSON, variables by name only."""
        settings = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, JsonPath):
                value = value.text
            if name in {"tool_results", "tool_calls"} and self.tools is None:
                value = None
            if value or name not in _LATER:
                settings[name] = value
        return {
            **settings,
            "numbers": {name: path.text for name, path in self.numbers.items()},
            "body": dict(self.body),
            "headers": dict(self.headers),
        }


def fill_variables(text: str, *, hidden: bool = False) -> str:
    """Return the text with its variables replaced by their values; AgentError for an unset variable.

    `hidden`: the values are secrets, regardless of the variables' names.
    """

    def value(match: re.Match[str]) -> str:
        result = os.environ.get(match[1])
        if not result and sources.is_keyless():
            return ""
        if not result:
            raise AgentError(
                f"{text!r} needs the environment variable {match[1]!r}, which is not set"
            )
        if hidden:
            remember_secret(match[1], result)
        return result

    return _VARIABLE.sub(value, text)


def read_settings(url: str, parameters: Field) -> HttpSettings:
    """Return the settings in a file's parameters; DefinitionError for an invalid setting or URL."""
    values = parameters.read_fields(_READERS)
    numbers = {name: values.pop(name) for name in _NUMBERS if name in values}
    try:
        return HttpSettings(url=url, numbers=numbers, **values)
    except AgentError as error:
        raise parameters.fault(f"{error}.") from None


def _parse_path(field: Field) -> JsonPath:
    try:
        return JsonPath(field.text("the path of a JSON field, such as choices.0.text"))
    except AgentError as error:
        raise field.fault(f"{error}.") from None


_READERS: Mapping[str, Callable[[Field], Any]] = {
    **dict.fromkeys(_PATHS, _parse_path),
    # null: the request has no such field.
    **dict.fromkeys(
        ("conversation", "user", "session", "agent", "time", "written", "tools"),
        lambda field: None if field.value is None else _parse_path(field),
    ),
    "body": lambda field: field.mapping() and field.json(),
    "headers": sources.parse_texts,
    "timeout": sources.parse_seconds,
    **dict.fromkeys(
        ("reset", "history", "settle", "delete"),
        lambda field: field.text("a URL, or a path on the agent's server"),
    ),
    "ends": lambda field: field.text("the name of an end"),
    "keeps_conversations": Field.boolean,
    "max_message_tokens": Field.tokens,
}

# Seconds to connect; the rest of a request may take the whole reply timeout.
_CONNECT = 10.0


class HttpAgent:
    """One conversation with a server; the settings determine its capabilities.

    Resettable (`reset`), SeparatesUsers (`user`), AcceptsHistory (`history`), TimeAware
    (`time`), Checkpointable (`keeps_conversations`), LimitsMessages
    (`max_message_tokens`); always Configured.
    """

    saves_reference = True
    """The saved state is the conversation's id: the server itself cannot be rolled back."""

    def __init__(self, settings: HttpSettings) -> None:
        # An extra, and slow to import.
        import httpx2 as httpx

        self._settings = settings
        self._http = httpx
        headers = {}
        for name, value in settings.headers.items():
            headers[name] = fill_variables(value, hidden=True)
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(
                settings.timeout, connect=min(settings.timeout or _CONNECT, _CONNECT)
            ),
            event_hooks={"request": [add_trace]},
        )
        self._conversation = _new_id()
        self._time = ""
        self._has_begun = False
        self._rows: list[Any] = []
        """Memory operations that have not been reported yet."""
        sources.grant_capabilities(
            self, settings.capabilities, settings.max_message_tokens
        )

    def reply(self, message: str) -> Reply:
        """Post the message and return the reply.

        Raises:
            RequestRefused: The status is not 2xx, or the answer is an error.
            TransientFault: The server cannot be reached.
            AgentError: The connection breaks off or the server is too slow.
            AgentFault: The answer, which may be billed, holds no reply.
        """
        return self._reply(message)

    def configuration(self) -> Mapping[str, Any]:
        """Return all settings, with variables by name."""
        return {"http": self._settings.to_json()}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # --- capabilities, if the settings name them

    def _reset(self) -> None:
        self._conversation = _new_id()
        self._has_begun = False

    def _reply(
        self, message: str, user: str = "", session: str = "", agent: str = ""
    ) -> Reply:
        common = self._common(user, session, agent)
        data = self._post("", self._settings.message.written(common, message))
        return self._read_reply(data, *self._usage_and_cost(data))

    def _reply_with_tools(
        self, message: str, user: str = "", tools: Tools | None = None
    ) -> Reply:
        settings = self._settings
        if not tools or settings.tools is None:
            return self._reply(message, user)
        tool_fields = shown_tools(tools)
        request = settings.message.written(self._common(user), message)
        request = settings.tools.written(request, tool_fields["tools"])
        request = settings.tool_results.written(request, tool_fields["tool_results"])
        data = self._post("", request)
        usage, cost = self._usage_and_cost(data)
        called = None
        with suppress(LookupError):
            called = settings.tool_calls.read(data)
        calls = sources.parse_calls(called, settings.place(""))
        if calls:
            return Reply("", usage, cost, calls=calls)
        return self._read_reply(data, usage, cost)

    def _read_reply(self, data: Any, usage: Usage | None, cost: float | None) -> Reply:
        """Return the reply in an answer, with its finish reason and thoughts if present."""
        end = find_end(data)
        # a reply that was filtered or cut off may lack a text
        is_lost = sort_end(end) not in SCORED
        text = self._read_text(data, usage, may_lack=is_lost)
        return Reply(
            text,
            usage,
            cost,
            finish_reason="stop" if end and end == self._settings.ends else end,
            thoughts=find_thoughts(data) if isinstance(data, dict) else "",
        )

    def _accept(
        self,
        message: str,
        reply: str,
        user: str = "",
        session: str = "",
        agent: str = "",
    ) -> Reply:
        settings = self._settings
        common = self._common(user, session, agent)
        exchange = {**settings.message.written(common, message), "reply": reply}
        data = self._post(settings.history, exchange)
        return Reply("", *self._usage_and_cost(data))

    def _tell_time(self, now: datetime) -> None:
        self._time = now.isoformat()

    def _written(self) -> list[Any]:
        rows = self._rows
        self._rows = []
        return rows

    def _settle(self) -> None:
        self._post(self._settings.settle, self._common())

    def _delete(self, record: str) -> None:
        self._usage_and_cost(
            self._post(self._settings.delete, {**self._common(), "id": record})
        )

    def _save(self) -> bytes:
        return json.dumps([self._conversation, self._has_begun]).encode()

    def _load(self, state: bytes) -> None:
        self._conversation, self._has_begun = json.loads(state)

    # --- requests

    def _common(
        self, user: str = "", session: str = "", agent: str = ""
    ) -> dict[str, Any]:
        """Return the JSON fields that every request has."""
        settings = self._settings
        data = dict(self._settings.body)
        for path, value in (
            (settings.conversation, self._conversation),
            (settings.user, user),
            (settings.session, session),
            (settings.agent, agent),
            (settings.time, self._time),
        ):
            if path is not None and value:
                data = path.written(data, value)
        return data

    def _post(self, path: str, data: dict[str, Any]) -> Any:
        if not self._has_begun:
            # Deferred: an agent that never gets a message leaves nothing on the server.
            if self._settings.reset:
                self._answer(self._settings.reset, self._common())
            self._has_begun = True
        response = self._answer(path, data)
        try:
            body = json.loads(response.text)
        except (ValueError, RecursionError):
            # Only a reply must be JSON; an acknowledgement may be anything.
            if path:
                return None
            place = self._settings.place("")
            raise _unusable_answer(
                f"{place} answered {_body_start(response)}, which is not JSON"
            ) from None
        refusal = read_refusal(response.status_code, response.text, body)
        if refusal is not None and not path:
            words = (
                f"{self._settings.place('')} answered with an error: {refusal.message}"
            )
            raise RequestRefused(words, refusal, response)
        return body

    def _answer(self, path: str, data: dict[str, Any]) -> Any:
        """Return a successful response."""
        place = self._settings.place(path)
        try:
            with self._client.stream(
                "POST", self._settings.url_of(path), json=data
            ) as response:
                is_whole = read_bounded(response)
        except (
            self._http.ConnectError,
            self._http.ConnectTimeout,
            self._http.PoolTimeout,
        ) as error:
            raise TransientFault(f"{place} cannot be reached: {error}") from error
        except self._http.TransportError as error:
            # The server may have received the message; the Speaker decides by the
            # cause.
            raise AgentError(f"{place} broke off: {describe_error(error)}") from error
        except self._http.DecodingError as error:
            raise _unusable_answer(
                f"{place} answered with what cannot be unpacked: {error}"
            ) from None
        if not is_whole:
            raise _unusable_answer(f"{place} answered with {TOO_LONG}")
        if response.is_success:
            return response
        try:
            body = json.loads(response.text)
        except (ValueError, RecursionError):
            body = None
        refusal = read_refusal(response.status_code, response.text, body)
        assert refusal is not None  # of each status but 2xx
        phrase = f"{response.status_code} {response.reason_phrase}".strip()
        words = f"{place} answered {phrase}: {_body_start(response)}"
        raise RequestRefused(words, refusal, response)

    def _read_text(self, data: Any, usage: Usage | None, *, may_lack: bool) -> str:
        """Return the reply's text. `usage`: for the fault if there is none; `may_lack`: return "" instead."""
        place = self._settings.place("")
        path = self._settings.reply
        try:
            text = path.read(data)
        except LookupError as error:
            if may_lack:
                return ""
            body = sources.shorten_foreign_text(json.dumps(data))
            raise _unusable_answer(
                f"{place} answered with {error.args[0]}. Body: {body}", usage
            ) from None
        if text is None and may_lack:
            return ""
        if not isinstance(text, str):
            value = sources.shorten_foreign_text(json.dumps(text))
            raise _unusable_answer(
                f"{place}: {path.text!r} is {value}, not a text", usage
            )
        return text

    def _usage_and_cost(self, data: Any) -> tuple[Usage | None, float | None]:
        """Return the usage and the cost that an answer reports, and store its memory operations."""
        result = {}
        if self._settings.written is not None:
            with suppress(LookupError):
                self._rows += operation_rows(self._settings.written.read(data))
        for name, path in self._settings.numbers.items():
            with suppress(LookupError):
                result[name] = path.read(data)
        cost = result.pop("cost_usd", None)
        usage = None
        if self._settings.numbers.keys() - {"cost_usd"}:
            usage = sources.parse_usage(result)
        return usage, cost if is_amount(cost) else None


def _unusable_answer(text: str, usage: Usage | None = None) -> AgentFault:
    """Return the fault of an answer that arrived, is unusable, and may be billed."""
    fault = AgentFault(text)
    fault.refused = True
    fault.usage = usage
    return fault


def make_http(scheme: str, place: str, parameters: Field) -> sources.AgentSource:
    """Return the source of the agents at a URL; AgentError or DefinitionError for invalid settings.

    `http:URL` accepts a URL of any scheme, too.
    """
    is_place = scheme == "https" or place.startswith("//")
    url = f"{scheme}:{place}" if is_place else place
    settings = read_settings(url, parameters)
    if not sources.is_keyless():
        try:
            import httpx2  # noqa: F401 - an extra
        except ImportError:
            raise AgentError(
                "agents behind HTTP need httpx2. Install it with: pip install 'pytest-ltm[http]'"
            ) from None
    promised = Promised(
        settings.capabilities, settings.max_message_tokens, frozenset(settings.numbers)
    )
    return sources.agent_source(lambda: HttpAgent(settings), spec=url, promise=promised)


def _new_id() -> str:
    """Return a new conversation id; no record contains it, so equal runs have equal records."""
    return secrets.token_hex(8)


def _body_start(response: Any) -> str:
    if response.text.strip():
        return sources.shorten_foreign_text(response.text)
    return "an empty body"
