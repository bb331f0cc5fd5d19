"""Completions: asks a chat model through the `openai` client, in turn with everybody else who asks it."""

from __future__ import annotations

import random
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_ltm._calls import limiter as _limiter
from pytest_ltm._calls.chat_model import ENDPOINTS
from pytest_ltm._calls.chat_responses import (
    ModelResponse,
    Used,
    about_key,
    answer_of,
    names,
    not_taken,
    too_long,
    used_in,
    vectors_of,
)
from pytest_ltm._calls.limiter import Limiter, RateLimitSlot
from pytest_ltm._storage.clock import can_interrupt
from pytest_ltm._storage.errors import AgentError, AgentFault, TransientFault, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import openai

    from pytest_ltm._calls.chat_model import ModelSpec


__tracebackhide__ = True
"""For pytest: what the server said is in the message."""

Message = dict[str, Any]
"""`role` and `content`, and what goes with calls of tools."""

_BUSY = frozenset({429, 503, 529})
_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
"""Names of errors of the client's that came before anything was sent."""
_LONGEST = 300
_LENGTHS = ("max_tokens", "max_completion_tokens")
_WITHOUT = {"temperature": "Write temperature=default"}


def sendable(text: str) -> str:
    """Return the text with an escape for each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


class ContextOverflow(AgentFault):
    """The prompt is too long for the model. `limit` and `asked` in its own tokens, None where it does not report it."""

    def __init__(self, message: str, *, limit: int | None, asked: int | None) -> None:
        super().__init__(message)
        self.limit, self.asked = limit, asked


class RequestRefused(AgentFault):
    """Another status than 200, in the server's own words; where the key is to blame, with where it comes from.

    `status_code`, `code` and `response` are those of the client's error, for the retries.
    """

    def __init__(self, model: ModelSpec, error: openai.APIStatusError) -> None:
        super().__init__(f"{model.base_url} answered {error.status_code}: {_said(error)}{_hint(model, error)}")
        self.status_code, self.code, self.response = error.status_code, error.code, error.response


class Completions:
    """One model, asked one request at a time; close it at the end.

    Not streamed, and without the client's own retries: the caller decides what to do about a fault. `timeout`:
    seconds for one request, None: the run's reply timeout. Raises AgentError where the client is not installed or the
    key is not set.
    """

    def __init__(self, model: ModelSpec, *, timeout: float | None = None, rng: random.Random | None = None) -> None:
        self.model = model
        longest = timeout or _limiter.reply_timeout()
        endpoint = f"{model.base_url} {model.name} {model.key_env}".strip()
        # Where the wait for a reply has a limit already, the client's, which counts pauses, would only come too early.
        self._client = _client(model, timeout if can_interrupt() else longest)
        self._limiter = Limiter(endpoint, value=_limiter.value_of(endpoint), rng=rng or random.Random(), lease=longest)
        self._parameters = _parameters(model)
        self._turn: RateLimitSlot | None = None
        self._renamed = False
        self.lost: Used | None = None
        """What the last request took if it came to nothing; None if it did not, was refused or never arrived."""

    @contextmanager
    def turn(self) -> Iterator[RateLimitSlot]:
        """Wait for a turn at the endpoint, and keep it for all requests in the block; within one, that one serves."""
        if self._turn is not None:
            yield self._turn
            return
        with self._limiter.turn() as turn:
            self._turn = turn
            try:
                yield turn
            finally:
                self._turn = None

    def complete(self, messages: Sequence[Message], **more: Any) -> ModelResponse:
        """Return the model's answer to the messages; `more` are further parameters of this request.

        Raises Refused for another status than 200, ContextOverflow where that is because of the prompt's length,
        TransientFault for an answer that did not arrive whole, AgentFault for one that is none.
        """
        self.lost = None
        with self.turn() as turn:
            create: Any = self._client.chat.completions.create
            response = self._request(lambda: create(**self._body(messages, more)), turn)
            took = used_in(response)
            self.lost = None if took == Used() and getattr(response, "error", None) else took
            answer = answer_of(response, self.model, tools="tools" in more)
            self.lost = None
            turn.succeeded()
            return answer

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Return a vector for each text, and what that took; raises what `complete` does."""
        self.lost = None
        with self.turn() as turn:
            ask = partial(
                self._client.embeddings.create, model=self.model.name, input=list(texts), encoding_format="float",
                extra_body=dict(self.model.extra),
            )  # fmt: skip
            response = self._request(ask, turn)
            self.lost = None
            vectors = vectors_of(response, self.model, len(texts))
            turn.succeeded()
            return vectors, used_in(response)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, ask: Callable[[], object], turn: RateLimitSlot) -> object:
        from openai import APIConnectionError, APIStatusError

        while True:
            try:
                self.lost = Used()
                return ask()
            except APIStatusError as error:
                self.lost = None
                _raise_if_too_long(error, self.model)
                if error.status_code in _BUSY:
                    turn.refused(_retry_after(error))
                if not self._adjust(error):
                    raise RequestRefused(self.model, error) from None  # the client's frames tell nobody anything
            except APIConnectionError as error:
                if type(error.__cause__).__name__ in _UNREACHED:
                    self.lost = None
                cause = told(error.__cause__ or error)
                raise TransientFault(f"{self.model.base_url} cannot be reached, or broke off: {cause}") from None
            except (JSONDecodeError, UnicodeDecodeError, RecursionError):  # the last where it is nested too deeply
                raise TransientFault(f"{self.model.base_url} answered with a body that is not JSON") from None

    def _body(self, messages: Sequence[Message], more: dict[str, Any]) -> dict[str, Any]:
        """Return the client's arguments.

        The messages go past its typed ones, which it would walk through value by value, for nothing here and for a
        second where a conversation is long.
        """
        arguments = {**self._parameters, **more}
        extra = {**arguments.pop("extra_body", {}), "messages": messages}
        return {"model": self.model.name, "messages": (), "stream": False, **arguments, "extra_body": extra}

    def _adjust(self, error: openai.APIStatusError) -> bool:
        """Leave out or rename what the model does not take; false if there is nothing of that kind (any more)."""
        if error.status_code not in {400, 422}:
            return False
        text = _text(error)
        given = self._parameters
        old = next((name for name in _LENGTHS if name in given), None)
        if old and not self._renamed and not_taken(text, old):
            self._renamed = True
            given[_LENGTHS[1 - _LENGTHS.index(old)]] = given.pop(old)
            return True
        if "temperature" in given and self.model.temperature is None and names(text, "temperature"):
            del given["temperature"]
            return True
        chosen = {**given, **given.get("extra_body", {})}
        for name in (name for name in chosen if name != "extra_body" and not_taken(text, name)):
            said = _LENGTHS[0] if name in _LENGTHS else name
            raise AgentFault(
                f"model {self.model.name!r} does not take {said}={chosen[name]!r}. "
                f"{_WITHOUT.get(name, 'Leave it out')}. {self.model.base_url} says: {_said(error)}"
            ) from None
        return False


def _client(model: ModelSpec, timeout: float | None) -> openai.OpenAI:
    try:
        from openai import OpenAI
    except ImportError as error:
        raise AgentError(
            f"model {model.name!r} needs the 'openai' client, which is not installed: "
            f"pip install 'pytest-ltm[openai]' ({error})"
        ) from error
    return OpenAI(
        api_key=model.key(), base_url=model.base_url, timeout=timeout, max_retries=0, default_headers=_headers(model)
    )


def _headers(model: ModelSpec) -> Any:
    """Keep the names of an account at one provider from another."""
    from openai import Omit

    if model.key_env == ENDPOINTS["openai"].key_env:
        return None
    return {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}


def _parameters(model: ModelSpec) -> dict[str, Any]:
    at_home = urlsplit(model.base_url).hostname == urlsplit(ENDPOINTS["openai"].base_url).hostname
    parameters = {
        # Servers that imitate the endpoint know the older name; the endpoint itself deprecates it.
        _LENGTHS[at_home]: model.max_tokens,
        "temperature": _temperature(model),
        "seed": model.seed,
        "reasoning_effort": model.reasoning_effort,
        "extra_body": dict(model.extra) or None,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def _temperature(model: ModelSpec) -> float | None:
    if model.temperature is None:
        return 0
    return None if model.temperature == "default" else model.temperature


def _text(error: openai.APIStatusError) -> str:
    return f"{error.message} {error.body}"


def _said(error: openai.APIStatusError) -> str:
    """Return what the server says of its refusal, on one line of bearable length."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    text = " ".join((said if isinstance(said, str) else error.message).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _hint(model: ModelSpec, error: openai.APIStatusError) -> str:
    """Return what the server cannot know: where the key comes from, and that the address may lack its end."""
    if about_key(error.status_code, _text(error)):
        return f" {model.about_key()}"
    if error.status_code == HTTPStatus.NOT_FOUND and not names(_text(error), "model"):
        return f" There is no {model.base_url}/chat/completions; addresses usually end in /v1"
    return ""


def _raise_if_too_long(error: openai.APIStatusError, model: ModelSpec) -> None:
    found = too_long(error.status_code, _text(error))
    if found is not None:
        what = f"the prompt is too long for model {model.name!r}: {_said(error)}"
        raise ContextOverflow(what, limit=found.limit, asked=found.asked) from None


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Return the seconds that the answer asks to wait, if it does so in seconds."""
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None
