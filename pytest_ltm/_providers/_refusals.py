"""What servers say when they refuse a request: too long for the model, or a parameter that it does not take."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size"
    r"|(?:maximum|available|allowed|exceed\w*|than)\b.{0,40}\bcontext (?:length|size|window|limit)"
    r"|context (?:length|size|window|limit)\b.{0,40}\b(?:exceed|maximum)"
    r"|context length is only|\bcontext\b.{0,20}\boverflow"
    r"|maximum (?:prompt|model) length|Range of input length|must have less than \d+ tokens"
    r"|max_tokens must be at least 1, got -"
    r"|(?:prompt|input|request|messages?) (?:(?:is|are|was) )?too (?:long|large)"
    r"|(?:token count|input tokens)\b.{0,40}\bexceeds?\b|\btokens, which exceeds\b|too many tokens:"
    r"|(?:prompt|input) exceeds (?:the )?max"
    r"|tokens`? \+ `?max_new_tokens|exceeded model token limit"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE | re.DOTALL,
)
_LIMITS = (
    r"maximum (?:context|prompt|model) length(?: is| of|:) (\d+)",
    r"(\d+) maximum context length",
    r"context (?:size|length|window|limit) \(?(?:is |of )?(?:only )?(\d+)",
    r"n_ctx['\"]?: (\d+)",
    r"length should be \[1, (\d+)\]",
    r"limit is (\d+)",
    r"token limit: (\d+)",
    r"less than (\d+) tokens",
    r"cannot exceed (\d+)",
    r"number of tokens allowed \(?(\d+)",
    r"> ?(\d+)",
    r"must be <= ?(\d+)",
    r"limit of (\d+)",
    r"\bLimit:? (\d+)",
)
_ASKED = (
    r"(?:has|passed) (\d+) input tokens",
    r"\((\d+) (?:in the messages|of text input)",
    r"(\d+) tokens from the input",
    r"n_prompt_tokens['\"]?: (\d+)",
    r"resulted in (\d+) tokens",
    r"requested(?: about|:)? (\d+)",
    r"too (?:long|large): (\d+)",
    r"limit: (\d+) \+",
    r"token count (?:\(|of )(\d+)",
    r"(?:request|input) \((\d+) tokens",
    r"given: (\d+)",
    r"contains (\d+) tokens",
    r"Messages have (\d+) tokens",
    r"current length is (\d+)",
    r"received (\d+)",
    r"prompt \(length (\d+)\)",
    r"keep the first (\d+) tokens",
)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|n't support|deprecated|not allowed|not permitted|unknown|unrecognized|unexpected|extra"
    r"|may only|must be|invalid|only .{0,40}allowed|cannot be",
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
    Anthropic, Cerebras, Cohere, DashScope, Fireworks, Google, llama.cpp, LM Studio, Mistral, Moonshot, OpenRouter,
    Perplexity, SGLang, TGI, Together, vLLM, xAI.
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
    return names(text, parameter) and _NOT_TAKEN.search(text) is not None


def names(text: str, parameter: str) -> bool:
    """Whether a refusal speaks of this parameter."""
    return re.search(rf"\b{re.escape(parameter)}\b", text) is not None


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    found = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1]) for match in found if match), None)
