"""The answers that the chat server can be told to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Says:
    """An HTTP response: `text` as a chat completion with usage, or `body` verbatim."""

    text: str | None = None
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cached: int | None = None
    usage: bool = True
    finish_reason: str = "stop"
    calls: tuple[tuple[str, str], ...] = ()
    """Tool calls: names, and arguments as the model writes them."""
    after: float = 0.0
    """Seconds before the response begins."""
    cut: bool = False
    """Send only half of the body."""
    reset: bool = False
    """Reset the connection instead of responding."""


Answer: TypeAlias = "str | Says"


def says(
    text: str,
    *,
    cached: int | None = None,
    usage: bool = True,
    finish_reason: str = "stop",
) -> Says:
    return Says(text, cached=cached, usage=usage, finish_reason=finish_reason)


def calls(*called: tuple[str, str]) -> Says:
    return Says(None, calls=called, finish_reason="tool_calls")


def refuses(
    status: int = 429,
    *,
    retry_after: float | None = None,
    message: str = "Slow down.",
    code: str = "",
) -> Says:
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Says(
        status=status,
        headers=headers,
        body=error(message, code=code or "rate_limit_exceeded"),
    )


def fails(status: int = 500, message: str = "Something broke.") -> Says:
    return Says(status=status, body=error(message, code="server_error"))


def slow(seconds: float, answer: Answer = "Sorry to be late.") -> Says:
    return replace(made(answer), after=seconds)


def truncated(text: str = "Only half of this arrives.") -> Says:
    return Says(text, cut=True)


def garbled(body: str = '{"choices": [{"mess') -> Says:
    """A complete body that is not JSON, despite its content type."""
    return Says(body=body, headers={"Content-Type": "application/json"})


def wrong_schema(body: Any) -> Says:
    return Says(body=body)


def resets() -> Says:
    return Says(reset=True)


def overflows(limit: int, asked: int = 0, *, dialect: str = "openai") -> Says:
    """The refusal of a prompt that is too long, as different servers word it."""
    told = DIALECTS[dialect].format(limit=limit, asked=asked or limit + 1)
    return Says(
        status=400,
        body=error(told, code="context_length_exceeded" if dialect == "openai" else ""),
    )


DIALECTS = {
    "openai": "This model's maximum context length is {limit} tokens. "
    "However, your messages resulted in {asked} tokens.",
    "vllm": "This model's maximum context length is {limit} tokens. However, you requested {asked} tokens "
    "({asked} in the messages, 0 in the completion).",
    "anthropic": "prompt is too long: {asked} tokens > {limit} maximum",
    "google": "The input token count ({asked}) exceeds the maximum number of tokens allowed ({limit}).",
    "llama.cpp": "the request exceeds the available context size ({limit} tokens), try increasing it",
    "mistral": "Prompt contains {asked} tokens, too large for model with {limit} maximum context length",
    "tgi": "`inputs` tokens + `max_new_tokens` must be <= {limit}. "
    "Given: {asked} `inputs` tokens and 0 `max_new_tokens`",
    "silent": "Please reduce the length of the messages.",
}


def made(answer: Answer) -> Says:
    return Says(answer) if isinstance(answer, str) else answer


def error(message: str, *, code: str = "", param: str | None = None) -> Any:
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "code": code or None,
            "param": param,
        }
    }
