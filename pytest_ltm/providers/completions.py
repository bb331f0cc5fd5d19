"""Completions: sends requests to a model, sharing its rate limit with all callers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_ltm.api.calls import UNTAKEN
from pytest_ltm.api.model import SPOKEN, escape_surrogates
from pytest_ltm.api.storage import (
    AgentFault,
    TransientFault,
    can_interrupt,
    describe_error,
    sleep_interruptibly,
    stopwatch_seconds,
)
from pytest_ltm.providers.answer_fields import fold_names
from pytest_ltm.providers.chat_responses import (
    ModelResponse,
    Reception,
    Used,
    no_answer,
    read_vectors,
    received,
)
from pytest_ltm.providers.limiter import Limiter, RateLimitSlot, value_of
from pytest_ltm.providers.refusal import (
    Refusal,
    RequestRefused,
    is_about_key,
    mentions,
    read_refusal,
    reports_error,
    takes_not,
    too_long,
)
from pytest_ltm.providers.shared_limits import SHARING
from pytest_ltm.providers.transport import Arrived, ClientGuard, Unreached

if TYPE_CHECKING:
    from pytest_ltm.providers.chat_model import ModelSpec
    from pytest_ltm.providers.provider import Provider


# For pytest: the message already has the server's answer.
__tracebackhide__ = True

# With `role` and `content`, and the fields of tool calls.
Message = dict[str, Any]

# Seconds that a server may take to load its model; they count towards the reply
# timeout.
LOADING = 600.0
# Hints by the type of the error behind a request that did not arrive.
_CURES = {
    "ConnectionRefusedError": ". Does the server run, and at this port?",
    "gaierror": ". Is the host's name right, and is there a network?",
}
# How to send a request without a parameter, if not by leaving it out.
_OMISSIONS = {"temperature": "Write temperature=default"}
# A user message for models that require one at the beginning.
_OPENING = "(The conversation goes on.)"


class ContextOverflow(AgentFault):
    """The prompt is too long for the model.

    `limit` and `asked` are in the model's tokens, None if not reported.
    """

    def __init__(self, message: str, *, limit: int | None, asked: int | None) -> None:
        super().__init__(message)
        self.limit = limit
        self.asked = asked


class Completions:
    """One model that takes one request at a time; close it at the end.

    The client's own retries are off: the caller handles faults. `says`: returns whether
    any part of a text is speech. Raises AgentError if the client is not installed or
    the key is not set.
    """

    def __init__(
        self,
        model: ModelSpec,
        provider: Provider,
        *,
        rng: random.Random | None = None,
        says: Callable[[str], bool] = SPOKEN.says_something,
    ) -> None:
        self.model = model
        self._provider = provider
        timeout = SHARING.reply_timeout
        endpoint = f"{model.base_url} {model.name} {model.key_env}".strip()
        # If the reply already has a limit, the client's own limit, which counts pauses,
        # would only expire too early.
        guard = ClientGuard(model.base_url, None if can_interrupt() else timeout)
        self._transport = provider.connect(model, guard)
        self._says = says
        self._limiter = Limiter(
            endpoint,
            value=value_of(endpoint),
            rng=rng or random.Random(),
            lease=timeout,
        )
        self._fields = provider.parameters(model)
        self._quirks: set[str] = {"stream"} if model.stream else set()
        """Features that the server has refused, and that requests avoid from now on."""
        self._turn: RateLimitSlot | None = None
        self._renamed = False
        self.lost: Used | None = None
        """The usage of the last request if it failed; None if it succeeded, was refused or never arrived."""
        self.loading = 0.0
        """Seconds that the last request waited for the server to load its model."""

    @contextmanager
    def turn(self) -> Iterator[RateLimitSlot]:
        """Wait for a turn at the endpoint, and hold it for the block; nested blocks share one turn."""
        if self._turn is not None:
            yield self._turn
            return
        with self._limiter.turn() as turn:
            self._turn = turn
            try:
                yield turn
            finally:
                self._turn = None

    def complete(
        self, messages: Sequence[Message], **extra_fields: Any
    ) -> ModelResponse:
        """Return the model's answer to the messages.

        Raises RequestRefused for an error that the server reports, ContextOverflow if
        the prompt is too long, TransientFault for an answer that did not arrive whole,
        AgentFault for one that is not an answer.
        """

        def body() -> dict[str, Any]:
            shaped = shape_messages(messages, self._quirks)
            fields = {**self._fields, **extra_fields}
            if "stream" in self._quirks:
                fields["stream"] = True
                if "stream_options" not in self._quirks:
                    fields |= self._provider.streams
            return self._provider.body(self.model, shaped, fields)

        with self.turn() as turn:
            data = self._request(self._provider.path, body, turn)
            self.lost = self._provider.used(data)
            reception = Reception(
                model=self.model, offered="tools" in extra_fields, says=self._says
            )
            response = self._provider.read(data, reception)
            self.lost = None
            turn.succeeded()
            return response

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Return a vector for each text, and the usage; raises the errors of `complete`."""
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
        self._transport.close()

    def _request(
        self, path: str, body: Callable[[], dict[str, Any]], turn: RateLimitSlot
    ) -> dict[str, Any]:
        """Return the body of the answer, an object; repeat the request without the parts that the server refuses."""
        self.lost = None
        self.loading = 0.0
        began = stopwatch_seconds()
        while True:
            self.lost = Used()
            arrived = self._post(path, body())
            data = self._read_body(arrived)
            refusal = read_refusal(arrived.status, arrived.text, data)
            if refusal is None:
                if arrived.status == HTTPStatus.ACCEPTED:
                    raise TransientFault(
                        f"{self.model.base_url} has queued the request (202), and answers later"
                    )
                if not isinstance(data, dict):
                    raise no_answer(
                        {}, self.model, "choices as a chat completion has them"
                    )
                return data
            self.lost = None
            if self._is_loading(refusal):
                self.loading = stopwatch_seconds() - began
                if self.loading < LOADING:
                    sleep_interruptibly(min(5.0, 0.2 + self.loading))
                    continue
            # Checked first, because some servers refuse such a prompt with 429, which
            # fewer concurrent requests would not cure.
            excess = too_long(refusal.status, refusal.words)
            if excess is not None:
                text = f"the prompt is too long for model {self.model.name!r}: {received(refusal.message)}"
                raise ContextOverflow(text, limit=excess.limit, asked=excess.asked)
            if refusal.status in UNTAKEN:
                turn.note_refusal(_retry_after(arrived))
            if not self._adjust(refusal):
                raise self._refused(refusal, arrived)

    @staticmethod
    def _is_loading(refusal: Refusal) -> bool:
        words = refusal.words.lower()
        return (
            refusal.status == HTTPStatus.SERVICE_UNAVAILABLE
            and "loading" in words
            and "model" in words
        )

    def _post(self, path: str, body: dict[str, Any]) -> Arrived:
        try:
            return self._transport.post(path, body)
        except Unreached as error:
            if error.unsent:
                self.lost = None
            self._raise_unreached(error.__cause__ or error)

    def _read_body(self, arrived: Arrived) -> Any:
        """Return a body as JSON, or a stream as its assembled body; None if it is neither."""
        text = arrived.text
        kind = arrived.headers.get("content-type", "")
        if _STREAM.match(text) or "event-stream" in kind:
            events = [fold_names(event) for event in _read_events(text)]
            for event in events:
                if reports_error(event):
                    return event
            return self._provider.assemble(events)
        try:
            return fold_names(json.loads(text))
        # RecursionError if it is nested too deeply
        except (ValueError, RecursionError):
            if "json" in kind and arrived.status < HTTPStatus.BAD_REQUEST:
                raise TransientFault(
                    f"{self.model.base_url} answered with a body that is not JSON"
                ) from None
        return None

    def _raise_unreached(self, error: BaseException) -> NoReturn:
        """Raise the fault of a request without an answer; a certificate error is not transient."""
        text = f"{self.model.base_url} cannot be reached, or broke off: {describe_error(error)}"
        names = []
        cause: BaseException | None = error
        while cause is not None:
            names.append(type(cause).__name__)
            cause = cause.__cause__ or cause.__context__
        if "SSLCertVerificationError" in names or "CERTIFICATE_VERIFY" in text:
            raise AgentFault(
                f"{text}. If you trust it, name the file of its authority in SSL_CERT_FILE"
            ) from None
        for name in names:
            if name in _CURES:
                text += _CURES[name]
                break
        raise TransientFault(text) from None

    def _refused(self, refusal: Refusal, arrived: Arrived) -> AgentFault:
        """Return the fault of a refusal, with hints that the server cannot give: the key's source, usual addresses."""
        url = self.model.base_url
        message = received(refusal.message)
        if arrived.status < HTTPStatus.BAD_REQUEST:
            text = f"{url} answered with an error: {message}"
            return RequestRefused(text, refusal, arrived)
        hint = ""
        if is_about_key(refusal):
            hint = f" {self.model.about_key()}"
        elif "v1/responses" in refusal.words:
            hint = f" Write openai-responses:{self.model.name}."
        elif refusal.status == HTTPStatus.NOT_FOUND:
            address = self._provider.address(self.model)
            hint = f" {address}/models lists the models that it has."
            if not mentions(refusal.words, "model"):
                hint = f" There is no {address}{self._provider.path}{self._provider.missing_hint}."
        if hint and message and message[-1] not in ".!?":
            message += "."
        return RequestRefused(
            f"{url} answered {arrived.status}: {message}{hint}", refusal, arrived
        )

    def _adjust(self, refusal: Refusal) -> bool:
        """Drop or rename a parameter that the model refuses; False if there is none, or none left."""
        if refusal.status not in {400, 422}:
            return False
        text = refusal.words
        fields = self._fields
        for quirk, cues in _QUIRKS.items():
            if quirk not in self._quirks and _is_worded(text, cues):
                self._quirks.add(quirk)
                return True
        length_names = self._provider.lengths
        name = next((name for name in length_names if name in fields), None)
        can_rename = len(length_names) > 1 and not self._renamed
        if name and can_rename and takes_not(text, name):
            self._renamed = True
            other_name = length_names[1 - length_names.index(name)]
            fields[other_name] = fields.pop(name)
            return True
        if (
            "temperature" in fields
            and self.model.temperature is None
            and mentions(text, "temperature")
        ):
            del fields["temperature"]
            return True
        for name in fields:
            if takes_not(text, name):
                parameter = "max_tokens" if name in length_names else name
                raise AgentFault(
                    f"model {self.model.name!r} does not take {parameter}={fields[name]!r}. "
                    f"{_OMISSIONS.get(name, 'Leave it out')}. {self.model.base_url} says: {received(refusal.message)}"
                ) from None
        return False


# The wordings of refusals that require another form of request: its subject, and the complaint.
_QUIRKS = {
    "stream_options": (r"stream_options|include_usage", ""),
    "stream": (r"\bstream", r"only|non-stream|required|must"),
    "alternate": (r"\balternat", r"role|user"),
    "no_system": (
        r"\b(?:system|developer)\b",
        r"\b(?:not|n't)\b.{0,20}(?:support|allow|enabl)|unsupported",
    ),
}


def _is_worded(text: str, cues: tuple[str, str]) -> bool:
    return all(re.search(cue, text, re.IGNORECASE) for cue in cues)


def _retry_after(arrived: Arrived) -> float | None:
    """Return the seconds to wait that a server asks for, if given in seconds."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(arrived.headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None


def shape_messages(messages: Sequence[Message], quirks: set[str]) -> list[Message]:
    """Return the messages for a server that takes no system prompt, or requires alternating roles."""
    shaped = [_escape_content(message) for message in messages]
    if not quirks & {"no_system", "alternate"}:
        return shaped
    merged: list[Message] = []
    for message in shaped:
        role = "user" if message["role"] == "system" else message["role"]
        turn = {**message, "role": role}
        if (
            merged
            and merged[-1]["role"] == role in {"user", "assistant"}
            and "tool_calls" not in turn
        ):
            merged[-1] = {
                **merged[-1],
                "content": f"{merged[-1]['content']}\n\n{turn['content']}",
            }
        elif not merged and role == "assistant":
            merged += [{"role": "user", "content": _OPENING}, turn]
        else:
            merged.append(turn)
    return merged


def _escape_content(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    return {**message, "content": escape_surrogates(content)}


# A field of an event, or a comment.
_STREAM = re.compile(r"\s*(?:data|event|id|retry)?:")


def _read_events(text: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream that are objects; `done` is in the final one."""
    # other line separators may occur within a text
    for line in re.split(r"\r?\n|\r", text):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            yield {"done": True}
            continue
        try:
            event = json.loads(data) if data else None
        # a truncated last event of a broken stream
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
