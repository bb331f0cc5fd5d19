"""Secrets: what must never be read in a record, a report or an error is taken out of texts here.

Two kinds are known: values of environment variables that are named like secrets, and what looks like a credential
wherever it stands (`credentials.py`). The rule: what an agent says is redacted as it comes in, before it is
recorded and scored, so that record and score agree; everything else as it goes out, to a file or to the terminal.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
import urllib.parse
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_ltm._storage.credentials import HIDDEN, may_have_credentials, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")

# The characters that the value of a variable must have: a shorter one is found in ordinary words.
SHORTEST = 8

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


def redact_secrets(text: str) -> str:
    """Return the text with `[redacted $NAME]` for the value of a variable and `[redacted]` for any other secret.

    Takes time in proportion to the text. A value that somebody has cut short (`abcdefgh...`) is found, too.
    """
    return _redact_known(text, _KNOWN.forms())


def redacted_data(value: Any) -> Any:
    """Return JSON values with every text redacted, and with nothing under the names of headers that hold secrets."""
    known = _KNOWN.forms()
    return _map_texts(value, lambda text: _redact_known(text, known), lambda key: key.lower() in _HEADERS)


def dump_json_redacted(value: T, dumps: Callable[[T], str]) -> str:
    """Return `dumps(value)` of JSON values without secrets; they are looked through only if there are any."""
    text = dumps(value)
    return dumps(redacted_data(value)) if redact_secrets(text) != text or _hides_one(text, value) else text


def may_have_secrets(written: str) -> bool:
    """Return False only for a text in JSON without any secret."""
    return redact_secrets(written) != written or ("\\" in written and may_have_credentials(written))


def redacted_configuration(value: Any) -> Any:
    """Return the same, and also with no text under any key that is named like a secret."""
    known = _KNOWN.forms()
    return _map_texts(value, lambda text: _redact_known(text, known), is_secret_name)


def _map_texts(value: Any, shown: Callable[[str], str], hides: Callable[[str], bool]) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {
            shown(key) if isinstance(key, str) else key: HIDDEN
            if isinstance(part, str) and part and isinstance(key, str) and hides(key)
            else _map_texts(part, shown, hides)
            for key, part in value.items()
        }
    return [_map_texts(part, shown, hides) for part in value] if isinstance(value, list | tuple) else value


def _add_json_texts(value: Any, texts: list[str]) -> None:
    """Add every text in JSON values, keys included."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list | tuple):
        for part in value:
            _add_json_texts(part, texts)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _add_json_texts(key, texts)
            _add_json_texts(part, texts)


def _hides_one(written: str, value: Any) -> bool:
    """Return whether an escape hides a key: what is written of a line break and `sk-...` is the word `nsk-...`."""
    if "\\" not in written or not may_have_credentials(written):
        return False
    texts: list[str] = []
    _add_json_texts(value, texts)
    text = "\n".join(texts)
    return redact_secrets(text) != text


def remember_secret(name: str, value: str) -> None:
    """Let a value be redacted from now on: it is a secret of this name that is not in our environment."""
    _KNOWN.add(name, value)


def _redact_known(text: str, known: _Forms) -> str:
    text = _without_values(text, known)
    return _without_credentials(text) if len(text) <= _SHORT else without_credentials(text)


_SHORT = 1_000
"""Characters of the texts of which the latest are remembered: journal, reports and results show the same ones."""
_without_credentials = lru_cache(1 << 8)(without_credentials)


@cache
def is_secret_name(name: str) -> bool:
    """Return whether a variable or a field is named like a secret: `OPENAI_API_KEY`, `dbPassword`, `x-auth-token`."""
    if name.upper() in _NOT_SECRET:
        return False
    words = [part.lower() for part in _PARTS.findall(name)]
    whole = "".join(words)
    return not _WORDS.isdisjoint(words) or any(part in whole for part in _WITHIN) or whole.endswith("token")


class _Forms(NamedTuple):
    """What must not be read, in each form that it may be written in -> the variable's name."""

    plain: dict[str, str]
    encoded: dict[str, str]
    """Base64, hex and the like: looked for only in texts that have signs of it."""


class _Known:
    """The values of the environment variables that are named like secrets, now and earlier in this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._values: set[tuple[str, str]] = set()
        self._forms = _Forms({}, {})
        self._names: set[Any] = set()
        """The names of all variables so far, as the process holds them: as text or bytes."""
        self._secrets: dict[Any, str] = {}
        """Those of them that are named like secrets -> as text."""

    def forms(self) -> _Forms:
        """Return the forms of all values."""
        # What os.environ holds: to decode every variable for every text would take longer than to look for secrets.
        now: Mapping[Any, Any] = getattr(self._environment, "_data", self._environment)
        if not now.keys() <= self._names:  # else pytest has just changed a variable of its own, as at every phase
            for held in now.keys() - self._names:
                name = held if isinstance(held, str) else os.fsdecode(held)
                if is_secret_name(name):
                    self._secrets[held] = name
            self._names |= now.keys()
        for held, name in self._secrets.items():
            if held in now:
                self.add(name, now[held] if isinstance(now[held], str) else os.fsdecode(now[held]))
        return self._forms

    def add(self, name: str, value: str) -> None:
        """Know a value from now on."""
        if (name, value) in self._values:
            return
        self._values.add((name, value))
        # A value as it may be written: by itself, in JSON, as a repr, in HTML, line by line.
        forms: set[str] = set()
        for text in _secret_parts(value):
            forms |= {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
            forms |= {html.escape(text), text.encode("utf-8", "replace").decode(), text.replace("/", "\\/")}
        forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (False, True)}
        for form in {form for form in forms if len(form) >= SHORTEST}:
            self._forms.plain.setdefault(form, name)
        for form in _encoded_forms(value):
            (self._forms.encoded if _may_be_encoded(form) else self._forms.plain).setdefault(form, name)


_KNOWN = _Known(os.environ)


def _encoded_forms(value: str) -> Iterator[str]:
    """Yield a value as it may be encoded: for an address, in hex, in base64 wherever it stands there."""
    for text in _secret_parts(value):
        data = text.encode("utf-8", "replace")
        every = "".join(f"%{byte:02X}" for byte in data)
        quoted = (urllib.parse.quote(data, safe=safe) for safe in ("", "/", "~!*'()"))
        for form in (*quoted, urllib.parse.quote_plus(data), every, data.hex().upper()):
            yield from {form, _ESCAPE.sub(lambda result: result.group().lower(), form)}
        yield data.hex()
        for before in range(3):
            bits = before * 8, (before + len(data)) * 8
            core = slice(math.ceil(bits[0] / 6), bits[1] // 6)  # what is the same whatever stands before and after
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield encode(b"\0" * before + data).decode()[core]


_ESCAPE = re.compile("%[0-9A-F]{2}")
_LOWER = b"abcdefghijklmnopqrstuvwxyz%"
_OTHERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SHAPE = bytes(b"a"[0] if byte in _LOWER else b"A"[0] if byte in _OTHERS else b" "[0] for byte in range(256))


def _may_be_encoded(text: str) -> bool:
    """Return whether a text has what ordinary words have not: a capital or a digit right after a small letter."""
    return b"aA" in text.encode("utf-8", "replace").translate(_SHAPE)


def _secret_parts(value: str) -> list[str]:
    """Return a value and its long lines; nothing of one that is short or a path."""
    whole = value.strip()
    if len(whole) < SHORTEST or _is_path(whole):
        return []
    lines = [line.strip() for line in whole.splitlines()]
    return list(dict.fromkeys([whole, *(line for line in lines if len(line) >= 2 * SHORTEST and " " not in line)]))


def _is_path(value: str) -> bool:
    """Whether it only says where a secret lies (a socket, a key file): the path itself is none."""
    if not value.startswith(("/", "~", "\\")) and value[1:3] not in {":\\", ":/"}:
        return False
    try:
        return os.path.lexists(os.path.expanduser(value))  # noqa: PTH111 - a path object refuses what a value may hold
    except (OSError, ValueError):
        return False


def _without_values(text: str, known: _Forms) -> str:
    forms = [known.plain, known.encoded] if known.encoded and _may_be_encoded(text) else [known.plain]
    there = [(value, held[value]) for held in forms for value in held if value in text]
    spans = [span for value, name in there for span in _find_spans(text, value, name)]
    if any(mark in text for mark in _ELLIPSES):
        spans += [span for value, name in known.plain.items() for span in _cut_spans(text, value, name)]
    if not spans:
        return text
    parts, at = [], 0
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= at:
            # As many lines as before, so that a list of lines stays one.
            parts += [text[at:start], f"[redacted ${name}]", "\n" * text.count("\n", start, end)]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _find_spans(text: str, value: str, name: str) -> Iterator[tuple[int, int, str]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value), name
        at = text.find(value, at + len(value))


def _cut_spans(text: str, value: str, name: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a beginning of the value is followed, or an end of it preceded, by an ellipsis."""
    head, tail = value[:SHORTEST], value[-SHORTEST:]
    at = text.find(head)
    while at >= 0:
        size = _common_prefix_length(text[at : at + len(value)], value)
        if text.startswith(_ELLIPSES, at + size):
            yield at, at + size, name
        at = text.find(head, at + SHORTEST)
    at = text.find(tail)
    while at >= 0:
        end = at + SHORTEST
        size = _common_prefix_length(text[max(0, end - len(value)) : end][::-1], value[::-1])
        if text.endswith(_ELLIPSES, 0, end - size):
            yield end - size, end, name
        at = text.find(tail, end)


def _common_prefix_length(one: str, other: str) -> int:
    """Return how many characters two texts begin with in common."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
