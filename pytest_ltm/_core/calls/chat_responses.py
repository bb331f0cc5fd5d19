"""ModelResponse: what a model replied, how that ended, and what it took; and what servers say when they refuse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._core.storage.errors import AgentFault, TransientFault
from pytest_ltm._core.storage.patterns import lazy_pattern
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm._core.storage.secrets import redact_secrets

if TYPE_CHECKING:
    from pytest_ltm._core.calls.chat_model import ModelSpec


# For pytest: what the server said is in the message.
__tracebackhide__ = True

# Of one request; a server that counts more counts wrongly, and such a figure would
# spoil every sum.
MOST_TOKENS = 10**10


class Used(Struct, frozen=True):
    """Tokens as the provider counts and bills them; None where it does not, or reports what cannot be."""

    input: int | None = None
    output: int | None = None
    cached: int = 0
    """Among `input`."""


class ToolCall(Struct, frozen=True):
    """A tool that the model calls; nothing is known of whether there is one of this name."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON, if all is well; without secrets."""


class ModelResponse(Struct, frozen=True):
    """What the model replied."""

    text: str
    """Without secrets, should it have said one: so it is recorded, and so it is shown to the model again."""
    used: Used
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    """How it ended, in the provider's word; "" where it does not report it."""
    thoughts: str = ""
    """What it thought, where that is apart from the text; without secrets."""

    @property
    def was_cut(self) -> bool:
        """Whether it ended at the limit for a response."""
        return self.finish_reason in CUT_SHORT


def escape_surrogates(text: str) -> str:
    """Return the text with an escape for each half of a surrogate pair, which UTF-8 cannot hold."""
    return (
        text
        if text.isascii()
        else text.encode("utf-8", "backslashreplace").decode("utf-8")
    )


def received(text: object) -> str:
    """Return a text as it came from a server, sendable and without secrets; "" for anything else."""
    return redact_secrets(escape_surrogates(text)) if isinstance(text, str) else ""


def read_count(holder: Any, name: str) -> int | None:
    """Return a number of tokens; None where there is none that can be."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (
        value
        if isinstance(value, int)
        and not isinstance(value, bool)
        and 0 <= value <= MOST_TOKENS
        else None
    )


# --- How a reply ended.

# The reply reached its limit.
CUT_SHORT = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"}
)
# Something went wrong at the provider's, which may pass.
BROKEN_OFF = frozenset(
    {
        "error",
        "network_error",
        "insufficient_system_resource",
        "abort",
        "cancelled",
        "failed",
    }
)
# A filter of the provider's took the reply away, or the rest of it.
KEPT_BACK = frozenset({"content_filter", "sensitive", "refusal"})
_CALLS = frozenset({"tool_calls", "tool_use", "function_call"})


def response_of(
    model: ModelSpec,
    text: object,
    used: Used,
    *,
    finish_reason: object,
    thoughts: str = "",
    calls: Sequence[ToolCall] = (),
    offered: bool = False,
) -> ModelResponse:
    """Return the response with this text, or raise the fault that its ending means: nothing else is an answer.

    `offered`: the model was offered tools, so that it may call them instead of
    replying.
    """
    reason = finish_reason if isinstance(finish_reason, str) else ""
    who = f"model {model.name!r}"
    if reason in BROKEN_OFF:
        raise TransientFault(
            f"{model.base_url} broke off the answer of {who} (finish_reason {reason!r})"
        )
    if reason in KEPT_BACK:
        raise AgentFault(
            f"the provider's content filter kept back the answer of {who} (finish_reason {reason!r})"
        )
    if offered and calls:
        return ModelResponse(
            received(text), used, tuple(calls), reason, received(thoughts)
        )
    if not text and reason in CUT_SHORT:
        raise AgentFault(
            f"{who} used up its response limit before it said anything. Give it more: max_tokens=NUMBER"
        )
    if not text and (calls or reason in _CALLS) and not offered:
        raise AgentFault(
            f"{who} called a tool instead of answering, and was offered none"
        )
    if not isinstance(text, str):
        only = ", only with thoughts" if thoughts else ""
        raise AgentFault(
            f"{who} answered without a text{only} (finish_reason {finish_reason!r})"
        )
    return ModelResponse(received(text), used, (), reason, received(thoughts))


# --- What servers say when they refuse a request.

_WORDINGS = {
    what: [lazy_pattern(one, re.IGNORECASE) for one in wordings]
    for what, wordings in load_packaged_yaml(__file__, "refusals.yml").items()
}


class TooLong(Struct, frozen=True):
    """A prompt that is too long; in the server's own tokens, None where it does not report it."""

    limit: int | None
    """How much fits, the reply included."""
    asked: int | None
    """How long the prompt was."""


def too_long(status: int, text: str) -> TooLong | None:
    """Return what a refusal says of the prompt's length; None if that was not the reason, as far as wordings tell."""
    if status not in {200, 400, 413, 422, 429, 500} or not refuses(text, "too_long"):
        return None
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return TooLong(_read_number("limit", plain), _read_number("asked", plain))


def about_key(status: int, text: str) -> bool:
    """Whether a refusal is about the key: 401 by its meaning, 400 (as of Google) and 403 where the words say so."""
    return status == HTTPStatus.UNAUTHORIZED or (
        status in {400, 403} and refuses(text, "key")
    )


def not_taken(text: str, parameter: str) -> bool:
    """Whether a refusal says that the model does not take this parameter, or not this value of it."""
    return mentions(text, parameter) and refuses(text, "not_taken")


def mentions(text: str, parameter: str) -> bool:
    """Whether a refusal speaks of this parameter."""
    return re.search(rf"\b{re.escape(parameter)}\b", text) is not None


def refuses(text: str, what: str) -> bool:
    """Whether a refusal is worded as those listed under this heading in `refusals.yml`."""
    return any(wording.search(text) for wording in _WORDINGS[what])


def _read_number(what: str, text: str) -> int | None:
    matches = (wording.search(text) for wording in _WORDINGS[what])
    return next((int(match[1]) for match in matches if match), None)
