"""What servers say when they refuse a request: too long for the model, or a parameter that it does not take."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size"
    r"|(?:maximum|available|allowed|exceed\w*|than)\b.{0,40}\bcontext (?:length|size|window|limit)"
    r"|context (?:length|size|window|limit)\b.{0,40}\b(?:exceed|maximum)"
    r"|(?:prompt|input|request|messages?) (?:(?:is|are|was) )?too (?:long|large)"
    r"|(?:token count|input tokens)\b.{0,40}\bexceeds?\b"
    r"|tokens`? \+ `?max_new_tokens"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE | re.DOTALL,
)
_LIMITS = (
    r"maximum context length (?:is|of) (\d+)",
    r"(\d+) maximum context length",
    r"context (?:size|length|window|limit) \(?(?:is |of )?(\d+)",
    r"> ?(\d+)",
    r"allowed \((\d+)",
    r"must be <= ?(\d+)",
    r"limit of (\d+)",
    r"\bLimit:? (\d+)",
)
_ASKED = (
    r"\((\d+) in the messages",
    r"resulted in (\d+) tokens",
    r"requested (?:about )?(\d+)",
    r"too (?:long|large): (\d+) tokens",
    r"limit: (\d+) \+",
    r"token count \((\d+)",
    r"(?:request|input) \((\d+) tokens",
    r"given: (\d+)",
    r"contains (\d+) tokens",
    r"has (\d+) input tokens",
)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n't support|deprecated|not allowed|not permitted|unknown|unrecognized|unexpected|extra",
    re.IGNORECASE,
)
_KEYLESS = {401}
_KEY = re.compile(r"api[ _-]?key|authori[sz]|authenticat|credential|bearer|access token", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TooLong:
    """A prompt that is too long; in the server's own tokens, None where it does not say."""

    limit: int | None
    """How much fits, the reply included."""
    asked: int | None
    """How long the prompt was."""


def too_long(status: int, text: str) -> TooLong | None:
    """Return what a refusal says of the prompt's length; None if that was not the reason.

    Known: the wordings of OpenAI (also of a request larger than the tokens that it grants for a minute), Azure,
    Anthropic, Google, Mistral, vLLM, SGLang, TGI, llama.cpp and OpenRouter.
    """
    if status not in {400, 413, 422, 429, 500} or not _TOO_LONG.search(text):
        return None
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return TooLong(_first(_LIMITS, plain), _first(_ASKED, plain))


def about_key(status: int, text: str) -> bool:
    """Whether a refusal is about the key: 401 by its meaning, 400 (as of Google) and 403 where the words say so."""
    return status in _KEYLESS or (status in {400, 403} and _KEY.search(text) is not None)


def not_taken(text: str, parameter: str) -> bool:
    """Whether a refusal says that the model does not take this parameter, or not this value of it."""
    named = re.search(rf"\b{parameter}\b", text)
    return named is not None and _NOT_TAKEN.search(text) is not None


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1]) for match in found if match), None)
