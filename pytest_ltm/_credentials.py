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
_WORDS = [sign for sign in _SIGNS if not sign.endswith("-")]
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
    if any(map(folded.__contains__, _WORDS)):
        return True
    # To look at what stands before dashes is quicker than to look for each key.
    return any(part.endswith(_BEFORE_DASH) for part in folded.split("-")[:-1])


def _folded(text: str) -> str:
    return text.lower().replace("_", "-")


def _hide(found: re.Match[str]) -> str:
    if HIDDEN[:-1] in found.group():  # by an earlier form, or by an earlier call
        return found.group()
    return f"{found.group('kept')}{HIDDEN}{found.groupdict().get('after') or ''}"
