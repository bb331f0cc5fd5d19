"""What looks like a credential wherever it stands: headers, `user:password@` in addresses, well-known forms of keys."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"

_BETWEEN = r"\\{0,3}[\"']?(?:\s{0,4}[:=]|,)\s{0,4}(?:b?\\{0,3}[\"'])?\s{0,4}"
"""Between a header's name and its value: in plain text, a dict, a pair, bytes, or JSON within JSON."""
_TEXT = r"[^\s\"',;\\]"
_KEYS = "sk pk rk xai gsk hf ghp gho ghs ghu github_pat glpat xoxa xoxb xoxp xoxr xoxs npm pypi"  # what keys begin with
_KEY = rf"\b(?:{_KEYS.replace(' ', '|')})[-_]"
_API_KEY = r"(?:x-)?(?:[a-z]{1,20}-)?(?:api-key|apikey|api_key|auth-token|access-token)"
_PARAMETER = r"(?:api[-_]?key|key|token|access[-_]token|secret|password|auth|signature|sig)"

_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("://",), r"(?P<kept>://)(?:[^\s/?#\"'<>@:]*:[^\s/?#\"'<>]*|[^\s/?#\"'<>@:]{20,})(?P<after>@)"),
    (
        ("authorization",),
        (
            rf"(?P<kept>\b(?:proxy-)?authorization{_BETWEEN})"
            rf"(?:(?:bearer|basic|digest|token|apikey|negotiate)\s{{1,4}}{_TEXT}{{4,}}"
            rf"|(?={_TEXT}{{0,200}}[\d_-]){_TEXT}{{8,}})"
        ),
    ),
    (
        ("api-key", "apikey", "api_key", "auth-token", "access-token"),
        rf"(?P<kept>\b{_API_KEY}{_BETWEEN})(?!(?:none|null|true|false)\b)[^\s\"',;\\&]{{4,}}",
    ),
    (("cookie",), rf"(?P<kept>\b(?:set-)?cookie{_BETWEEN})[^\s=;\"'\\]{{1,200}}=[^\r\n\"'\\]+"),
    (("?", "&"), rf"(?P<kept>[?&]{_PARAMETER}=)[^&\s\"'#\\]+"),
    (("bearer",), r"(?P<kept>\bbearer\s{1,4})(?=[\w.~+/=-]{0,200}[\d_]|[\w.~+/=-]{20})[\w.~+/=-]{8,}"),
    (
        tuple(f"{key}{sign}" for key in _KEYS.split() for sign in "-_"),
        rf"(?P<kept>){_KEY}(?=[\w*-]{{0,200}}\d)[\w*-]{{12,}}",
    ),
    (("akia", "asia"), r"(?P<kept>)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    (("aiza",), r"(?P<kept>)\bAIza[\w-]{30,}"),
    (("eyj",), r"(?P<kept>)\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"),
)
_CASED = ("AKIA", "AIza", "eyJ", "[\\w*-]")
_PATTERNS = [
    (mark, re.compile(form, 0 if any(part in form for part in _CASED) else re.IGNORECASE))
    for marks, form in _FORMS
    for mark in marks
]
"""A sign, in lower case, that a text must hold; then what is looked for (compiled once: re keeps it)."""


def without_credentials(text: str) -> str:
    """Return the text with `[redacted]` for each credential, in time in proportion to the text."""
    lower = text.lower()
    for pattern in dict.fromkeys([pattern for mark, pattern in _PATTERNS if mark in lower]):
        text = pattern.sub(_hide, text)
    return text


def _hide(found: re.Match[str]) -> str:
    if HIDDEN[:-1] in found.group():  # by an earlier form, or by an earlier call
        return found.group()
    return f"{found.group('kept')}{HIDDEN}{found.groupdict().get('after') or ''}"
