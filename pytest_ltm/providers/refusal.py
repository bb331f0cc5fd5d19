"""Refusals of servers: errors in any format, and prompts that are too long."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from pytest_ltm.api.calls import Chance, sort_refusal
from pytest_ltm.api.model import has_word, split_words, stems_of
from pytest_ltm.api.storage import AgentFault
from pytest_ltm.providers.answer_fields import OPAQUE_FIELD

_DEEPEST = 6
_LONGEST = 300
_ERROR_NAME = re.compile(rf" {stems_of('error')}\w*(?: (?P<part>\w+))?")
_STATE_FIELD = re.compile(r" (?:type|object|stat\w+)\Z")
_FAILED = re.compile(rf" {stems_of('error')}\w*\Z")
_CODE_FIELD = re.compile(r" (?:\w*code|status|ret)\Z")
_FINE = re.compile(
    rf"(?: (?:{stems_of('good')}|no\w{{0,2}}(?: {stems_of('error')})?|null|ok|false|0|200))*"
)


class Refusal(Struct, frozen=True):
    """An error that a server reports, in its own words."""

    words: str
    """All texts and named numbers of the error, for rules."""
    message: str
    """The message for people, on one line of at most 300 characters."""
    status: int
    """The effective HTTP status: gateways report that of a provider behind them in the body of a 200."""
    chance: Chance
    """Whether the same request may succeed when repeated."""
    code: str = ""
    """The error code, if it is a word."""


class RequestRefused(AgentFault):
    """An error instead of an answer, in the server's own words.

    The retries use `status_code`, `code`, `words` and the headers of `response`.
    """

    def __init__(self, message: str, refusal: Refusal, response: Any = None) -> None:
        super().__init__(message)
        self.status_code = refusal.status
        self.code = refusal.code
        self.words = refusal.words
        self.response = response


def read_refusal(status: int, text: str, data: Any) -> Refusal | None:
    """Return the error that an answer reports, anywhere in its body; None if it reports none.

    `data`: the text as JSON; None if it is not JSON. Never raises, whatever the body
    contains.
    """
    error = find_error(data)
    if error is None and 200 <= status < 300:
        return None
    content = (data or text) if error is None else error
    words = " ".join(_flatten(content, 0))
    counted = (_status_in(content) if 200 <= status < 300 else None) or status
    return Refusal(
        words,
        _message_of(content),
        counted,
        sort_refusal(counted, words),
        _code_in(content),
    )


# --- The place of an error in a body.


def reports_error(data: Any) -> bool:
    """Return whether a body, or an event of a stream, reports an error."""
    return find_error(data) is not None


def find_error(data: Any, depth: int = 0) -> Any:
    """Return the part of a body that reports an error; None if there is none."""
    if isinstance(data, list) and depth <= _DEEPEST:
        parts = (find_error(part, depth + 1) for part in data[:_LONGEST])
        return next((part for part in parts if part is not None), None)
    if not isinstance(data, dict) or depth > _DEEPEST:
        return None
    fields = {name: split_words(str(name)) for name in data}
    for name, words in fields.items():
        if _names_error(words, data[name]) and not _is_fine(data[name]):
            is_all = isinstance(data[name], (dict, list)) or len(data) == 1
            return data[name] if is_all else _beside(data)
    if any(_tells_failure(words, data[name], fields) for name, words in fields.items()):
        return _beside(data)
    for name, words in fields.items():
        # skip the parts of a body that hold replies, counts or filters
        if not OPAQUE_FIELD.search(words):
            error = find_error(data[name], depth + 1)
            if error is not None:
                return error
    return None


def _names_error(words: str, value: Any) -> bool:
    """Return whether a field's name marks an error.

    A number counts only as a code, so `error_rate` does not.
    """
    match = _ERROR_NAME.fullmatch(words)
    if match is None or isinstance(value, (str, list, dict)):
        return match is not None
    return match["part"] is None or match["part"].startswith(("code", "no", "num"))


def _tells_failure(words: str, value: Any, fields: Mapping[str, str]) -> bool:
    """Return whether a field marks its object as an error: by type, a code with a message, or `success`."""
    if isinstance(value, str) and _STATE_FIELD.search(words):
        state = split_words(value)
        return _FAILED.search(state) is not None
    if value is False:
        return words in {" success", " ok"}
    worded = any(has_word("words", other) for other in fields.values())
    if not (worded and _CODE_FIELD.search(words)) or isinstance(value, bool):
        return False
    number = _number_of(value)
    if number is None and isinstance(value, str):
        return words.endswith("code") and sort_refusal(200, value) != "unknown"
    return number is not None and number != 0 and not 200 <= number < 300


def _is_fine(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict) and depth <= _DEEPEST:
        return all(_is_fine(inner, depth + 1) for inner in value.values())
    if isinstance(value, (str, int, float)):
        return _FINE.fullmatch(split_words(str(value)[:_LONGEST])) is not None
    return not value


def _beside(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the relevant fields of an error object: plain fields, and nested errors."""
    fields = {}
    for name, value in data.items():
        is_plain = not isinstance(value, (dict, list))
        if is_plain or _names_error(split_words(str(name)), value):
            fields[name] = value
    return fields


# --- The content of an error.


def _flatten(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a value, and its numbers with their names."""
    if isinstance(value, str):
        yield value
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for part in value[:_LONGEST]:
            yield from _flatten(part, depth + 1)
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        if isinstance(inner, int) and not isinstance(inner, bool):
            if not _CODE_FIELD.search(split_words(str(name))):
                yield f"{name} {inner}"
        else:
            yield from _flatten(inner, depth + 1)


def _message_of(value: Any) -> str:
    text = _find_message(value, 0)
    if not text:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    line = " ".join(text.split())
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - 1]}…"


def _find_message(value: Any, depth: int) -> str:
    if isinstance(value, list):
        value = next((part for part in value if isinstance(part, dict)), None)
    if not isinstance(value, dict) or depth > _DEEPEST:
        return ""
    for name, inner in value.items():
        if (
            isinstance(inner, str)
            and inner.strip()
            and has_word("words", split_words(str(name)))
        ):
            return inner
    for inner in value.values():
        if found := _find_message(inner, depth + 1):
            return found
    texts = []
    for inner in value.values():
        if isinstance(inner, str) and " " in inner:
            texts.append(inner)
    return max(texts, key=len, default="")


def _status_in(value: Any) -> int | None:
    """Return the HTTP status in an error's code; None if there is none."""
    for inner in _codes_in(value, 0):
        number = _number_of(inner) or 0
        # the first three of five digits are a status
        number = number if number < 40_000 else number // 100
        if 400 <= number <= 599:
            return number
    return None


def _code_in(value: Any) -> str:
    codes = (inner for inner in _codes_in(value, 0) if isinstance(inner, str))
    return next((code for code in codes if _number_of(code) is None), "")


def _codes_in(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, dict) and depth <= _DEEPEST:
        for name, inner in value.items():
            words = split_words(str(name))
            if isinstance(inner, (dict, list)):
                yield from _codes_in(inner, depth + 1)
            elif _CODE_FIELD.search(words) or _names_error(words, inner):
                yield inner
    elif isinstance(value, list) and depth <= _DEEPEST:
        for part in value[:_LONGEST]:
            yield from _codes_in(part, depth + 1)


def _number_of(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value, re.ASCII):
        return int(value)
    return None


def is_about_key(refusal: Refusal) -> bool:
    """Return whether a refusal is about the key: 401 by its meaning, 400 and 403 by their words."""
    return refusal.status == HTTPStatus.UNAUTHORIZED or (
        refusal.status in {400, 403} and has_word("key", split_words(refusal.words))
    )


def mentions(text: str, parameter: str) -> bool:
    """Return whether a refusal mentions this parameter."""
    return re.search(rf"\b{re.escape(parameter)}\b", text) is not None


def takes_not(text: str, parameter: str) -> bool:
    """Return whether a refusal says that the model does not accept this parameter, or this value of it."""
    return mentions(text, parameter) and has_word("final", split_words(text))


# --- A prompt that is too long.


class TooLong(Struct, frozen=True):
    """A prompt that is too long; sizes in the server's own tokens, None if not reported."""

    limit: int | None
    """The maximum size, including the reply."""
    asked: int | None
    """The size of the prompt."""


_REPLY_PARAMETER = re.compile(r"\bmax_\w*tokens\b")
# Of the reply, or of an image: irrelevant to the prompt's length.
_REPLY_LIMIT = re.compile(
    rf"`?'?{_REPLY_PARAMETER.pattern}'?`?|\b(?:completion|output) tokens?\b|\bimages?\b.*",
    re.IGNORECASE,
)
_BELOW_NOTHING = re.compile(rf"{_REPLY_PARAMETER.pattern}.{{0,60}}-\d", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,_\u202f\u00a0'\u2019](?=\d{3}(?!\d))")
_NUMBER = re.compile(
    r"(?<![\w.-])\[?(?:1, )?(\d{1,12})(?!\d)(?:\.0)?(k?)(?![\w.-]*[a-z])(?!\.\d)",
    re.IGNORECASE,
)
_SIZE = re.compile(rf" (?:{stems_of('measure')}|\d{{4}})")
_LIMIT_AHEAD = re.compile(rf"{stems_of('limit')}|context|[<>]=?", re.IGNORECASE)
_TOP = re.compile(r"(?:[<>]=?|than) *\Z", re.IGNORECASE)
_LIMIT_BEHIND = re.compile(rf"\W*(?:tokens? )?{stems_of('limit')}", re.IGNORECASE)
_PROMPT_BEHIND = re.compile(
    rf"[^\w.]*(?:tokens? )?(?:\w+ ){{0,2}}(?!token){stems_of('prompt')}", re.IGNORECASE
)


def too_long(status: int, text: str) -> TooLong | None:
    """Return the sizes in a refusal of an overlong prompt; None if its words give another reason.

    A text about tokens per time counts only if the prompt alone exceeds the grant.
    """
    # "máximo" is a maximum, too
    letters = unicodedata.normalize("NFD", text)
    unaccented = "".join(sign for sign in letters if not unicodedata.combining(sign))
    plain = _THOUSANDS.sub("", unaccented)
    plain = plain.replace("<=", " than ").replace(">", "> than ")
    words = split_words(_REPLY_LIMIT.sub(" ", plain))
    if _BELOW_NOTHING.search(plain):
        return TooLong(None, None)
    is_large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if is_large:
        # gateways write the status, which is not a size, into their page
        plain = re.sub(rf"\b{status}\b", " ", plain)
    result = _read_sizes(plain)
    # in any language: more was sent than fits
    is_beyond = (result.asked or 0) > (result.limit or result.asked or 0)
    is_beyond = is_beyond or has_word("excess", words)
    about = has_word("prompt", words) and _SIZE.search(words) and is_beyond
    if not about and not is_large:
        return None
    if has_word("again", words):
        fits = (
            result.limit is None or result.asked is None or result.asked <= result.limit
        )
        return None if fits else result
    return result


_SMALLEST_LIMIT = 256


def _read_sizes(text: str) -> TooLong:
    sizes = list(_NUMBER.finditer(text))
    ranks = list[tuple[int, int]]()
    since = 0
    for at, match in enumerate(sizes):
        rank = _limit_rank(text, match, since)
        ranks += [] if rank is None else [(rank, at)]
        since = match.end()
    if not ranks:
        counts = sorted(set(map(_size_of, sizes)))
        # without a word for a limit, the smaller of two sizes is the limit
        is_pair = len(counts) == 2 and counts[0] >= _SMALLEST_LIMIT
        return TooLong(*counts) if is_pair else TooLong(None, None)
    limit = sizes.pop(min(ranks)[1])
    prompts = [size for size in sizes if _PROMPT_BEHIND.match(text, size.end())]
    asked = map(_size_of, prompts[:1] or sizes)
    return TooLong(_size_of(limit), max(asked, default=None))


def _size_of(match: re.Match[str]) -> int:
    return int(match[1]) * (1000 if match[2] else 1)


def _limit_rank(text: str, match: re.Match[str], since: int) -> int | None:
    """Return the distance of a number from a word that makes it a limit; None if there is no such word."""
    ahead = text[max(since, match.start() - 60) : match.start()]
    if _TOP.search(ahead):
        return -1
    cues = list(_LIMIT_AHEAD.finditer(ahead))
    if cues:
        return len(ahead) - cues[-1].end()
    if _LIMIT_BEHIND.match(text, match.end()):
        return _LONGEST
    return None
