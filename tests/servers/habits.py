"""Behaviours of servers that imitate OpenAI's, or of gateways in front of them, with the expected results.

docs/openai.md lists them by kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from chat_answers import Says, error, fails, says
from chat_server import Answer, Asked


@dataclass(frozen=True, slots=True)
class Habit:
    """A server's behaviour, and the agent's expected reaction."""

    name: str
    answers: tuple[Answer, ...] = ()
    """Its answers to a first message; later ones are answered "Teal."."""
    refuses: Callable[[Asked], Answer | None] = lambda _: None
    """A constant answer to requests of a certain kind, in place of the others."""
    comes_to: str = "Teal."
    """The agent's reply."""
    requests: int | None = None
    fault: str = ""
    """Text of the error, if there is no reply."""
    passing: bool = False
    """Whether the fault is transient, so that the message is sent again."""
    finish_reason: str | None = None
    thoughts: str = ""


def body(message: dict[str, Any], finish_reason: Any = "stop", **more: Any) -> Says:
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": finish_reason,
        **more,
    }
    return Says(
        body={
            "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        }
    )


def stream(*events: Any, end: str = "data: [DONE]\n\n") -> Says:
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Says(body=lines + end, headers={"Content-Type": "text/event-stream"})


def delta(**said: Any) -> dict[str, Any]:
    return {"choices": [{"delta": said, "finish_reason": None}]}


def in_200(**fields: Any) -> Says:
    return Says(body={"choices": None, "error": fields})


def _without_system(asked: Asked) -> Answer | None:
    first = asked.messages[0]["role"]
    return (
        fails(400, "Developer instruction is not enabled for models/gemma-3-27b-it")
        if first == "system"
        else None
    )


def _role_not_taken(asked: Asked) -> Answer | None:
    text = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
    return fails(400, text) if asked.messages[0]["role"] == "system" else None


def _alternating(asked: Asked) -> Answer | None:
    roles = [message["role"] for message in asked.messages]
    strict = all(a != b for a, b in pairwise(roles)) and "system" not in roles
    return (
        None
        if strict
        else fails(
            400, "Conversation roles must alternate user/assistant/user/assistant/..."
        )
    )


def _streams_only(text: str) -> Callable[[Asked], Answer | None]:
    def refused(asked: Asked) -> Answer | None:
        chunks = [
            delta(content="Te"),
            delta(content="al."),
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        ]
        return stream(*chunks) if asked.body.get("stream") else fails(400, text)

    return refused


def _temperature(text: str, status: int = 400) -> Callable[[Asked], Answer | None]:
    return lambda asked: fails(status, text) if "temperature" in asked.body else None


def _limit_name(asked: Asked) -> Answer | None:
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return fails(400, text) if "max_tokens" in asked.body else None


def _overflow(status: int, error_body: Any) -> Callable[[Asked], Answer | None]:
    return lambda asked: (
        Says(status=status, body={"error": error_body})
        if len(asked.messages) > 9
        else None
    )


_LM_STUDIO = (
    "Trying to keep the first 1490 tokens when context the overflows. However, the model is loaded with context length "
    "of only 1000 tokens, which is not enough."
)
_LLAMA_CPP = {
    "code": 400,
    "message": "the request exceeds the available context size. try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 14429,
    "n_ctx": 1000,
}
_CALL = [
    {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
]
_PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Ghent before."}]},
    {"type": "text", "text": "Teal."},
]

HABITS = [
    # --- an error in the body of an answer with status 200
    Habit(
        "error in a 200 body, code 429",
        (in_200(message="Provider returned error", code=429),),
        fault="returned error",
        passing=True,
    ),
    Habit(
        "error in a 200 body, code as text",
        (in_200(message="rate limit", code="429"),),
        fault="rate limit",
        passing=True,
    ),
    Habit(
        "error in a 200 body, code 502",
        (in_200(message="upstream", code=502),),
        fault="upstream",
        passing=True,
    ),
    Habit(
        "error in a 200 body, another code",
        (in_200(message="no credit", code=402),),
        fault="no credit",
    ),
    Habit(
        "error in a 200 body that is a text",
        (Says(body={"error": "broken"}),),
        fault="broken",
        # it may be transient: it is retried, but not often
        passing=True,
    ),
    Habit(
        "error within the choice",
        (
            body(
                {"content": ""},
                "error",
                error={"message": "upstream died", "code": 502},
            ),
        ),
        fault="upstream died",
        passing=True,
    ),
    Habit(
        "error within the choice, after some text",
        (
            body(
                {"content": "In the past"}, "error", error={"message": "upstream died"}
            ),
        ),
        fault="upstream died",
        passing=True,
    ),
    # --- how an answer ended
    Habit(
        "`finish_reason: error`",
        (says("In the", finish_reason="error"),),
        fault="broke off",
        passing=True,
    ),
    Habit(
        "`finish_reason: network_error`",
        (says("", finish_reason="network_error"),),
        fault="broke off",
        passing=True,
    ),
    Habit(
        "`finish_reason: insufficient_system_resource`",
        (says("In the past it was", finish_reason="insufficient_system_resource"),),
        fault="broke off",
        passing=True,
    ),
    Habit(
        "`finish_reason: abort`",
        (says("", finish_reason="abort"),),
        fault="broke off",
        passing=True,
    ),
    Habit(
        "`finish_reason: sensitive`",
        (says("", finish_reason="sensitive"),),
        fault="content filter",
    ),
    Habit(
        "`finish_reason: content_filter` without text",
        (says("", finish_reason="content_filter"),),
        fault="content filter",
    ),
    Habit(
        "`finish_reason: content_filter` after some text",
        (says("In the past", finish_reason="content_filter"),),
        fault="content filter",
    ),
    Habit(
        "`finish_reason: length` after some text",
        (says("In the past", finish_reason="length"),),
        comes_to="In the past",
        finish_reason="length",
    ),
    Habit(
        "`finish_reason: length` without text",
        (says("", finish_reason="length"),),
        fault="used up its response limit",
    ),
    Habit(
        "empty text with a tool call",
        (body({"content": "", "tool_calls": _CALL}),),
        fault="called a tool",
    ),
    Habit(
        "no text with a tool call",
        (body({"content": None, "tool_calls": _CALL}),),
        fault="called a tool",
    ),
    Habit("empty text", (says(""),), comes_to=""),
    Habit("no text", (body({"content": None}),), fault="without a text"),
    Habit("no choice", (Says(body={"choices": []}),), fault="no choice at all"),
    Habit(
        "a refusal in place of a text",
        (body({"content": None, "refusal": "I would rather not."}),),
        comes_to="I would rather not.",
    ),
    # --- reasoning
    Habit(
        "thoughts in `reasoning_content`",
        (body({"content": "Teal.", "reasoning_content": "Ghent before."}),),
        thoughts="Ghent before.",
    ),
    Habit(
        "thoughts in `reasoning`",
        (body({"content": "Teal.", "reasoning": "Ghent before."}),),
        thoughts="Ghent before.",
    ),
    Habit(
        "thoughts as parts of the content",
        (body({"content": _PARTS}),),
        thoughts="Ghent before.",
    ),
    Habit(
        "thoughts and no text",
        (body({"content": None, "reasoning_content": "So it is teal."}),),
        fault="only with thoughts",
    ),
    Habit(
        "thoughts as the only part",
        (body({"content": _PARTS[:1]}),),
        fault="only with thoughts",
    ),
    Habit(
        "thoughts up to the limit",
        (body({"content": None, "reasoning": "Hm"}, "length"),),
        fault="used up its response limit",
    ),
    # --- a prompt that is too long
    Habit(
        "overflow as an error in a 200 body (LM Studio)",
        refuses=_overflow(200, _LM_STUDIO),
    ),
    Habit(
        "overflow with 400 and a bare text (LM Studio)",
        refuses=_overflow(400, _LM_STUDIO),
    ),
    Habit(
        "overflow as an error in a 200 body (llama.cpp)",
        refuses=_overflow(200, _LLAMA_CPP),
    ),
    Habit(
        "overflow with 400 and the window (llama.cpp)",
        refuses=_overflow(400, _LLAMA_CPP),
    ),
    Habit(
        "overflow without any figure (MLX)",
        refuses=_overflow(400, "Context size has been exceeded."),
    ),
    # --- unsupported parameters
    Habit("no system prompt (Gemma)", refuses=_without_system, requests=2),
    Habit("no system prompt (o1-mini)", refuses=_role_not_taken, requests=2),
    Habit("roles must alternate", refuses=_alternating, requests=2),
    Habit(
        "streams only",
        refuses=_streams_only(
            "This model only support stream mode, please enable the stream parameter."
        ),
        requests=2,
    ),
    Habit(
        "streams only while it thinks (Qwen)",
        refuses=_streams_only(
            "parameter.enable_thinking must be set to false for non-streaming calls"
        ),
        requests=2,
    ),
    Habit(
        "temperature 1 only",
        refuses=_temperature(
            "Unsupported value: 'temperature' does not support 0 with this model."
        ),
        requests=2,
    ),
    Habit(
        "temperature above 0 only (TGI)",
        refuses=_temperature(
            "Input validation error: `temperature` must be strictly positive", 422
        ),
        requests=2,
    ),
    Habit(
        "temperature deprecated",
        refuses=_temperature("`temperature` is deprecated for this model."),
        requests=2,
    ),
    Habit("`max_completion_tokens` only", refuses=_limit_name, requests=2),
    Habit(
        "known to the Responses API only",
        (
            fails(
                404,
                "This model is only supported in v1/responses and not in v1/chat/completions.",
            ),
        ),
        fault="Write openai-responses:m",
    ),
    # --- transport
    Habit(
        "streams though it was not asked to",
        (stream(delta(content="Te"), delta(content="al.")),),
    ),
    Habit(
        "a stream that breaks off",
        (stream(delta(content="Te"), end=""),),
        fault="broke off",
        passing=True,
    ),
    Habit(
        "an error within a stream",
        (
            stream(
                delta(content="Te"), {"error": {"message": "overloaded", "code": 503}}
            ),
        ),
        fault="overloaded",
        passing=True,
    ),
    Habit(
        "queued: 202",
        (Says(status=202, body={"status": "queued"}),),
        fault="queued",
        passing=True,
    ),
    Habit(
        "503 while the model is loaded (llama.cpp)",
        (fails(503, "Loading model"), fails(503, "Loading model")),
        requests=3,
    ),
    Habit(
        "status 520 or 524 (Cloudflare)",
        (fails(524, "A timeout occurred"),),
        fault="524",
        passing=True,
    ),
    Habit(
        "status 529 (overloaded)",
        (Says(status=529, body=error("Overloaded", code="overloaded_error")),),
        fault="529",
        passing=True,
    ),
    Habit(
        "status 499 (a gateway hung up)",
        (fails(499, "client closed"),),
        fault="client closed",
        passing=True,
    ),
    Habit(
        "429 for good: the quota is used up",
        (
            Says(
                status=429,
                body=error(
                    "You exceeded your current quota.", code="insufficient_quota"
                ),
            ),
        ),
        fault="quota",
    ),
    Habit(
        "a page of HTML with 200",
        (Says(body="<html>Welcome</html>"),),
        fault="Is it the address",
    ),
    Habit("half an emoji", (says("Teal \ud83d"),), comes_to="Teal \\ud83d"),
    Habit(
        "counts as text or fractions",
        (
            replace(
                body({"content": "Teal."}),
                body={
                    **body({"content": "Teal."}).body,
                    "usage": {
                        "prompt_tokens": "9",
                        "completion_tokens": 2.0,
                        "total_tokens": None,
                    },
                },
            ),
        ),
    ),
    Habit(
        "counts that cannot be",
        (
            replace(
                body({"content": "Teal."}),
                body={
                    **body({"content": "Teal."}).body,
                    "usage": {"prompt_tokens": 10**400, "completion_tokens": -1},
                },
            ),
        ),
    ),
]
