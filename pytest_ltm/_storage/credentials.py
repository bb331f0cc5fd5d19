"""Credentials: what looks like a secret wherever it stands: keys of known forms, headers, passwords in JSON or YAML."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


HIDDEN = "[redacted]"

# Between a header's name and its value: in plain text, a dict, a pair, bytes, or JSON within JSON.
_BETWEEN = r"\\{0,3}[\"']?(?:\s{0,4}[:=]|,)\s{0,4}(?:b?\\{0,3}[\"'])?\s{0,4}"
_TEXT = r"[^\s\"',;\\]"
_KEYS = "sk pk rk xai gsk hf ghp gho ghs ghu github_pat glpat xoxa xoxb xoxp xoxr xoxs npm pypi"  # what keys begin with
_KEY = rf"\b(?:{_KEYS.replace(' ', '|')})[-_]"
_API_KEY = r"(?:x-)?(?:[a-z]{1,20}-)?(?:api-key|apikey|api_key|auth-token|access-token)"
_PARAMETER = r"(?:api[-_]?key|key|token|access[-_]token|secret|password|auth|signature|sig)"

# Signs, of which a text must hold one, in lower case and with `-` for `_`; then what is looked for.
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
_CASED = ("AKIA", "AIza", "eyJ", "[\\w*-]")


def _hide_match(match: re.Match[str]) -> str:
    if HIDDEN[:-1] in match.group():  # by an earlier form, or by an earlier call
        return match.group()
    return f"{match.group('kept')}{HIDDEN}{match.groupdict().get('after') or ''}"


# --- Passwords and the like under their names: `"password": "…"`, `password: …`, `DB_PASSWORD=…`, `password='…'`.

_NAMED = (
    r"(?P<name>passwords?|passwd|passphrase|secret(?:[-_]?access)?(?:[-_]?key)?|private[-_]?key|api[-_]?key"
    r"|(?P<weak>(?<![a-z])token|(?:auth|access|session|refresh|id|api|bearer)[-_]?token))"
)
_QUOTE = r"(?:\\{0,7}[\"']|&(?:quot|\#34|\#39|apos);)"
_NAMED_VALUE = re.compile(
    rf"(?P<kept>{_NAMED}(?P<closed>{_QUOTE})?(?P<sign>[ \t]{{0,4}}(?::|==?>?)[ \t]{{0,4}}))"
    rf"(?:(?P<quote>b?{_QUOTE})(?P<quoted>(?:(?!(?<!\\)(?P=quote))[^\r\n])+)"
    r"|(?P<bare>[^\s\"',;\\&<>(){}\[\]$*]{4,})(?P<open>[(\[{]?))",
    re.IGNORECASE,
)
# What each of them begins with, in lower case: to look for this first takes a tenth of the time.
_MAY_BE_NAMED = re.compile(
    r"(?:passwords?|passwd|passphrase|secret(?:[-_]?access)?(?:[-_]?key)?|private[-_]?key|api[-_]?key|token)"
    rf"{_QUOTE}?[ \t]{{0,4}}[:=]"
)
# What that begins with.
_NAMES_BEGIN = ("passw", "passphrase", "secret", "private", "api", "token")
_PLACEHOLDERS = frozenset(
    {
        "none", "null", "true", "false", "required", "optional", "string", "text", "pending", "unknown", "unset",
        "empty", "hidden", "redacted", "missing",
    }
)  # fmt: skip
_HIDDEN = re.compile(rf"{re.escape(HIDDEN[:-1])}[^\]]*\]")
_LINE_OF_ITS_OWN = re.compile(r"(?:^|[\r\n])[ \t]*(?:E +|- |export )?(?P<before>[\w.-]*)$")
# The characters before a name that are looked at.
_LONGEST_NAME = 80
# The characters that a password in quotes has at least.
_PASSWORD = 4
# So many characters without a blank in quotes are not a word.
_TOKEN = 20


def _hide_named(match: re.Match[str]) -> str:
    value = match["quoted"] or match["bare"]
    if _HIDDEN.fullmatch(value) or not (_hides_quoted(match) if match["quoted"] else _hides_bare(match)):
        return match.group()
    return f"{match['kept']}{match['quote'] or ''}{HIDDEN}{match['open'] or ''}"


def _hides_quoted(match: re.Match[str]) -> bool:
    """Return whether a value in quotes is a secret; in the middle of a sentence it must look like one."""
    value: str = match["quoted"]
    if value.startswith(HIDDEN[:-1]):  # a known value, and more
        return True
    if len(value) < _PASSWORD or value.lower() in _PLACEHOLDERS or value[0] in "<$*{[%" or set(value) <= set(".…x*"):
        return False
    in_data = bool(match["closed"]) or "=" in match["sign"] or _begins_line(match)
    return _is_random(value) or (not match["weak"] and in_data) or (len(value) >= _TOKEN and " " not in value)


def _hides_bare(match: re.Match[str]) -> bool:
    """Return whether a value without quotes is a secret: it looks like one, or has a line of YAML for itself."""
    value = match["bare"].rstrip(".!?:…")
    if match["open"] or value.lower() in _PLACEHOLDERS or value.startswith(("/", "~", "...")):
        return False
    if _is_random(value) or (not match["weak"] and len(value) > _PASSWORD and _is_mixed(value)):
        return True
    if match["weak"] or len(value) <= _PASSWORD or not value.isalpha() or match["name"].lower() in value.lower():
        return False
    rest = match.string[match.end() : match.end() + 1]
    begins = _begins_line(match) and rest in {"", "\n", "\r"}
    return begins and (match["name"].isupper() if "=" in match["sign"] else match["name"][0].islower())


def _is_mixed(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and not value.isdecimal()


def _is_random(value: str) -> bool:
    return " " not in value and len(value) >= 2 * _PASSWORD and _is_mixed(value)


def _begins_line(match: re.Match[str]) -> bool:
    start = match.start()
    return _LINE_OF_ITS_OWN.search(match.string[max(0, start - _LONGEST_NAME) : start]) is not None


# --- Private keys in PEM, also with escapes for line feeds, and line by line in a traceback.

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=(?:\\[nr]|E |[^A-Za-z0-9+/]){0,40}"
    rf"(?:[A-Za-z0-9+/=]{{16}}|{re.escape(HIDDEN[:-1])}|Proc-Type|Version|Comment))"
    r"(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)


def _hide_key(match: re.Match[str]) -> str:
    """Return what stands for a key: as many lines as it has, so that a list of lines stays one."""
    return HIDDEN + "\n" * match.group().count("\n")


# --- all of them

_Found: TypeAlias = "re.Match[str]"
_PATTERNS: list[tuple[tuple[str, ...], re.Pattern[str], Callable[[_Found], str]]] = [
    (("private key",), _PRIVATE_KEY, _hide_key),
    *(
        (
            tuple(signs.split()),
            re.compile(form, 0 if any(part in form for part in _CASED) else re.IGNORECASE),
            _hide_match,
        )
        for signs, form in _FORMS
    ),
    (("passw", "passphrase", "secret", "token", "private-key", "api-", "apikey"), _NAMED_VALUE, _hide_named),
]
_SIGNS = [sign for signs, *_ in _PATTERNS for sign in signs]
_BEFORE_DASH = tuple(sign.split("-")[-2] for sign in _SIGNS if sign.endswith("-"))
# What several signs begin with: each look at a text costs time.
_FEW = ("pass", "private")
_WORDS = [sign for sign in dict.fromkeys(_SIGNS) if not sign.endswith("-") and not sign.startswith(_FEW)] + [*_FEW]


def without_credentials(text: str, stand_in: Callable[[str], str] | None = None) -> str:
    """Return the text with `[redacted]` for each credential, in time in proportion to the text.

    `stand_in`: gives what stands for a credential instead; it must begin as HIDDEN does, up to the bracket.
    """
    folded = _fold_key(text)
    there = {word for word in _WORDS if word in folded}
    dashes = _has_dashes(folded)
    if not there and not dashes:  # nearly every text
        return text
    for signs, pattern, hide in _PATTERNS:
        if any(_is_there(sign, folded, there, dashes) for sign in signs) and (
            pattern is not _NAMED_VALUE or _may_be_named(text.lower())
        ):
            text = pattern.sub(hide if stand_in is None else partial(_in_its_place, hide, stand_in), text)
    return text


def _in_its_place(hide: Callable[[_Found], str], stand_in: Callable[[str], str], result: _Found) -> str:
    """Return what a find becomes with something else in the place of HIDDEN."""
    before, mark, after = hide(result).partition(HIDDEN)
    if not mark or result.group() == f"{before}{mark}{after}":
        return result.group()
    whole = result.group().removeprefix(before)
    return f"{before}{stand_in(whole.removesuffix(after))}{after}"


def _is_there(sign: str, folded: str, there: set[str], dashes: bool) -> bool:
    """Return whether a text has a sign; a long one is looked through for few of them."""
    if sign in there:
        return True
    looks = dashes if sign.endswith("-") else any(sign.startswith(few) for few in _FEW if few in there)
    return looks and sign in folded


def _may_be_named(text: str) -> bool:
    """Return whether `_MAY_BE_NAMED` is somewhere in a text, which is long where a whole file is looked through."""
    for name in _NAMES_BEGIN:
        at = text.find(name)
        while at >= 0:
            if _MAY_BE_NAMED.match(text, at):
                return True
            at = text.find(name, at + 1)
    return False


def may_have_credentials(text: str) -> bool:
    """Return False only for texts without any, be they written with escapes or not; it takes next to no time."""
    folded = _fold_key(text)
    return any(map(folded.__contains__, _WORDS)) or _has_dashes(folded)


def _has_dashes(folded: str) -> bool:
    """Return whether one of the keys that end in a dash is there; to look for each of them takes longer."""
    return any(part.endswith(_BEFORE_DASH) for part in folded.split("-")[:-1])


def _fold_key(text: str) -> str:
    return text.lower().replace("_", "-").replace("tokens", "")  # every line of a journal counts them
