"""Secrets: removes them from texts for records, reports and errors.

Two kinds are recognised: values of environment variables with names like secrets, and
texts that look like credentials. The rule: an agent's output is redacted when it
arrives, before it is recorded and scored, so that record and score agree; everything
else on its way out, to a file or to the terminal.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pytest_ltm._core.storage.patterns import lazy_pattern

T = TypeVar("T")

# The minimum length of a variable's value: a shorter one occurs in ordinary words.
SHORTEST = 8

_WORDS = frozenset(
    {
        "apikey",
        "apikeys",
        "auth",
        "authorization",
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "key",
        "keys",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "passwords",
        "pat",
        "pwd",
        "secret",
        "secrets",
        "token",
        "tokens",
    }
)
_WITHIN = ("apikey", "cookie", "credential", "passwd", "password", "secret")
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})
_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "cookie",
        "set-cookie",
    }
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_ELLIPSES = ("...", "…")


def redact_secrets(text: str) -> str:
    """Replace the value of a variable in a text by `[redacted $NAME]`, and any other secret by `[redacted]`.

    Takes linear time. A truncated value (`abcdefgh...`) is found, too.
    """
    text = _without_values(text, _KNOWN.forms())
    if len(text) <= _SHORT:
        return _without_credentials(text)
    return without_credentials(text)


def redacted_data(
    value: Any, hides: Callable[[str], bool] = lambda name: name.lower() in _HEADERS
) -> Any:
    """Return JSON values with every text redacted, and texts under names selected by `hides` replaced.

    By default, these are the names of headers with secrets.
    """
    return map_json_texts(value, redact_secrets, hides)


def map_json_texts(
    value: Any,
    change: Callable[[str], str],
    hides: Callable[[str], bool] = lambda _: False,
) -> Any:
    """Return JSON values with every text changed, including keys, and `HIDDEN` for texts under some names."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        changed = {}
        for key, part in value.items():
            is_text = isinstance(part, str) and part and isinstance(key, str)
            is_hidden = is_text and hides(key)
            changed[map_json_texts(key, change)] = (
                HIDDEN if is_hidden else map_json_texts(part, change, hides)
            )
        return changed
    if isinstance(value, list | tuple):
        return [map_json_texts(part, change, hides) for part in value]
    return value


def dump_json_redacted(value: T, dumps: Callable[[T], str]) -> str:
    """Return `dumps(value)` of JSON values without secrets; values are redacted only if there are any."""
    text = dumps(value)
    if not may_have_credentials(text):
        is_secret = _without_values(text, _KNOWN.forms()) != text
    else:
        is_secret = redact_secrets(text) != text
        if not is_secret and "\\" in text:
            # An escape may hide a key: a line break followed by `sk-...` is written as
            # the word `nsk-...`.
            plain = "\n".join(_iter_json_texts(value))
            is_secret = redact_secrets(plain) != plain
    return dumps(redacted_data(value)) if is_secret else text


def may_have_secrets(written: str) -> bool:
    """Return False only if a JSON text surely contains no secret."""
    if may_have_credentials(written):
        return "\\" in written or redact_secrets(written) != written
    return _without_values(written, _KNOWN.forms()) != written


def _iter_json_texts(value: Any) -> Iterator[str]:
    """Yield every text in JSON values, including keys."""
    parts = [value]
    # The list grows during the loop: nested generators would pass every text through
    # all levels.
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            parts += chain.from_iterable(part.items())
        elif isinstance(part, list | tuple):
            parts += part


def remember_secret(name: str, value: str) -> None:
    """Redact a value from now on: a secret of this name that is not in our environment."""
    _KNOWN.add(name, value)


def erase_inherited_variable(name: str) -> None:
    """Erase a variable in the initial environment that the kernel shows to others; this process loses it, too."""
    if os.name != "posix":
        return
    import ctypes

    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))


def known_secrets() -> frozenset[tuple[str, str]]:
    """Return names and values of all known secrets, for a process that reads the output of this one."""
    _KNOWN.forms()
    return frozenset(_KNOWN.values)


@cache
def is_secret_name(name: str) -> bool:
    """Return whether a variable or a field has a name like a secret: `OPENAI_API_KEY`, `dbPassword`, `x-auth-token`."""
    if name.upper() in _NOT_SECRET:
        return False
    words = [part.lower() for part in _PARTS.findall(name)]
    joined = "".join(words)
    return (
        not _WORDS.isdisjoint(words)
        or any(part in joined for part in _WITHIN)
        or joined.endswith("token")
    )


class _Forms(NamedTuple):
    """The secret values, in each form in which they may be written -> the variable's name."""

    plain: dict[str, str]
    encoded: dict[str, str]
    """Base64, hex and the like: searched only in texts that may contain them."""


class _Known:
    """The current and earlier values of environment variables with names like secrets."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.values: set[tuple[str, str]] = set()
        """Names and values so far."""
        self._forms = _Forms({}, {})
        self._names: set[Any] = set()
        """The names of all variables so far, as stored by the process: text or bytes."""
        self._secrets: dict[Any, str] = {}
        """The secret ones of these -> their names as text."""

    def forms(self) -> _Forms:
        """Return the forms of all values."""
        # The raw data of os.environ: decoding every variable for every text would take
        # longer than searching for secrets.
        environment: Mapping[Any, Any] = getattr(
            self._environment, "_data", self._environment
        )
        if not environment.keys() <= self._names:
            # Otherwise pytest has just changed a variable of its own, as in every
            # phase.
            for variable in environment.keys() - self._names:
                name = variable if isinstance(variable, str) else os.fsdecode(variable)
                if is_secret_name(name):
                    self._secrets[variable] = name
            self._names |= environment.keys()
        for variable, name in self._secrets.items():
            if variable in environment:
                self.add(
                    name,
                    environment[variable]
                    if isinstance(environment[variable], str)
                    else os.fsdecode(environment[variable]),
                )
        return self._forms

    def add(self, name: str, value: str) -> None:
        """Add a value."""
        if (name, value) in self.values:
            return
        self.values.add((name, value))
        # The forms in which a value may be written: unchanged, in JSON, as a repr of
        # text or bytes, in HTML, line by line.
        forms: set[str] = set()
        for text in _secret_parts(value):
            forms |= {
                text,
                json.dumps(text)[1:-1],
                json.dumps(text, ensure_ascii=False)[1:-1],
                repr(text)[1:-1],
                ascii(text)[1:-1],
                repr(text.encode("utf-8", "replace"))[2:-1],
            }
            forms |= {
                html.escape(text),
                text.encode("utf-8", "replace").decode(),
                text.replace("/", "\\/"),
            }
        for form in [*forms]:
            for ascii_only in (False, True):
                forms.add(json.dumps(form, ensure_ascii=ascii_only)[1:-1])
        for form in {form for form in forms if len(form) >= SHORTEST}:
            self._forms.plain.setdefault(form, name)
        for form in _encoded_forms(value):
            (
                self._forms.encoded if _may_be_encoded(form) else self._forms.plain
            ).setdefault(form, name)


_KNOWN = _Known(os.environ)


def _encoded_forms(value: str) -> Iterator[str]:
    """Yield a value's encoded forms: percent-encoded, hex, and base64 at any offset."""
    for text in _secret_parts(value):
        data = text.encode("utf-8", "replace")
        percent_form = "".join(f"%{byte:02X}" for byte in data)
        quoted = (urllib.parse.quote(data, safe=safe) for safe in ("", "/", "~!*'()"))
        for form in (
            *quoted,
            urllib.parse.quote_plus(data),
            percent_form,
            data.hex().upper(),
        ):
            yield from {form, _ESCAPE.sub(lambda result: result.group().lower(), form)}
        yield data.hex()
        for offset in range(3):
            bits = offset * 8, (offset + len(data)) * 8
            # The part that does not depend on the surrounding bytes.
            core = slice(math.ceil(bits[0] / 6), bits[1] // 6)
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield encode(b"\0" * offset + data).decode()[core]


_ESCAPE = lazy_pattern("%[0-9A-F]{2}")
_LOWER = b"abcdefghijklmnopqrstuvwxyz%"
_OTHERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SHAPE = bytes(
    b"a"[0] if byte in _LOWER else b"A"[0] if byte in _OTHERS else b" "[0]
    for byte in range(256)
)


def _may_be_encoded(text: str) -> bool:
    """Return whether a text has a feature of encoded data: a capital or a digit right after a small letter."""
    return b"aA" in text.encode("utf-8", "replace").translate(_SHAPE)


def _secret_parts(value: str) -> list[str]:
    """Return a value and its long lines; empty for a short value or a path."""
    stripped = value.strip()
    if len(stripped) < SHORTEST or _is_path(stripped):
        return []
    lines = map(str.strip, stripped.splitlines())
    return list(dict.fromkeys([stripped, *filter(_is_part, lines)]))


def _is_part(line: str) -> bool:
    """Return whether a line alone reveals a value: it is long, or not a plain word."""
    if " " in line:
        return False
    is_word = line.isalpha() or line.isdigit()
    return len(line) >= 2 * SHORTEST or (len(line) >= SHORTEST and not is_word)


def _is_path(value: str) -> bool:
    """Return whether a value is only the path of a secret (a socket, a key file), which is not secret itself."""
    if not value.startswith(("/", "~", "\\")) and value[1:3] not in {":\\", ":/"}:
        return False
    try:
        return os.path.lexists(os.path.expanduser(value))  # noqa: PTH111 - a path object refuses what a value may hold
    except (OSError, ValueError):
        return False


def _without_values(text: str, secret_forms: _Forms) -> str:
    forms = [secret_forms.plain]
    if secret_forms.encoded and _may_be_encoded(text):
        forms.append(secret_forms.encoded)
    spans: list[tuple[int, int, str]] = []
    for names in forms:
        for value in filter(text.__contains__, names):
            matches = re.finditer(re.escape(value), text)
            spans += [(*match.span(), names[value]) for match in matches]
    if any(mark in text for mark in _ELLIPSES):
        for value, name in secret_forms.plain.items():
            spans += _cut_spans(text, value, name)
    if not spans:
        return text
    parts = []
    position = 0
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= position:
            # The same number of lines, so that a list of lines keeps its length.
            parts += [
                text[position:start],
                f"[redacted ${name}]",
                "\n" * text.count("\n", start, end),
            ]
        position = max(position, end)
    return "".join([*parts, text[position:]])


def _cut_spans(text: str, value: str, name: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans where a prefix of the value is followed, or a suffix preceded, by an ellipsis."""
    for head in re.finditer(re.escape(value[:SHORTEST]), text):
        start = head.start()
        size = _common_prefix_length(text[start : start + len(value)], value)
        if text.startswith(_ELLIPSES, start + size):
            yield start, start + size, name
    for tail in re.finditer(re.escape(value[-SHORTEST:]), text):
        end = tail.end()
        size = _common_prefix_length(
            text[max(0, end - len(value)) : end][::-1], value[::-1]
        )
        if text.endswith(_ELLIPSES, 0, end - size):
            yield end - size, end, name


def _common_prefix_length(first: str, second: str) -> int:
    for position, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return position
    return min(len(first), len(second))


# --- Credentials: texts that look like secrets in any place: keys of known forms,
# headers, passwords in JSON or YAML.

HIDDEN = "[redacted]"

# Between a header's name and its value: in plain text, a dict, a pair, bytes, or nested
# JSON.
_BETWEEN = r"\\{0,3}[\"']?(?:\s{0,4}[:=]|,)\s{0,4}(?:b?\\{0,3}[\"'])?\s{0,4}"
_TEXT = r"[^\s\"',;\\]"
_KEYS = "sk pk rk xai gsk hf ghp gho ghs ghu github_pat glpat xoxa xoxb xoxp xoxr xoxs npm pypi"  # what keys begin with
_KEY = rf"\b(?:{_KEYS.replace(' ', '|')})[-_]"
_API_KEY = r"(?:x-)?(?:[a-z]{1,20}-)?(?:api-key|apikey|api_key|auth-token|access-token)"
_PARAMETER = (
    r"(?:api[-_]?key|key|token|access[-_]token|secret|password|auth|signature|sig)"
)

# Signs, of which a text must contain one, in lower case and with `-` for `_`; then the
# pattern to search for.
_FORMS: tuple[tuple[str, str], ...] = (
    (
        "://",
        r"(?P<kept>://)(?:[^\s/?#\"'<>@:]*:[^\s/?#\"'<>]*|[^\s/?#\"'<>@:]{20,})(?P<after>@)",
    ),
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
    (
        "cookie",
        rf"(?P<kept>\b(?:set-)?cookie{_BETWEEN})[^\s=;\"'\\]{{1,200}}=[^\r\n\"'\\]+",
    ),
    ("=", rf"(?P<kept>[?&]{_PARAMETER}=)[^&\s\"'#\\]+"),
    (
        "bearer",
        r"(?P<kept>\bbearer\s{1,4})(?=[\w.~+/=-]{0,200}[\d_]|[\w.~+/=-]{20})[\w.~+/=-]{8,}",
    ),
    (
        f"{_KEYS} ".replace("_", "-").replace(" ", "- "),
        rf"(?P<kept>){_KEY}(?=[\w*-]{{0,200}}\d)[\w*-]{{12,}}",
    ),
    ("akia asia", r"(?P<kept>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("aiza", r"(?P<kept>)\bAIza[\w-]{30,}"),
    ("eyj", r"(?P<kept>)\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"),
)
_CASED = ("AKIA", "AIza", "eyJ", "[\\w*-]")


def _hide_match(match: re.Match[str]) -> str:
    # Hidden by an earlier form, or by an earlier call.
    if HIDDEN[:-1] in match.group():
        return match.group()
    return f"{match.group('kept')}{HIDDEN}{match.groupdict().get('after') or ''}"


# --- Passwords and the like with their names: `"password": "…"`, `password: …`,
# `DB_PASSWORD=…`, `password='…'`.

_NAMES = r"passwords?|passwd|passphrase|secret(?:[-_]?access)?(?:[-_]?key)?|private[-_]?key|api[-_]?key"
_WEAK_NAMES = r"(?<![a-z])token|(?:auth|access|session|refresh|id|api|bearer)[-_]?token"
_QUOTE = r"(?:\\{0,7}[\"']|&(?:quot|\#34|\#39|apos);)"
_NAMED_VALUE = lazy_pattern(
    rf"(?P<kept>(?P<name>{_NAMES}|(?P<weak>{_WEAK_NAMES}))(?P<closed>{_QUOTE})?"
    r"(?P<sign>[ \t]{0,4}(?::|==?>?)[ \t]{0,4}))"
    rf"(?:(?P<quote>b?{_QUOTE})(?P<quoted>(?:(?!(?<!\\)(?P=quote))[^\r\n])+)"
    r"|(?P<bare>[^\s\"',;\\&<>(){}\[\]$*]{4,})(?P<open>[(\[{]?))",
    re.IGNORECASE,
)
# The beginning of each of them, in lower case: searching for this first takes a tenth
# of the time.
_MAY_BE_NAMED = lazy_pattern(rf"(?:{_NAMES}|token){_QUOTE}?[ \t]{{0,4}}[:=]")
# The beginnings of that.
_NAMES_BEGIN = ("passw", "passphrase", "secret", "private", "api", "token")
_PLACEHOLDERS = frozenset(
    {
        "none",
        "null",
        "true",
        "false",
        "required",
        "optional",
        "string",
        "text",
        "pending",
        "unknown",
        "unset",
        "empty",
        "hidden",
        "redacted",
        "missing",
    }
)
_HIDDEN = lazy_pattern(rf"{re.escape(HIDDEN[:-1])}[^\]]*\]")
_LINE_OF_ITS_OWN = lazy_pattern(
    r"(?:^|[\r\n])[ \t]*(?:E +|- |export )?(?P<before>[\w.-]*)$"
)
# The maximum number of characters checked before a name.
_LONGEST_NAME = 80
# The minimum length of a quoted password.
_PASSWORD = 4
# A quoted text of this length without a blank is not a word.
_TOKEN = 20


def _hide_named(match: re.Match[str]) -> str:
    value = match["quoted"] or match["bare"]
    if _HIDDEN.fullmatch(value) or not (
        _hides_quoted(match) if match["quoted"] else _hides_bare(match)
    ):
        return match.group()
    return f"{match['kept']}{match['quote'] or ''}{HIDDEN}{match['open'] or ''}"


def _hides_quoted(match: re.Match[str]) -> bool:
    """Return whether a quoted value is a secret; in the middle of a sentence it must look like one."""
    value: str = match["quoted"]
    if value.startswith(HIDDEN[:-1]):  # a known value, followed by more
        return True
    if (
        len(value) < _PASSWORD
        or value.lower() in _PLACEHOLDERS
        or value[0] in "<$*{[%"
        or set(value) <= set(".…x*")
    ):
        return False
    in_data = bool(match["closed"]) or "=" in match["sign"] or _begins_line(match)
    return (
        _is_random(value)
        or (not match["weak"] and in_data)
        or (len(value) >= _TOKEN and " " not in value)
    )


def _hides_bare(match: re.Match[str]) -> bool:
    """Return whether an unquoted value is a secret: it looks like one, or makes up a line of YAML."""
    value = match["bare"].rstrip(".!?:…")
    if (
        match["open"]
        or value.lower() in _PLACEHOLDERS
        or value.startswith(("/", "~", "..."))
    ):
        return False
    if _is_random(value) or (
        not match["weak"] and len(value) > _PASSWORD and _is_mixed(value)
    ):
        return True
    if (
        match["weak"]
        or len(value) <= _PASSWORD
        or not value.isalpha()
        or match["name"].lower() in value.lower()
    ):
        return False
    next_sign = match.string[match.end() : match.end() + 1]
    begins = _begins_line(match) and next_sign in {"", "\n", "\r"}
    return begins and (
        match["name"].isupper() if "=" in match["sign"] else match["name"][0].islower()
    )


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and not value.isdecimal()


def _is_random(value: str) -> bool:
    return " " not in value and len(value) >= 2 * _PASSWORD and _is_mixed(value)


def _begins_line(match: re.Match[str]) -> bool:
    start = match.start()
    return (
        _LINE_OF_ITS_OWN.search(match.string[max(0, start - _LONGEST_NAME) : start])
        is not None
    )


# --- Private keys in PEM, also with escaped line feeds, and line by line in a
# traceback.

_PRIVATE_KEY = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=(?:\\[nr]|E |[^A-Za-z0-9+/]){0,40}"
    rf"(?:[A-Za-z0-9+/=]{{16}}|{re.escape(HIDDEN[:-1])}|Proc-Type|Version|Comment))"
    r"(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)


# --- all patterns

_Found: TypeAlias = "re.Match[str]"
_PATTERNS: list[tuple[tuple[str, ...], re.Pattern[str], Callable[[_Found], str]]] = [
    # The same number of lines as the key, so that a list of lines keeps its length.
    (
        ("private key",),
        _PRIVATE_KEY,
        lambda key: HIDDEN + "\n" * key.group().count("\n"),
    ),
    *(
        (
            tuple(signs.split()),
            lazy_pattern(
                form, 0 if any(part in form for part in _CASED) else re.IGNORECASE
            ),
            _hide_match,
        )
        for signs, form in _FORMS
    ),
    (
        ("passw", "passphrase", "secret", "token", "private-key", "api-", "apikey"),
        _NAMED_VALUE,
        _hide_named,
    ),
]
_SIGNS = list(dict.fromkeys(chain.from_iterable(signs for signs, *_ in _PATTERNS)))
_DASHED_SIGNS = [sign for sign in _SIGNS if sign.endswith("-")]
_BEFORE_DASH = tuple(sign.split("-")[-2] for sign in _DASHED_SIGNS)
_SIGN_WORDS = [sign for sign in _SIGNS if not sign.endswith("-")]


def without_credentials(text: str, stand_in: Callable[[str], str] | None = None) -> str:
    """Replace each credential in a text by `[redacted]`, in linear time.

    `stand_in`: returns a different replacement; it must begin like HIDDEN, up to the
    bracket.
    """
    found_signs = _find_signs(text)
    if not found_signs:  # nearly every text
        return text
    for signs, pattern, hide in _PATTERNS:
        if not found_signs.isdisjoint(signs) and (
            pattern is not _NAMED_VALUE or _may_be_named(text.lower())
        ):
            text = pattern.sub(
                hide if stand_in is None else partial(_in_its_place, hide, stand_in),
                text,
            )
    return text


def _in_its_place(
    hide: Callable[[_Found], str], stand_in: Callable[[str], str], result: _Found
) -> str:
    """Return a match's replacement, with another text in place of HIDDEN."""
    head, mark, after = hide(result).partition(HIDDEN)
    if not mark or result.group() == f"{head}{mark}{after}":
        return result.group()
    secret = result.group().removeprefix(head)
    return f"{head}{stand_in(secret.removesuffix(after))}{after}"


def _may_be_named(text: str) -> bool:
    """Return whether `_MAY_BE_NAMED` matches anywhere in a text, which may be a whole file."""
    for name in _NAMES_BEGIN:
        position = text.find(name)
        while position >= 0:
            if _MAY_BE_NAMED.match(text, position):
                return True
            position = text.find(name, position + 1)
    return False


def may_have_credentials(text: str) -> bool:
    """Cheap pre-check: False means that the text surely contains no credential, escaped or not."""
    return bool(_find_signs(text))


def _find_signs(text: str) -> set[str]:
    """Return the signs of credentials in a text."""
    # Every line of a journal contains "tokens".
    folded = text.lower().replace("_", "-").replace("tokens", "")
    signs = set(filter(folded.__contains__, _SIGN_WORDS))
    # Searching for each of the keys ending in a dash takes longer.
    if any(part.endswith(_BEFORE_DASH) for part in folded.split("-")[:-1]):
        signs.update(filter(folded.__contains__, _DASHED_SIGNS))
    return signs


_SHORT = 1_000
"""The maximum length of texts whose results are cached: journal, reports and results show the same ones."""
_without_credentials = lru_cache(1 << 8)(without_credentials)
