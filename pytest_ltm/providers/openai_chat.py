"""OpenAI: chat completions and embeddings as OpenAI has them, and as most other servers imitate them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from pytest_ltm._core.storage.errors import AgentFault, TransientFault
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
from pytest_ltm.providers.transport import (
    Arrived,
    ClientGuard,
    Transport,
    Unreached,
)

if TYPE_CHECKING:
    from pytest_ltm.providers.chat_model import ModelSpec
    from pytest_ltm.providers.completions import Message


class OpenAi(Provider):
    """`openai:MODEL`, through the `openai` client."""

    name = home = library = extra = "openai"
    path = "/chat/completions"
    streams: ClassVar[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}
    lengths: ClassVar[tuple[str, ...]] = ("max_tokens", "max_completion_tokens")
    """The names of the limit of a reply, of which a server may know only one."""
    address_env = "OPENAI_BASE_URL"
    takes_images = gives_vectors = True
    model_prefixes: ClassVar[tuple[str, ...]] = ("gpt-", "chatgpt-", "o1", "o3", "o4")
    missing_hint = "; addresses usually end in /v1"

    def connect(self, model: ModelSpec, guard: ClientGuard) -> Transport:
        """Return what posts through the `openai` client; AgentError where that is not installed."""
        check_ready(model, self)
        return OpenAiTransport(
            model, guard, is_stranger=model.key_env != self.default_address.key_env
        )

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the fields of every request beside model and messages."""
        at_home = (
            urlsplit(model.base_url).hostname
            == urlsplit(self.default_address.base_url).hostname
        )
        values = {
            # Servers that imitate the endpoint know the older name; the endpoint itself
            # deprecates it.
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
        """Return what a body says; an AgentFault if that is not an answer."""
        model = asked.model
        choices = answer.get("choices")
        if choices == []:
            raise AgentFault(
                f"model {model.name!r} answered with no choice at all: the provider kept its answer back"
            )
        choice = (
            choices[0]
            if isinstance(choices, list) and isinstance(choices[0], dict)
            else {}
        )
        message = choice.get("message")
        if not isinstance(message, dict):
            raise no_answer(answer, model, "choices as a chat completion has them")
        text, thoughts = split_parts(message.get("content"))
        said = [
            message.get(name) for name in ("reasoning_content", "reasoning", "thinking")
        ]
        thoughts = thoughts or next(
            (each for each in said if isinstance(each, str) and each), ""
        )
        called = message.get("tool_calls")
        functions = [
            (
                received(call.get("id")) or f"call_{number}",
                call["function"],
            )  # some servers give calls no id
            for number, call in enumerate(called if isinstance(called, list) else ())
            if isinstance(call, dict) and isinstance(call.get("function"), dict)
        ]
        calls = [
            ToolCall(
                known, received(function["name"]), received(function.get("arguments"))
            )
            for known, function in functions
            if isinstance(function.get("name"), str)
        ]
        return response_of(
            asked,
            message.get("refusal") if text is None else text,
            self.used(answer),
            finish_reason=choice.get("finish_reason", ""),
            thoughts=thoughts,
            calls=calls,
        )

    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return what a body says that it took, be there an answer in it or not."""
        usage = answer.get("usage")
        asked, answered = (
            read_count(usage, "prompt_tokens") or None,
            read_count(usage, "completion_tokens"),
        )
        total = read_count(usage, "total_tokens")
        if asked is not None and total is not None and total > asked:
            # Some providers leave what was thought out of the completion, but not out
            # of the total, nor of the bill.
            answered = max(answered or 0, total - asked)
        details = (
            usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
        )
        cached = read_count(details, "cached_tokens")
        cached = (
            read_count(usage, "prompt_cache_hit_tokens") or 0
            if cached is None
            else cached
        )
        return Used(asked, answered, cached if asked is None else min(cached, asked))

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body that the events of a stream come to; a TransientFault for one that broke off."""
        message: dict[str, Any] = {}
        calls: dict[int, dict[str, Any]] = {}
        usage, reason, done = None, None, False
        for event in events:
            if event.get("error"):
                return dict(event)
            usage, done = event.get("usage") or usage, done or "done" in event
            choices = event.get("choices")
            choice = (
                choices[0]
                if isinstance(choices, list)
                and choices
                and isinstance(choices[0], dict)
                else {}
            )
            reason = choice.get("finish_reason") or reason
            for name, part in (
                choice.get("delta") or choice.get("message") or {}
            ).items():
                if name == "tool_calls" and isinstance(part, list):
                    _extend_calls(calls, part)
                elif isinstance(part, str) and name != "role":
                    message[name] = message.get(name, "") + part
                elif isinstance(part, list):
                    message[name] = [*message.get(name, ()), *part]
        if not (done or reason):
            raise TransientFault("the stream of an answer broke off")
        if calls:
            message["tool_calls"] = list(calls.values())
        return {
            "choices": [{"message": message, "finish_reason": reason}],
            "usage": usage,
        }


def split_parts(content: Any) -> tuple[Any, str]:
    """Return the text of a content in parts and the thoughts among them; any other content as it is."""
    if not isinstance(content, list):
        return content, ""
    parts = [part for part in content if isinstance(part, dict)]
    texts = [
        part["text"]
        for part in parts
        if part.get("type") == "text" and isinstance(part.get("text"), str)
    ]
    thoughts = [
        split_parts(part.get("thinking"))[0]
        for part in parts
        if part.get("type") == "thinking"
    ]
    return "".join(texts) if texts else None, "".join(
        thought for thought in thoughts if isinstance(thought, str)
    )


def _extend_calls(calls: dict[int, dict[str, Any]], parts: Sequence[Any]) -> None:
    """Add the pieces of tool calls to those that have come."""
    for part in (part for part in parts if isinstance(part, dict)):
        call = calls.setdefault(
            part.get("index", len(calls)), {"function": {"name": "", "arguments": ""}}
        )
        call.update({"id": part["id"]} if part.get("id") else {})
        for name, text in (part.get("function") or {}).items():
            if isinstance(text, str):
                call["function"][name] = call["function"].get(name, "") + text


class OpenAiTransport:
    """Posts through the `openai` client, without its own retries: the caller decides what to do about a fault."""

    def __init__(
        self, model: ModelSpec, guard: ClientGuard, *, is_stranger: bool
    ) -> None:
        import openai

        http = openai.DefaultHttpxClient(**guard.options)
        headers: dict[str, Any] = {}
        if is_stranger:  # the names of an account are kept from another provider
            headers = {
                "OpenAI-Organization": openai.Omit(),
                "OpenAI-Project": openai.Omit(),
            }
        if model.api_version:  # as Azure has it
            headers["api-key"] = model.key()
        self._openai = openai
        # of httpx or httpx2, whichever this version of the client goes through
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
        """Return what came."""
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


# Errors of the client that came before anything was sent.
_UNSENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
