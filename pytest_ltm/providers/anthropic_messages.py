"""Anthropic: its models through its own API; `pip install 'pytest-ltm[http]'`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ltm.api.storage import TransientFault
from pytest_ltm.providers.answer_fields import (
    calls_tool,
    find_end,
    split_parts,
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
from pytest_ltm.providers.provider import Provider, drop_unset, split_fields


class Anthropic(Provider):
    """`anthropic:MODEL`, through its Messages API."""

    name = home = "anthropic"
    path = "/messages"
    lengths = ("max_tokens",)
    model_prefixes = ("claude-",)

    def address(self, model: ModelSpec) -> str:
        """Return the address with the API version, which addresses for Anthropic's own client lack."""
        return f"{model.base_url.removesuffix('/v1')}/v1"

    def headers(self, model: ModelSpec) -> dict[str, str]:
        """Return the version of the API, and the key."""
        keyed = {"x-api-key": model.key()} if model.key_env else {}
        return {"anthropic-version": _VERSION, **keyed}

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the constant fields of every request."""
        effort = model.reasoning_effort
        values = {
            "max_tokens": model.max_tokens or _REPLY,
            "temperature": 0 if model.temperature is None else model.temperature,
            "output_config": {"effort": effort} if effort else None,
            **model.extra,
        }
        return drop_unset(values)

    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""
        request = split_fields(fields)
        body = {"model": model.name, "messages": [], **request.rest}
        if request.form is not None:
            output = {"type": "json_schema", "schema": request.form["schema"]}
            body["output_config"] = {**body.get("output_config", {}), "format": output}
        if request.functions:
            body["tools"] = [_tool(function) for function in request.functions]
        systems = []
        for message in messages:
            if message["role"] == "system":
                systems.append(message["content"])
            elif message["role"] == "tool":
                _add_result(body["messages"], message)
            else:
                body["messages"].append(_turn(message))
        if systems:
            body["system"] = "\n\n".join(systems)
        return body

    def read(self, answer: Mapping[str, Any], reception: Reception) -> ModelResponse:
        """Return the response in a body; AgentFault if it is not an answer."""
        content = answer.get("content")
        if not isinstance(content, list):
            raise no_answer(answer, reception.model, "the content of a message")
        text, thoughts = split_parts(content)
        calls = []
        for part in content:
            if isinstance(part, dict) and calls_tool(part):
                call = ToolCall(
                    received(part.get("id")),
                    received(part.get("name")),
                    received(json.dumps(part.get("input", {}))),
                )
                calls.append(call)
        beside = {name: answer[name] for name in answer if name != "content"}
        return response_of(
            reception,
            text or "",  # a turn without any part is an empty reply
            self.used(answer),
            finish_reason=find_end(beside),
            thoughts=thoughts,
            calls=calls,
        )

    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return the usage in a body; the provider's input count excludes tokens read from the cache."""
        usage = answer.get("usage")
        input_tokens = read_count(usage, "input_tokens")
        cached = read_count(usage, "cache_read_input_tokens") or 0
        if input_tokens is not None:
            input_tokens += cached + (
                read_count(usage, "cache_creation_input_tokens") or 0
            )
        return Used(
            input_tokens or None,
            read_count(usage, "output_tokens"),
            cached if input_tokens else 0,
        )

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body assembled from the events of a stream; TransientFault if the stream broke off."""
        body: dict[str, Any] = {"content": []}
        for event in events:
            kind = event.get("type")
            if kind == "message_start":
                body.update(_object_in(event, "message"), content=[])
            elif kind == "content_block_start":
                body["content"].append({**_object_in(event, "content_block")})
            elif kind == "content_block_delta" and body["content"]:
                _extend(body["content"][-1], _object_in(event, "delta"))
            elif kind == "message_delta":
                usage = {**_object_in(body, "usage"), **_object_in(event, "usage")}
                body.update(_object_in(event, "delta"), usage=usage)
            elif kind == "message_stop":
                return body
        raise TransientFault("the stream of an answer broke off")


def _object_in(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = event.get(name)
    return inner if isinstance(inner, dict) else {}


# Tokens of a reply: the API requires a limit, and all its models accept this one.
_REPLY = 4096
_VERSION = "2023-06-01"


def _extend(part: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta to a part of a message; a tool's input arrives as pieces of JSON."""
    for name in ("text", "thinking"):
        if isinstance(delta.get(name), str):
            so_far = part.get(name)
            part[name] = (so_far if isinstance(so_far, str) else "") + delta[name]
    if isinstance(delta.get("partial_json"), str):
        part["partial"] = part.get("partial", "") + delta["partial_json"]
        try:
            part["input"] = json.loads(part["partial"])
        except ValueError:
            return


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function as a tool of this API."""
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function["parameters"],
    }


def _add_result(turns: list[dict[str, Any]], message: Message) -> None:
    """Add the result of a call; the results of one turn share one message."""
    result = {
        "type": "tool_result",
        "tool_use_id": message["tool_call_id"],
        "content": message["content"],
    }
    last = turns[-1] if turns else {}
    if last.get("role") == "user" and isinstance(last["content"], list):
        last["content"].append(result)
    else:
        turns.append({"role": "user", "content": [result]})


def _turn(message: Message) -> dict[str, Any]:
    """Return a message in the form of this API: tool calls are parts of the content."""
    text = message.get("content")
    parts = [{"type": "text", "text": text}] if text else []
    for call in message.get("tool_calls", ()):
        try:
            values = json.loads(call["function"]["arguments"])
        # the model was told about its invalid JSON; the API accepts only objects
        except ValueError:
            values = {}
        parts.append(
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["function"]["name"],
                "input": values,
            }
        )
    return {
        "role": message["role"],
        "content": parts if message.get("tool_calls") else text,
    }
