"""OpenAI: chat completions and embeddings, in OpenAI's protocol, which most other servers imitate."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from pytest_ltm.api.storage import AgentFault, TransientFault
from pytest_ltm.providers.answer_fields import (
    find_calls,
    find_end,
    find_thoughts,
    split_parts,
)
from pytest_ltm.providers.chat_responses import (
    ModelResponse,
    Reception,
    ToolCall,
    Used,
    no_answer,
    read_count,
    received,
    response_of,
)
from pytest_ltm.providers.provider import Provider, check_ready, drop_unset
from pytest_ltm.providers.transport import Arrived, ClientGuard, Transport, Unreached

if TYPE_CHECKING:
    from pytest_ltm.providers.chat_model import ModelSpec
    from pytest_ltm.providers.completions import Message


class OpenAi(Provider):
    """`openai:MODEL`, through the `openai` client."""

    name = home = library = extra = "openai"
    path = "/chat/completions"
    streams: ClassVar[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}
    lengths: ClassVar[tuple[str, ...]] = ("max_tokens", "max_completion_tokens")
    """The names of the field that limits a reply; a server may know only one."""
    address_env = "OPENAI_BASE_URL"
    takes_images = gives_vectors = True
    model_prefixes: ClassVar[tuple[str, ...]] = ("gpt-", "chatgpt-", "o1", "o3", "o4")
    missing_hint = "; addresses usually end in /v1"

    def connect(self, model: ModelSpec, guard: ClientGuard) -> Transport:
        """Return a transport through the `openai` client; AgentError if it is not installed."""
        check_ready(model, self)
        return OpenAiTransport(
            model, guard, is_stranger=model.key_env != self.default_address.key_env
        )

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the constant fields of every request."""
        at_home = (
            urlsplit(model.base_url).hostname
            == urlsplit(self.default_address.base_url).hostname
        )
        values = {
            # Servers that imitate the endpoint know the older name, which the endpoint
            # itself deprecates.
            self.lengths[at_home]: model.max_tokens,
            "temperature": 0 if model.temperature is None else model.temperature,
            "seed": model.seed,
            "reasoning_effort": model.reasoning_effort,
            **model.extra,
        }
        return drop_unset(values)

    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""
        return {
            "model": model.name,
            "messages": list(messages),
            "stream": False,
            **fields,
        }

    def read(self, answer: Mapping[str, Any], asked: Reception) -> ModelResponse:
        """Return the response in a body; AgentFault if it is not an answer."""
        model = asked.model
        choices = answer.get("choices")
        if choices == []:
            raise AgentFault(
                f"model {model.name!r} answered with no choice at all: the provider kept its answer back"
            )
        choice = _choice_at(_first_index([answer]), answer)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise no_answer(answer, model, "choices as a chat completion has them")
        text, thoughts = split_parts(message.get("content"))
        beside = {name: answer[name] for name in answer if name != "choices"}
        return response_of(
            asked,
            message.get("refusal") if text is None else text,
            self.used(answer),
            finish_reason=find_end(choice, beside),
            thoughts=thoughts or find_thoughts(message) or find_thoughts(choice),
            calls=_read_calls([*find_calls(message), *find_calls(choice)]),
        )

    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return the usage in a body, whether or not it has an answer."""
        usage = answer.get("usage")
        asked = read_count(usage, "prompt_tokens") or None
        answered = read_count(usage, "completion_tokens")
        total = read_count(usage, "total_tokens")
        if asked is not None and total is not None and total > asked:
            # Some providers exclude thoughts from the completion count, but not from
            # the total or the bill.
            answered = max(answered or 0, total - asked)
        if isinstance(usage, dict):
            details = usage.get("prompt_tokens_details")
        else:
            details = None
        cached = read_count(details, "cached_tokens")
        if cached is None:
            cached = read_count(usage, "prompt_cache_hit_tokens") or 0
        return Used(asked, answered, cached if asked is None else min(cached, asked))

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body assembled from the events of a stream; TransientFault if the stream broke off."""
        message: dict[str, Any] = {}
        calls: dict[Any, dict[str, Any]] = {}
        usage = None
        is_complete = False
        index = _first_index(events)
        for event in events:
            usage = event.get("usage") or usage
            is_complete = is_complete or "done" in event
            choice = _choice_at(index, event)
            piece = choice.get("delta") or choice.get("message")
            _extend_message(message, calls, piece if isinstance(piece, dict) else {})
        reason = find_end(*(_around_text(index, event) for event in events))
        if not is_complete and reason in {"", "null"}:
            raise TransientFault("the stream of an answer broke off")
        if calls:
            message["tool_calls"] = list(calls.values())
        choice = {"message": message, "finish_reason": reason}
        return {"choices": [choice], "usage": usage}


def _choices_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the choices in an answer or in an event of a stream."""
    choices = body.get("choices")
    if not isinstance(choices, list):
        return []
    return [choice for choice in choices if isinstance(choice, dict)]


def _first_index(bodies: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the smallest index of the choices; None if the server does not number each of them."""
    indexes: list[int] = []
    for body in bodies:
        for choice in _choices_of(body):
            index = choice.get("index")
            if not isinstance(index, int):
                return None
            indexes.append(index)
    return min(indexes, default=None)


def _choice_at(index: int | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice with an index, or the first one if it is None; {} if there is none."""
    for choice in _choices_of(body):
        if index is None or choice["index"] == index:
            return choice
    return {}


def _around_text(index: int | None, event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an event with one of its choices, without the piece of text."""
    choice = _choice_at(index, event)
    around = {name: choice[name] for name in choice if name not in {"delta", "message"}}
    beside = {name: event[name] for name in event if name != "choices"}
    return [{**beside, **around}]


def _read_calls(parts: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """Return the calls among the parts of a message; some servers give calls no id."""
    calls: list[ToolCall] = []
    for number, part in enumerate(parts):
        function = part.get("function")
        function = function if isinstance(function, dict) else part
        if isinstance(function.get("name"), str):
            call_id = received(part.get("id")) or f"call_{number}"
            arguments = function.get("arguments")
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments)
            name = received(function["name"])
            calls.append(ToolCall(call_id, name, received(arguments)))
    return calls


def _extend_message(
    message: dict[str, Any], calls: dict[Any, dict[str, Any]], piece: Mapping[str, Any]
) -> None:
    """Add a piece of a message to the message assembled so far."""
    for name, part in piece.items():
        if name == "tool_calls" and isinstance(part, list):
            _extend_calls(calls, part)
        elif isinstance(part, str) and name != "role":
            message[name] = _text_so_far(message, name) + part
        elif isinstance(part, list):
            parts = message.get(name)
            message[name] = [*(parts if isinstance(parts, list) else ()), *part]
        elif isinstance(part, dict):
            fields = message.setdefault(name, {})
            if isinstance(fields, dict):
                _extend_fields(fields, part)


def _extend_fields(fields: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, text in piece.items():
        if isinstance(text, str):
            fields[name] = _text_so_far(fields, name) + text


def _text_so_far(fields: Mapping[str, Any], name: str) -> str:
    text = fields.get(name)
    return text if isinstance(text, str) else ""


def _extend_calls(calls: dict[Any, dict[str, Any]], parts: Sequence[Any]) -> None:
    """Add pieces of tool calls to the calls assembled so far."""
    for part in parts:
        if not isinstance(part, dict):
            continue
        index = part.get("index")
        number = index if isinstance(index, (int, str)) else len(calls)
        call = calls.setdefault(number, {"function": {"name": "", "arguments": ""}})
        if part.get("id"):
            call["id"] = part["id"]
        function = part.get("function")
        _extend_fields(call["function"], function if isinstance(function, dict) else {})


class OpenAiTransport:
    """Posts through the `openai` client, without its own retries: the caller handles faults."""

    def __init__(
        self, model: ModelSpec, guard: ClientGuard, *, is_stranger: bool
    ) -> None:
        import openai

        http = openai.DefaultHttpxClient(**guard.options)
        headers: dict[str, Any] = {}
        if is_stranger:  # other providers must not see the account's names
            headers = {
                "OpenAI-Organization": openai.Omit(),
                "OpenAI-Project": openai.Omit(),
            }
        if model.api_version:  # as Azure requires
            headers["api-key"] = model.key()
        self._openai = openai
        # from httpx or httpx2, whichever this version of the client uses
        package = type(http).__mro__[1].__module__.partition(".")[0]
        self._whole = sys.modules[package].Response
        self._client = openai.OpenAI(
            api_key=model.key(),
            base_url=model.base_url,
            default_headers=headers,
            default_query={"api-version": model.api_version}
            if model.api_version
            else None,
            max_retries=0,
            timeout=guard.options["timeout"],
            http_client=http,
        )

    def post(self, path: str, body: Mapping[str, Any]) -> Arrived:
        """Return the server's answer."""
        try:
            response = self._client.post(path, cast_to=self._whole, body=body)
        except self._openai.APIStatusError as error:
            response = error.response
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Unreached(unsent=type(cause).__name__ in _UNSENT) from cause
        return Arrived(response.status_code, response.headers, response.text)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


# Client errors that occur before anything is sent.
_UNSENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
