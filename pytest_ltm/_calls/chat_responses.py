"""What a chat completion says, or what is wrong with it."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._storage.errors import AgentFault, TransientFault
from pytest_ltm._storage.schema import packaged
from pytest_ltm._storage.secrets import redacted
from pytest_ltm._text.patterns import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._calls.chat_model import ModelSpec


__tracebackhide__ = True
"""For pytest: what the server said is in the message."""


class Used(Struct, frozen=True):
    """Tokens as the provider counts and bills them; None where it does not, or says what cannot be."""

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
    """What the model said."""

    text: str
    """Without secrets, should it have said one: so it is recorded, and so it is shown to the model again."""
    used: Used
    calls: tuple[ToolCall, ...] = ()
    was_cut: bool = False
    """It ended at the limit for a response."""


def answer_of(response: Any, model: ModelSpec, *, tools: bool = False) -> ModelResponse:
    """Return what a response says; the client makes objects of whatever arrives, so nothing is taken for granted.

    `tools`: the model was offered some, so that it may call them instead of saying something, or do neither.
    """
    choices = getattr(response, "choices", None)
    if choices == [] and not getattr(response, "error", None):
        raise AgentFault(f"model {model.name!r} answered with no choice at all: the provider kept its answer back")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if message is None:
        raise _no_answer(response, model)
    text = _text(getattr(message, "content", None))
    calls = tuple(_calls(message)) if tools else ()
    if calls:
        return ModelResponse(redacted(text) if isinstance(text, str) else "", used_in(response), calls)
    if text is None:
        text = getattr(message, "refusal", None)
    reason = getattr(choice, "finish_reason", None)
    if not text and reason in _SILENT:
        raise AgentFault(_SILENT[reason].format(model=model.name))
    if not isinstance(text, str):
        raise AgentFault(f"model {model.name!r} answered without a text (finish_reason {reason!r})")
    return ModelResponse(redacted(text), used_in(response), was_cut=reason == "length")


_SILENT = {
    "length": "model {model!r} used up its response limit before it said anything. Give it more: max_tokens=NUMBER",
    "content_filter": "the provider's content filter kept back the answer of model {model!r}",
    "tool_calls": "model {model!r} called a tool instead of answering, and was offered none",
}


def _calls(message: Any) -> Iterator[ToolCall]:
    calls = getattr(message, "tool_calls", None)
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        function = getattr(call, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        if isinstance(name, str):
            given = getattr(call, "id", None)
            held = redacted(arguments) if isinstance(arguments, str) else ""
            yield ToolCall(given if isinstance(given, str) and given else f"call_{number}", redacted(name), held)


def _text(content: Any) -> Any:
    """Return the text of a content in parts, as of models that think; any other content as it is."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part for part in parts if isinstance(part, str)) if parts else None


def _no_answer(response: Any, model: ModelSpec) -> AgentFault:
    error = getattr(response, "error", None)
    if isinstance(error, dict):  # some gateways pass on errors as answers
        text = f"{model.base_url} answered with an error: {str(error.get('message', error))[:300]}"
        transient = error.get("code") in {408, 409, 425, 429, 500, 502, 503, 504, 529}
        return TransientFault(text) if transient else AgentFault(text)
    fields = sorted({*getattr(response, "model_fields_set", ()), *(getattr(response, "model_extra", None) or ())})
    what = f"with the fields {', '.join(fields)}" if fields else "with something else"
    return AgentFault(
        f"{model.base_url} answered {what}, not with choices as a chat completion has them. "
        f"Is it the address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1?"
    )


def vectors_of(response: Any, model: ModelSpec, count: int) -> list[list[float]]:
    """Return the vectors of a response in the order of their texts; AgentFault where there is not one for each."""
    data = getattr(response, "data", None)
    found = sorted(data, key=lambda one: getattr(one, "index", 0) or 0) if isinstance(data, list) else []
    vectors = [getattr(one, "embedding", None) for one in found]
    if len(vectors) != count or not all(isinstance(one, list) and one for one in vectors):
        raise AgentFault(f"model {model.name!r} gave {len(vectors)} vectors for {count} texts, or some that are none")
    return vectors  # type: ignore[return-value]  # they were just looked at


def used_in(response: Any) -> Used:
    """Return what a response says that it took, be there an answer in it or not."""
    usage = getattr(response, "usage", None)
    asked, answered = _count(usage, "prompt_tokens") or None, _count(usage, "completion_tokens")  # no prompt has none
    total = _count(usage, "total_tokens")
    if asked is not None and total is not None and total > asked:
        # Some providers leave what was thought out of the completion, but not out of the total, nor of the bill.
        answered = max(answered or 0, total - asked)
    cached = _count(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    cached = _count(usage, "prompt_cache_hit_tokens") or 0 if cached is None else cached
    return Used(asked, answered, cached if asked is None else min(cached, asked))


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# --- What servers say when they refuse a request: too long for the model, or a parameter that it does not take.

_WORDINGS = {
    what: [later(one, re.IGNORECASE) for one in wordings]
    for what, wordings in packaged(__file__, "refusals.yml").items()
}


class TooLong(Struct, frozen=True):
    """A prompt that is too long; in the server's own tokens, None where it does not report it."""

    limit: int | None
    """How much fits, the reply included."""
    asked: int | None
    """How long the prompt was."""


def too_long(status: int, text: str) -> TooLong | None:
    """Return what a refusal says of the prompt's length; None if that was not the reason, as far as wordings tell."""
    if status not in {400, 413, 422, 429, 500} or not _says(text, "too_long"):
        return None
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return TooLong(_number("limit", plain), _number("asked", plain))


def about_key(status: int, text: str) -> bool:
    """Whether a refusal is about the key: 401 by its meaning, 400 (as of Google) and 403 where the words say so."""
    return status == HTTPStatus.UNAUTHORIZED or (status in {400, 403} and _says(text, "key"))


def not_taken(text: str, parameter: str) -> bool:
    """Whether a refusal says that the model does not take this parameter, or not this value of it."""
    return names(text, parameter) and _says(text, "not_taken")


def names(text: str, parameter: str) -> bool:
    """Whether a refusal speaks of this parameter."""
    return re.search(rf"\b{re.escape(parameter)}\b", text) is not None


def _says(text: str, what: str) -> bool:
    return any(wording.search(text) for wording in _WORDINGS[what])


def _number(what: str, text: str) -> int | None:
    found = (wording.search(text) for wording in _WORDINGS[what])
    return next((int(match[1]) for match in found if match), None)
