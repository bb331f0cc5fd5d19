"""OpenAI: chat completions and embeddings as OpenAI has them, and as most other servers imitate them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from pytest_ltm._core.calls.chat_responses import (
    ModelResponse,
    ToolCall,
    Used,
    read_count,
    received,
    response_of,
)
from pytest_ltm._core.calls.providers import Provider
from pytest_ltm._core.storage.errors import AgentFault, TransientFault

if TYPE_CHECKING:
    from pytest_ltm._core.calls.chat_model import ModelSpec
    from pytest_ltm._core.calls.completions import Message


class OpenAi(Provider):
    """`openai:MODEL`, through the `openai` client."""

    name = client = "openai"
    path = "/chat/completions"
    lengths: ClassVar[tuple[str, ...]] = ("max_tokens", "max_completion_tokens")
    """The names of the limit of a reply, of which a server may know only one."""
    address_env = "OPENAI_BASE_URL"
    takes_images = gives_vectors = True
    model_prefixes: ClassVar[tuple[str, ...]] = ("gpt-", "chatgpt-", "o1", "o3", "o4")
    missing_hint = "; addresses usually end in /v1"

    def connect(
        self, model: ModelSpec, library: Any, options: Mapping[str, Any]
    ) -> Any:
        """Return a client."""
        headers: dict[str, Any] = {}
        # The names of an account at one provider are kept from another.
        if model.key_env != self.default_address.key_env:
            headers = {
                "OpenAI-Organization": library.Omit(),
                "OpenAI-Project": library.Omit(),
            }
        if model.api_version:  # as Azure has it
            headers["api-key"] = model.key()
        query = {"api-version": model.api_version} if model.api_version else None
        return library.OpenAI(
            api_key=model.key(),
            base_url=model.base_url,
            default_headers=headers,
            default_query=query,
            **options,
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
        return {
            name: value
            for name, value in values.items()
            if value not in (None, "default")
        }

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

    def read(
        self, answer: Mapping[str, Any], model: ModelSpec, *, tools: bool
    ) -> ModelResponse:
        """Return what a body says; an AgentFault if that is not an answer."""
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
        if isinstance(error := choice.get("error"), dict):
            raise TransientFault(
                f"{model.base_url} broke off: {received(error.get('message'))[:300]}"
            )
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
            model,
            message.get("refusal") if text is None else text,
            self.used(answer),
            finish_reason=choice.get("finish_reason"),
            thoughts=thoughts,
            calls=calls,
            offered=tools,
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
        each for each in thoughts if isinstance(each, str)
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


def no_answer(answer: Mapping[str, Any], model: ModelSpec, wanted: str) -> AgentFault:
    """Return the fault of a body that is something else than an answer."""
    fields = ", ".join(sorted(answer))
    what = f"with the fields {fields}" if fields else "with something else"
    return AgentFault(
        f"{model.base_url} answered {what}, not with {wanted}. "
        f"Is it the address of such an endpoint, as http://localhost:8000/v1 is of an OpenAI-compatible one?"
    )


def read_vectors(
    answer: Mapping[str, Any], model: ModelSpec, count: int
) -> list[list[float]]:
    """Return the vectors of a body in the order of their texts; AgentFault where there is not one for each."""
    data = answer.get("data")
    rows = (
        [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    )
    vectors = [
        row.get("embedding")
        for row in sorted(rows, key=lambda row: read_count(row, "index") or 0)
    ]
    if len(vectors) != count or not all(
        isinstance(vector, list) and vector for vector in vectors
    ):
        raise AgentFault(
            f"model {model.name!r} gave {len(vectors)} vectors for {count} texts, or some that are none"
        )
    return vectors  # type: ignore[return-value]  # they were just looked at
