"""OpenAI's Responses API, which some of its models require; nothing is stored at the provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pytest_ltm.api.storage import TransientFault
from pytest_ltm.providers.answer_fields import (
    calls_tool,
    find_end,
    find_thoughts,
    is_thought,
)
from pytest_ltm.providers.chat_model import ModelSpec
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
from pytest_ltm.providers.completions import Message
from pytest_ltm.providers.openai_chat import OpenAi
from pytest_ltm.providers.provider import split_fields


class OpenAiResponses(OpenAi):
    """`openai-responses:MODEL`, through the `openai` client."""

    name = "openai-responses"
    streams: ClassVar[Mapping[str, Any]] = {}
    path = "/responses"
    lengths = ("max_output_tokens",)
    takes_images = gives_vectors = False
    model_prefixes = ()

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the constant fields of every request."""
        fields = super().parameters(model)
        limits = [fields.pop(name) for name in super().lengths if name in fields]
        effort = fields.pop("reasoning_effort", None)
        fields.pop("seed", None)  # the API has no seed
        return {
            "store": False,
            **fields,
            **({"max_output_tokens": limits[0]} if limits else {}),
            **({"reasoning": {"effort": effort}} if effort else {}),
        }

    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""
        request = split_fields(fields)
        items: list[Any] = []
        for message in messages:
            items += _items(message)
        body = {"model": model.name, "input": items, "stream": False, **request.rest}
        if request.form is not None:
            body["text"] = {"format": {"type": "json_schema", **request.form}}
        if request.functions:
            body["tools"] = []
            for function in request.functions:
                body["tools"].append({"type": "function", **function})
        return body

    def read(self, answer: Mapping[str, Any], asked: Reception) -> ModelResponse:
        """Return the response in a body; AgentFault if it is not an answer."""
        output = answer.get("output")
        if not isinstance(output, list):
            raise no_answer(answer, asked.model, "the output of a response")
        items = [item for item in output if isinstance(item, dict)]
        texts: list[str] = []
        calls = []
        for item in items:
            texts += _spoken_texts(item)
            if calls_tool(item):
                call = ToolCall(
                    received(item.get("call_id")),
                    received(item.get("name")),
                    received(item.get("arguments")),
                )
                calls.append(call)
        thoughts = [_thoughts_of(item) for item in items if is_thought(item)]
        beside = {name: answer[name] for name in answer if name != "output"}
        # the details are null unless something was left out
        end = find_end(beside).removeprefix("null") or answer.get("status", "")
        return response_of(
            asked,
            "".join(texts) if texts else None,
            self.used(answer),
            finish_reason=end,
            thoughts="\n".join(thought for thought in thoughts if thought),
            calls=calls,
        )

    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return the usage in a body, whether or not it has an answer."""
        usage = answer.get("usage")
        asked = read_count(usage, "input_tokens") or None
        details = usage.get("input_tokens_details") if isinstance(usage, dict) else None
        cached = read_count(details, "cached_tokens") or 0
        return Used(asked, read_count(usage, "output_tokens"), min(cached, asked or 0))

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body in the final event of a stream, which contains all of it."""
        for event in reversed(events):
            response = event.get("response")
            kind = event.get("type")
            if isinstance(response, dict) and kind in {
                "response.completed",
                "response.incomplete",
                "response.failed",
            }:
                return dict(response)
        raise TransientFault("the stream of an answer broke off")


def _spoken_texts(item: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message, including a refusal; none for any other item."""
    content = item.get("content")
    if item.get("type") != "message" or not isinstance(content, list):
        return []
    texts = []
    for part in content:
        if isinstance(part, dict) and not is_thought(part):
            text = part.get("text", part.get("refusal"))
            if isinstance(text, str):
                texts.append(text)
    return texts


def _thoughts_of(item: Mapping[str, Any]) -> str:
    """Return the thoughts in an item: in full, or their summary."""
    texts = []
    for name in ("content", "summary"):
        texts.append(find_thoughts({"thought": item.get(name)}))
    return "\n".join(filter(None, texts))


def _items(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the items of a message in a request: its text, a tool call, or the result of one."""
    if message["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message["tool_call_id"],
            "output": message["content"],
        }
        return
    if message.get("content"):
        yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}
