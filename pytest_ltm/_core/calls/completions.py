"""Completions: asks a model through its provider's client, in turn with everybody else who asks it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pytest_ltm._core.calls.chat_responses import (
    ModelResponse,
    Used,
    about_key,
    escape_surrogates,
    mentions,
    not_taken,
    received,
    refuses,
    too_long,
)
from pytest_ltm._core.calls.limiter import SHARING, Limiter, RateLimitSlot, value_of
from pytest_ltm._core.calls.openai_chat import no_answer, read_vectors
from pytest_ltm._core.calls.trace_context import add_trace
from pytest_ltm._core.storage.clock import (
    can_interrupt,
    sleep_interruptibly,
    stopwatch_seconds,
)
from pytest_ltm._core.storage.errors import (
    AgentError,
    AgentFault,
    TransientFault,
    describe_error,
)

if TYPE_CHECKING:
    from pytest_ltm._core.calls.chat_model import ModelSpec
    from pytest_ltm._core.calls.providers import Provider


# For pytest: what the server said is in the message.
__tracebackhide__ = True

# `role` and `content`, and what goes with calls of tools.
Message = dict[str, Any]

# The bytes, unpacked, of the longest answer that is read.
LONGEST_BODY = 2**24
# Seconds that a server may take to load its model; they are part of the time for the
# reply.
LOADING = 600.0
_PACKINGS = frozenset({"", "identity", "gzip", "deflate"})
_BUSY = frozenset({429, 503, 529})
# Codes in a body that say that the provider behind a gateway may answer later.
_PASSING = frozenset(
    {408, 409, 425, 429, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
)
# Names of errors of the client's that came before anything was sent.
_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_CURES = {
    "ConnectionRefusedError": ". Does the server run, and at this port?",
    "gaierror": ". Is the host's name right, and is there a network?",
}
# Of gateways: somebody between here and the model gave up.
_HUNG_UP = 499
_LONGEST = 300
_WITHOUT = {"temperature": "Write temperature=default"}
# Said by the user where a model wants to hear one first.
_OPENING = "(The conversation goes on.)"


class ContextOverflow(AgentFault):
    """The prompt is too long for the model. `limit` and `asked` in its own tokens, None where it does not report it."""

    def __init__(self, message: str, *, limit: int | None, asked: int | None) -> None:
        super().__init__(message)
        self.limit, self.asked = limit, asked


class RequestRefused(AgentFault):
    """Another status than 200, in the server's own words; where the key is to blame, with where it comes from.

    `status_code`, `code` and `response`, its headers, are for the retries.
    """

    def __init__(self, message: str, answer: HttpAnswer) -> None:
        super().__init__(message)
        self.status_code, self.code, self.response = (
            answer.status,
            answer.error_code,
            answer,
        )


class HttpAnswer(NamedTuple):
    """What a server answered, whole."""

    status: int
    headers: Mapping[str, str]
    text: str
    data: Any
    """The text as JSON; None where it is not."""

    @property
    def error(self) -> Any:
        """What the body says went wrong; None where it does not."""
        if not isinstance(self.data, dict):
            return None if self.status < HTTPStatus.BAD_REQUEST else self.text
        return self.data.get("error") or (
            None if self.status < HTTPStatus.BAD_REQUEST else self.data
        )

    @property
    def error_code(self) -> Any:
        """The error's code, as a number where it is one; None if it has none."""
        code = self.error.get("code") if isinstance(self.error, dict) else None
        return (
            int(code)
            if isinstance(code, str) and code.isdecimal() and len(code) == 3
            else code
        )

    @property
    def status_behind(self) -> int:
        """The status that counts: gateways report that of a provider behind them in the body of a 200."""
        in_body = self.status < HTTPStatus.BAD_REQUEST and isinstance(
            self.error_code, int
        )
        return int(self.error_code) if in_body else self.status

    @property
    def words(self) -> str:
        """What the server says of its refusal, on one line of bearable length."""
        error = self.error
        message = (
            error.get("message") or error.get("detail")
            if isinstance(error, dict)
            else error
        )
        text = " ".join(
            (message if isinstance(message, str) else json.dumps(error)).split()
        )
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    @property
    def retry_after(self) -> float | None:
        """The seconds for which it asks to be left alone, if it does so in seconds."""
        for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
            try:
                return max(0.0, float(self.headers[name]) / unit)
            except (KeyError, ValueError):
                continue
        return None


class Completions:
    """One model, asked one request at a time; close it at the end.

    Without the client's own retries: the caller decides what to do about a fault. `timeout`: seconds for one request,
    None: the run's reply timeout. Raises AgentError where the client is not installed or the key is not set.
    """

    def __init__(
        self,
        model: ModelSpec,
        provider: Provider,
        *,
        timeout: float | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.model, self._provider = model, provider
        longest = timeout or SHARING.reply_timeout
        endpoint = f"{model.base_url} {model.name} {model.key_env}".strip()
        self._library = load_client(model, provider)
        # Where the wait for a reply has a limit already, the client's, which counts
        # pauses, would only come too early.
        limit = timeout if can_interrupt() else longest
        http = self._library.DefaultHttpxClient(
            timeout=limit,
            headers={"Accept-Encoding": "gzip, deflate"},
            event_hooks={
                "request": [self._stay_at_home, add_trace],
                "response": [self._read_bounded],
            },
        )
        options = {"timeout": limit, "max_retries": 0, "http_client": http}
        self._client = provider.connect(model, self._library, options)
        self._limiter = Limiter(
            endpoint,
            value=value_of(endpoint),
            rng=rng or random.Random(),
            lease=longest,
        )
        self._fields = provider.parameters(model)
        self._quirks: set[str] = {"stream"} if model.stream else set()
        """What the server has refused, and is spared from now on: headings of `refusals.yml`."""
        self._turn: RateLimitSlot | None = None
        self._renamed = False
        self.lost: Used | None = None
        """What the last request took if it came to nothing; None if it did not, was refused or never arrived."""
        self.loading = 0.0
        """Seconds that the last request waited for the server to load its model."""

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
        """Return the model's answer to the messages; `more` are further fields of this request.

        Raises RequestRefused for another status than 200, ContextOverflow where that is
        because of the prompt's length, TransientFault for an answer that did not arrive
        whole, AgentFault for one that is not an answer.
        """

        def body() -> dict[str, Any]:
            shaped, fields = (
                shape_messages(messages, self._quirks),
                {**self._fields, **more},
            )
            streamed = {"stream": True} if "stream" in self._quirks else {}
            return self._provider.body(self.model, shaped, {**fields, **streamed})

        with self.turn() as turn:
            data = self._request(self._provider.path, body, turn)
            self.lost = self._provider.used(data)
            response = self._provider.read(data, self.model, tools="tools" in more)
            self.lost = None
            turn.succeeded()
            return response

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Return a vector for each text, and what that took; raises what `complete` does."""
        fields = {
            "model": self.model.name,
            "input": list(texts),
            "encoding_format": "float",
            **self.model.extra,
        }
        with self.turn() as turn:
            data = self._request("/embeddings", lambda: fields, turn)
            self.lost = None
            vectors = read_vectors(data, self.model, len(texts))
            turn.succeeded()
            return vectors, self._provider.used(data)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _stay_at_home(self, request: Any) -> None:
        """Refuse to follow a redirect that would carry the conversation to another server, or leave it behind."""
        own = urlsplit(self.model.base_url)
        is_secured = (
            request.url.scheme == "https" and request.url.port is None
        )  # its usual way from http: to TLS
        is_own = request.url.scheme == own.scheme and request.url.port == own.port
        if (
            request.url.host == own.hostname
            and (is_own or is_secured)
            and request.method == "POST"
        ):
            return
        place = str(request.url.copy_with(query=None, userinfo=b""))
        raise AgentFault(
            f"{self.model.base_url} sends elsewhere: to {place}. If that is right, give this address"
        )

    def _read_bounded(self, response: Any) -> None:
        packing = response.headers.get("content-encoding", "")
        body = bytearray()
        for part in response.iter_bytes() if packing.lower() in _PACKINGS else ():
            body += part
            if len(body) > LONGEST_BODY:
                break
        else:
            if packing.lower() in _PACKINGS:
                response._content = bytes(body)  # noqa: SLF001 - as its read() does, which has no limit
                return
        response.close()
        what = (
            f"more than {LONGEST_BODY:,} bytes"
            if body
            else f"a body packed as {packing[:40]!r}"
        )
        raise AgentFault(f"{self.model.base_url} answered with {what}")

    def _request(
        self, path: str, body: Callable[[], dict[str, Any]], turn: RateLimitSlot
    ) -> dict[str, Any]:
        """Return the body of the answer, an object; the request is made again without what the server does not take."""
        self.lost, self.loading, began = None, 0.0, stopwatch_seconds()
        while True:
            self.lost = Used()
            answer = self._answer(path, body())
            if answer.error is None:
                if answer.status == HTTPStatus.ACCEPTED:
                    raise TransientFault(
                        f"{self.model.base_url} has queued the request (202), and answers later"
                    )
                if not isinstance(answer.data, dict):
                    raise no_answer(
                        {}, self.model, "choices as a chat completion has them"
                    )
                return answer.data
            self.lost = None
            if answer.status == HTTPStatus.SERVICE_UNAVAILABLE and refuses(
                answer.words, "loading"
            ):
                self.loading = stopwatch_seconds() - began
                if self.loading < LOADING:
                    sleep_interruptibly(min(5.0, 0.2 + self.loading))
                    continue
            # First, because some servers refuse such a prompt with 429, and fewer
            # requests at a time would not help.
            if (result := too_long(answer.status, answer.text)) is not None:
                what = f"the prompt is too long for model {self.model.name!r}: {received(answer.words)}"
                raise ContextOverflow(
                    what, limit=result.limit, asked=result.asked
                ) from None
            if answer.status_behind in _BUSY:
                turn.note_refusal(answer.retry_after)
            if not self._adjust(answer):
                raise self._refusal(answer)

    def _answer(self, path: str, body: dict[str, Any]) -> HttpAnswer:
        library = self._library
        http = sys.modules[
            library.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
        ]
        try:
            response = self._client.post(path, cast_to=http.Response, body=body)
        except library.APIStatusError as error:
            response = error.response
        except library.APIConnectionError as error:
            if type(error.__cause__).__name__ in _UNREACHED:
                self.lost = None
            self._raise_unreached(error.__cause__ or error)
        text, kind = response.text, response.headers.get("content-type", "")
        data: Any = None
        if text.startswith(("data:", "event:", ":")) or "event-stream" in kind:
            data = self._provider.assemble(list(_read_events(text)))
        else:
            try:
                data = json.loads(text)
            except (
                ValueError,
                RecursionError,
            ):  # the last where it is nested too deeply
                if "json" in kind and response.status_code < HTTPStatus.BAD_REQUEST:
                    raise TransientFault(
                        f"{self.model.base_url} answered with a body that is not JSON"
                    ) from None
        return HttpAnswer(response.status_code, response.headers, text, data)

    def _raise_unreached(self, error: BaseException) -> None:
        """Raise what became of a request without an answer; a certificate does not get better by asking again."""
        causes = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        text = f"{self.model.base_url} cannot be reached, or broke off: {describe_error(error)}"
        if (
            any(type(each).__name__ == "SSLCertVerificationError" for each in causes)
            or "CERTIFICATE_VERIFY" in text
        ):
            raise AgentFault(
                f"{text}. If you trust it, name the file of its authority in SSL_CERT_FILE"
            ) from None
        cure = next(
            (
                _CURES[type(each).__name__]
                for each in causes
                if type(each).__name__ in _CURES
            ),
            "",
        )
        raise TransientFault(text + cure) from None

    def _refusal(self, answer: HttpAnswer) -> AgentFault:
        """Return the fault of a refusal, with what the server cannot know: whence the key, and how addresses end."""
        where, words, hint = self.model.base_url, received(answer.words), ""
        if answer.status < HTTPStatus.BAD_REQUEST or answer.status == _HUNG_UP:
            text = f"{where} answered with an error: {words}"
            return (
                TransientFault(text)
                if answer.status_behind in _PASSING
                else AgentFault(text)
            )
        if about_key(answer.status, answer.text):
            hint = f" {self.model.about_key()}"
        elif refuses(answer.text, "responses_only"):
            hint = f" Write openai-responses:{self.model.name}."
        elif answer.status == HTTPStatus.NOT_FOUND:
            address, missing = (
                self._provider.address(self.model),
                not mentions(answer.text, "model"),
            )
            hint = f" {address}/models lists the models that it has."
            hint = (
                f" There is no {address}{self._provider.path}{self._provider.missing_hint}."
                if missing
                else hint
            )
        stop = "." if hint and words and words[-1] not in ".!?" else ""
        return RequestRefused(
            f"{where} answered {answer.status}: {words}{stop}{hint}", answer
        )

    def _adjust(self, answer: HttpAnswer) -> bool:
        """Leave out or rename what the model does not take; false if there is nothing of that kind (any more)."""
        if answer.status not in {400, 422}:
            return False
        text, fields = answer.text, self._fields
        for quirk in ("no_system", "alternate", "stream"):
            if quirk not in self._quirks and refuses(text, quirk):
                self._quirks.add(quirk)
                return True
        names = self._provider.lengths
        old = next((name for name in names if name in fields), None)
        if old and len(names) > 1 and not self._renamed and not_taken(text, old):
            self._renamed = True
            fields[names[1 - names.index(old)]] = fields.pop(old)
            return True
        if (
            "temperature" in fields
            and self.model.temperature is None
            and mentions(text, "temperature")
        ):
            del fields["temperature"]
            return True
        for name in (name for name in fields if not_taken(text, name)):
            called = "max_tokens" if name in names else name
            raise AgentFault(
                f"model {self.model.name!r} does not take {called}={fields[name]!r}. "
                f"{_WITHOUT.get(name, 'Leave it out')}. {self.model.base_url} says: {received(answer.words)}"
            ) from None
        return False


def load_client(model: ModelSpec, provider: Provider) -> Any:
    """Return the module of the provider's client; AgentError where it is not installed."""
    try:
        return import_module(provider.client)
    except ImportError as error:
        raise AgentError(
            f"model {model.name!r} needs the {provider.client!r} client, which is not installed: "
            f"pip install 'pytest-ltm[{provider.client}]' ({error})"
        ) from error


def shape_messages(messages: Sequence[Message], quirks: set[str]) -> list[Message]:
    """Return the messages as a server takes them that has no system prompt, or wants roles to alternate."""
    shaped = [
        {**each, "content": escape_surrogates(each["content"])}
        if isinstance(each.get("content"), str)
        else each
        for each in messages
    ]
    if not quirks & {"no_system", "alternate"}:
        return shaped
    merged: list[Message] = []
    for each in (
        {**each, "role": "user" if each["role"] == "system" else each["role"]}
        for each in shaped
    ):
        if (
            merged
            and merged[-1]["role"] == each["role"] in {"user", "assistant"}
            and "tool_calls" not in each
        ):
            merged[-1] = {
                **merged[-1],
                "content": f"{merged[-1]['content']}\n\n{each['content']}",
            }
        elif not merged and each["role"] == "assistant":
            merged += [{"role": "user", "content": _OPENING}, each]
        else:
            merged.append(each)
    return merged


def _read_events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream that are objects; `done` is in the one that ends it."""
    for line in text.splitlines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            yield {"done": True}
            continue
        try:
            event = json.loads(data) if data else None
        except (ValueError, RecursionError):  # the last one, of a stream that was torn
            continue
        if isinstance(event, dict):
            yield event
