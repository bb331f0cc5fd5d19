"""An agent behind HTTP: JSON there, JSON back."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError, TransientFault, told
from pytest_ltm.agents._adapt import source
from pytest_ltm.agents._http_settings import HttpSettings, filled, read_settings
from pytest_ltm.agents._keyless import is_keyless
from pytest_ltm.agents._promised import Promised
from pytest_ltm.agents._protocols import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pytest_ltm._fields import Field
    from pytest_ltm.agents._adapt import AgentSource
    from pytest_ltm.agents._paths import JsonPath

_SHOWN = 120
"""Characters of a body that errors show."""
_CONNECT = 10.0
"""Seconds for a connection; the rest of a request may take as long as a reply may."""


class HttpStatusError(AgentError):
    """The server answered with another status than 2xx; `response` says all that it said."""

    def __init__(self, message: str, response: Any) -> None:
        super().__init__(message)
        self.response = response


class HttpAgent:
    """One conversation with a server; its powers are what the settings name.

    Resettable (`reset`), AcceptsHistory (`history`), TimeAware (`time`), Checkpointable (`keeps_conversations`),
    LimitsMessages (`max_message_tokens`); Configured always.
    """

    def __init__(self, settings: HttpSettings) -> None:
        import httpx2 as httpx  # noqa: PLC0415 - an extra

        self._settings, self._http = settings, httpx
        self._client = httpx.Client(
            headers={name: filled(value) for name, value in settings.headers.items()},
            timeout=httpx.Timeout(settings.timeout, connect=min(settings.timeout or _CONNECT, _CONNECT)),
        )
        self._conversation, self._now, self._begun = _new_id(), "", False
        # On the instance, because what is there only counts as a power (isinstance looks for members).
        if settings.reset:
            self.reset = self._reset
        if settings.history:
            self.accept = self._accept
        if settings.time is not None:
            self.tell_time = self._tell_time
        if settings.keeps_conversations:
            self.save, self.load = self._save, self._load
        if settings.max_message_tokens is not None:
            self.max_message_tokens = settings.max_message_tokens

    def reply(self, message: str) -> Reply:
        """Post the message and return the reply.

        Raises HttpStatusError for another status than 2xx, TransientFault if the server cannot be reached, AgentError
        if it breaks off or is too slow, and for an answer that does not hold a reply.
        """
        data = self._post("", self._settings.message.written(self._common(), message))
        text = self._read(data, self._settings.reply, str, "a text")
        found = {name: self._number(data, path) for name, path in self._settings.numbers.items()}
        cost = found.pop("cost_usd", None)
        counts = {name: value for name, value in found.items() if value is not None}
        return Reply(text, Usage(**counts) if counts else None, cost)

    def configuration(self) -> Mapping[str, Any]:
        """Return all settings; variables by name."""
        return {"http": self._settings.to_json()}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # --- powers, if the settings name them

    def _reset(self) -> None:
        self._conversation, self._begun = _new_id(), False

    def _accept(self, message: str, reply: str) -> None:
        settings = self._settings
        self._post(settings.history, {**settings.message.written(self._common(), message), "reply": reply})

    def _tell_time(self, now: datetime) -> None:
        self._now = now.isoformat()

    def _save(self) -> bytes:
        return json.dumps([self._conversation, self._begun]).encode()

    def _load(self, state: bytes) -> None:
        self._conversation, self._begun = json.loads(state)

    # --- requests

    def _common(self) -> dict[str, Any]:
        """Return what every request says; JSON."""
        settings, data = self._settings, dict(self._settings.body)
        if settings.conversation is not None:
            data = settings.conversation.written(data, self._conversation)
        if settings.time is not None and self._now:
            data = settings.time.written(data, self._now)
        return data

    def _post(self, path: str, data: dict[str, Any]) -> Any:
        if not self._begun:
            if self._settings.reset:
                self._answer(self._settings.reset, self._common())
            self._begun = True
        response = self._answer(path, data)
        if path:
            return None
        try:
            return json.loads(response.text)
        except (ValueError, RecursionError):
            raise AgentError(f"{self._settings.place('')} answered {_start(response)}, which is no JSON") from None

    def _answer(self, path: str, data: dict[str, Any]) -> Any:
        """Return the response of a server that is content."""
        try:
            response = self._client.post(self._settings.at(path), json=data)
        except (self._http.ConnectError, self._http.ConnectTimeout, self._http.PoolTimeout) as error:
            raise TransientFault(f"{self._settings.place(path)} cannot be reached: {error}") from error
        except self._http.TransportError as error:  # which may have taken the message: the cause tells the Speaker
            raise AgentError(f"{self._settings.place(path)} broke off: {told(error)}") from error
        if response.is_success:
            return response
        phrase = f"{response.status_code} {response.reason_phrase}".strip()
        raise HttpStatusError(f"{self._settings.place(path)} answered {phrase}: {_start(response)}", response)

    def _read(self, data: Any, path: JsonPath, kind: type, what: str) -> Any:
        try:
            found = path.read(data)
        except LookupError as error:
            raise AgentError(
                f"{self._settings.place('')} answered with {error.args[0]}. Body: {_cut(json.dumps(data))}"
            ) from None
        if not isinstance(found, kind):
            raise AgentError(f"{self._settings.place('')}: {path.text!r} is {_cut(json.dumps(found))}, not {what}")
        return found

    def _number(self, data: Any, path: JsonPath) -> Any:
        """Return a number of usage or cost; None where the answer has none."""
        try:
            return path.read(data)
        except LookupError:
            return None


def make_http(url: str, parameters: Field) -> AgentSource:
    """Return the source of the agents at a URL; AgentError or DefinitionError for settings that cannot work."""
    settings = read_settings(url, parameters)
    if not is_keyless():
        _need_client()
    made = source(lambda: HttpAgent(settings), spec=url)
    having = {
        "Resettable": settings.reset, "AcceptsHistory": settings.history, "TimeAware": settings.time is not None,
        "Checkpointable": settings.keeps_conversations, "Configured": True,
    }  # fmt: skip
    made.given = Promised(frozenset(name for name, has in having.items() if has), settings.max_message_tokens)
    return made


def _need_client() -> None:
    try:
        import httpx2  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise AgentError("agents behind HTTP need httpx2. Install it with: pip install 'pytest-ltm[http]'") from None


def _new_id() -> str:
    """Return an id that no server has seen; it appears in no record, so equal runs have equal records."""
    return secrets.token_hex(8)


def _start(response: Any) -> str:
    return _cut(response.text) if response.text.strip() else "an empty body"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
