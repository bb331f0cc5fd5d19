"""Secrets: what must never be read in a record, a report or an error is taken out of texts here.

Two kinds are known: values of environment variables that are named like secrets, and what looks like a credential
wherever it stands (`_credentials.py`). The rule: what an agent says is redacted as it comes in, before it is
recorded and scored, so that record and score agree; everything else as it goes out, to a file or to the terminal.
"""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


HIDDEN = "[redacted]"

_BETWEEN = r"\\{0,3}[\"']?(?:\s{0,4}[:=]|,)\s{0,4}(?:b?\\{0,3}[\"'])?\s{0,4}"
"""Between a header's name and its value: in plain text, a dict, a pair, bytes, or JSON within JSON."""
_TEXT = r"[^\s\"',;\\]"
_KEYS = "sk pk rk xai gsk hf ghp gho ghs ghu github_pat glpat xoxa xoxb xoxp xoxr xoxs npm pypi"  # what keys begin with
_KEY = rf"\b(?:{_KEYS.replace(' ', '|')})[-_]"
_API_KEY = r"(?:x-)?(?:[a-z]{1,20}-)?(?:api-key|apikey|api_key|auth-token|access-token)"
_PARAMETER = r"(?:api[-_]?key|key|token|access[-_]token|secret|password|auth|signature|sig)"

_FORMS: tuple[tuple[str, str], ...] = (
    ("://", r"(?P<kept>://)(?:[^\s/?#\"'<>@:]*:[^\s/?#\"'<>]*|[^\s/?#\"'<>@:]{20,})(?P<after>@)"),
    (
        "authorization",
        (
            rf"(?P<kept>\b(?:proxy-)?authorization{_BETWEEN})"
            rf"(?:(?:bearer|basic|digest|token|apikey|negotiate)\s{{1,4}}{_TEXT}{{4,}}"
            rf"|(?={_TEXT}{{0,200}}[\d_-]){_TEXT}{{8,}})"
        ),
    ),
    (
        "apikey api- auth- access-",
        rf"(?P<kept>\b{_API_KEY}{_BETWEEN})(?!(?:none|null|true|false)\b)[^\s\"',;\\&]{{4,}}",
    ),
    ("cookie", rf"(?P<kept>\b(?:set-)?cookie{_BETWEEN})[^\s=;\"'\\]{{1,200}}=[^\r\n\"'\\]+"),
    ("=", rf"(?P<kept>[?&]{_PARAMETER}=)[^&\s\"'#\\]+"),
    ("bearer", r"(?P<kept>\bbearer\s{1,4})(?=[\w.~+/=-]{0,200}[\d_]|[\w.~+/=-]{20})[\w.~+/=-]{8,}"),
    (f"{_KEYS} ".replace("_", "-").replace(" ", "- "), rf"(?P<kept>){_KEY}(?=[\w*-]{{0,200}}\d)[\w*-]{{12,}}"),
    ("akia asia", r"(?P<kept>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("aiza", r"(?P<kept>)\bAIza[\w-]{30,}"),
    ("eyj", r"(?P<kept>)\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"),
)
"""Signs, of which a text must hold one, in lower case and with `-` for `_`; then what is looked for."""
_CASED = ("AKIA", "AIza", "eyJ", "[\\w*-]")
_PATTERNS = [
    (tuple(signs.split()), re.compile(form, 0 if any(part in form for part in _CASED) else re.IGNORECASE))
    for signs, form in _FORMS
]
_SIGNS = [sign for signs, _ in _PATTERNS for sign in signs]
_WORDS_CREDENTIALS = [sign for sign in _SIGNS if not sign.endswith("-")]
_BEFORE_DASH = tuple(sign.split("-")[-2] for sign in _SIGNS if sign.endswith("-"))


def without_credentials(text: str) -> str:
    """Return the text with `[redacted]` for each credential, in time in proportion to the text."""
    if not may_have_credentials(text):  # nearly every text
        return text
    folded = _folded(text)
    for signs, pattern in _PATTERNS:
        if any(sign in folded for sign in signs):
            text = pattern.sub(_hide, text)
    return text


def may_have_credentials(text: str) -> bool:
    """Return False only for texts without any, be they written with escapes or not; it takes next to no time."""
    folded = _folded(text)
    if any(map(folded.__contains__, _WORDS_CREDENTIALS)):
        return True
    # To look at what stands before dashes is quicker than to look for each key.
    return any(part.endswith(_BEFORE_DASH) for part in folded.split("-")[:-1])


def _folded(text: str) -> str:
    return text.lower().replace("_", "-")


def _hide(found: re.Match[str]) -> str:
    if HIDDEN[:-1] in found.group():  # by an earlier form, or by an earlier call
        return found.group()
    return f"{found.group('kept')}{HIDDEN}{found.groupdict().get('after') or ''}"


T = TypeVar("T")

SHORTEST = 8
"""The characters that the value of a variable must have: a shorter one is found in ordinary words."""

_WORDS = frozenset(
    {
        "apikey", "apikeys", "auth", "authorization", "cookie", "cookies", "credential", "credentials", "key", "keys",
        "pass", "passphrase", "passwd", "password", "passwords", "pat", "pwd", "secret", "secrets", "token", "tokens",
    }
)  # fmt: skip
_WITHIN = ("apikey", "cookie", "credential", "passwd", "password", "secret")
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})
_HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie", "set-cookie"})
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_ELLIPSES = ("...", "…")


def redacted(text: str) -> str:
    """Return the text with `[redacted $NAME]` for the value of a variable and `[redacted]` for any other secret.

    Takes time in proportion to the text. A value that somebody has cut short (`abcdefgh...`) is found, too.
    """
    return _redacted(text, _KNOWN.values())


def redacted_data(value: Any) -> Any:
    """Return JSON values with every text redacted, and with nothing under the names of headers that hold secrets."""
    known = _KNOWN.values()
    return _mapped(value, lambda text: _redacted(text, known), lambda key: key.lower() in _HEADERS)


def written(value: T, dumps: Callable[[T], str]) -> str:
    """Return `dumps(value)` of JSON values without secrets; they are looked through only if there are any."""
    text = dumps(value)
    return dumps(redacted_data(value)) if redacted(text) != text or _hides_one(text, value) else text


def may_have_secrets(written: str) -> bool:
    """Return False only for a text in JSON without any secret."""
    return redacted(written) != written or ("\\" in written and may_have_credentials(written))


def redacted_configuration(value: Any) -> Any:
    """Return the same, and also with no text under any key that is named like a secret."""
    known = _KNOWN.values()
    return _mapped(value, lambda text: _redacted(text, known), is_secret_name)


def _mapped(value: Any, shown: Callable[[str], str], hides: Callable[[str], bool]) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {
            shown(key) if isinstance(key, str) else key: HIDDEN
            if isinstance(part, str) and part and isinstance(key, str) and hides(key)
            else _mapped(part, shown, hides)
            for key, part in value.items()
        }
    return [_mapped(part, shown, hides) for part in value] if isinstance(value, list | tuple) else value


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in JSON values, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _texts(pair)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _hides_one(written: str, value: Any) -> bool:
    """Return whether an escape hides a key: what is written of a line break and `sk-...` is the word `nsk-...`."""
    if "\\" not in written or not may_have_credentials(written):
        return False
    text = "\n".join(_texts(value))
    return redacted(text) != text


def _redacted(text: str, known: Mapping[str, str]) -> str:
    return without_credentials(_without_values(text, known))


@cache
def is_secret_name(name: str) -> bool:
    """Return whether a variable or a field is named like a secret: `OPENAI_API_KEY`, `dbPassword`, `x-auth-token`."""
    if name.upper() in _NOT_SECRET:
        return False
    words = [part.lower() for part in _PARTS.findall(name)]
    whole = "".join(words)
    return not _WORDS.isdisjoint(words) or any(part in whole for part in _WITHIN) or whole.endswith("token")


class _Known:
    """The values of the environment variables that are named like secrets, now and earlier in this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._names: dict[str, str] = {}
        self._forms: dict[str, str] = {}
        self._seen: tuple[frozenset[Any], dict[Any, Any]] | None = None
        """The names that were there, and the values of those named like secrets, as the process holds them."""

    def values(self) -> Mapping[str, str]:
        """Return what must not be read, in each form that it may be written in -> the variable's name."""
        now = getattr(self._environment, "_data", None)  # to compare is much faster than to look through
        if now is not None and self._is_as_seen(now):
            return self._forms
        self._seen = None if now is None else (frozenset(now), _of_secrets(now))
        for name in self._environment:
            if is_secret_name(name):
                value = self._environment.get(name, "")
                if self._names.get(name) != value:
                    self._names[name] = value
                    for form in _forms(value):
                        self._forms.setdefault(form, name)
        return self._forms

    def _is_as_seen(self, now: Mapping[Any, Any]) -> bool:
        # pytest changes a variable of its own at every switch: whatever is not named like a secret may change.
        if self._seen is None:
            return False
        names, secrets = self._seen
        return now.keys() == names and secrets.items() <= now.items()


def _of_secrets(data: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the variables that are named like secrets, of those that a process holds as text or bytes."""
    return {
        name: value
        for name, value in data.items()
        if is_secret_name(name if isinstance(name, str) else os.fsdecode(name))
    }


_KNOWN = _Known(os.environ)


def _forms(value: str) -> set[str]:
    """Return a value as it may be written: by itself, in JSON, as a repr, in an address, line by line."""
    whole = value.strip()
    if len(whole) < SHORTEST or _is_path(whole):
        return set()
    lines = [line.strip() for line in whole.splitlines()]
    long = [line for line in lines if len(line) >= 2 * SHORTEST and " " not in line]
    forms: set[str] = set()
    for text in [whole, *long]:
        forms |= {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
        forms |= {urllib.parse.quote(text, safe="", errors="replace"), text.encode("utf-8", "replace").decode()}
    forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (False, True)}
    return {form for form in forms if len(form) >= SHORTEST}


def _is_path(value: str) -> bool:
    """Whether it only says where a secret lies (a socket, a key file): the path itself is none."""
    if not value.startswith(("/", "~", "\\")) and value[1:3] not in {":\\", ":/"}:
        return False
    try:
        return os.path.lexists(os.path.expanduser(value))  # noqa: PTH111 - a path object refuses what a value may hold
    except (OSError, ValueError):
        return False


def _without_values(text: str, values: Mapping[str, str]) -> str:
    spans = [span for value, name in values.items() for span in _spans(text, value, name)]
    if not spans:
        return text
    parts, at = [], 0
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            parts += [text[at:start], f"[redacted ${name}]"]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _spans(text: str, value: str, name: str) -> Iterator[tuple[int, int, str]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value), name
        at = text.find(value, at + len(value))
    if any(mark in text for mark in _ELLIPSES):
        yield from _cut(text, value, name)


def _cut(text: str, value: str, name: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a beginning of the value is followed, or an end of it preceded, by an ellipsis."""
    head, tail = value[:SHORTEST], value[-SHORTEST:]
    at = text.find(head)
    while at >= 0:
        size = _common(text[at : at + len(value)], value)
        if text.startswith(_ELLIPSES, at + size):
            yield at, at + size, name
        at = text.find(head, at + SHORTEST)
    at = text.find(tail)
    while at >= 0:
        end = at + SHORTEST
        size = _common(text[max(0, end - len(value)) : end][::-1], value[::-1])
        if text.endswith(_ELLIPSES, 0, end - size):
            yield end - size, end, name
        at = text.find(tail, end)


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
