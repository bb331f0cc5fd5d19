"""What the sentences of a plain book say about who lives and works where, who owns what, and what is broken."""

from __future__ import annotations

import re

Statement = tuple[str, str, str]
"""What it is about (`home`, `work`, `owner`, `whole`), of whom or of what, and what is so."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?,]*")
_NOUN = r"(?P<noun>[Tt]he [a-z][a-z' -]{1,40}?)"
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_NO_NAMES = frozenset(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday The For From Everybody All Smoke Come Somebody
    They That With After Nobody Three This But And She Her His Him When""".split()  # noqa: SIM905 - reads better as text
)
_HOME = re.compile(r"\b(?:lived|mov(?:e|ed|ing)|settled)\b")
_WORK = re.compile(r"\b(?:worked|work at|taken on|notice|hired|job)\b")
_OWNER = re.compile(r"\b(?:belonged|owned|sold|gave|lost|traded|present of|passed)\b")
_WHOLE = re.compile(r"\b(?:broken?|mended|in good order)\b")


def _any(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern.replace("NOUN", _NOUN)) for pattern in patterns]


_HOMES = _any(
    r"no longer lived in .{3,60}? but in NOUN[.,]",
    r"\blived in NOUN[.,]",
    r"\binto NOUN, where",
    r"\b(?:in|to|of|from) NOUN, where",
    r"\b(?:moved out of .{3,60}? and into|moved into|settled in|moving from .{3,60}? to|had to move to) NOUN[.,]",
    r"“[^”]{0,60} in NOUN,” said",
)
_WORKPLACES = _any(
    r"no longer worked at .{3,60}? but at NOUN[.,]",
    r"\bworked at NOUN[.,]",
    r"\b(?:[Aa]t|from) NOUN, where",
    r"\b(?:found work|taken on|began|hired on|a new job) at NOUN(?:[.,]| on )",
    r"“[^”]{0,60} at NOUN,” said",
)
_THINGS = _any(
    r"\b(?:sold|gave|lost|traded|parted with|present of|owned) NOUN(?:[.,]| to | at | for | and )",
    r"\b(?:dusting|asked for|admired) NOUN,",
    r"\bNOUN (?:had )?belonged to\b",
    r"\bNOUN passed from\b",
)
_BROKEN = _any(
    r"\bbroke NOUN[.,]",
    r"\bNOUN (?:fell down some steps and )?broke\b",
    r"\bNOUN (?:stood in a corner|was of no use to anybody), broken",
    r"\b(?:that|use) NOUN(?:, but it)? was broken",
)
_SOUND = _any(
    r"\bmended NOUN, and",
    r"\bNOUN was mended",
    r"\bNOUN was (?:in use, )?in good order",
    r"\btried NOUN once more and found it in good order",
)


def statements(text: str) -> list[Statement]:
    """Return what a text says of its town, in order; one statement a sentence."""
    found = (statement(sentence) for sentence in _SENTENCE.findall(text))
    return [one for one in found if one is not None]


def statement(sentence: str) -> Statement | None:
    """Return what one sentence says; None if it says nothing of that kind."""
    if _WHOLE.search(sentence):
        return _about_thing(_BROKEN, sentence, "no") or _about_thing(_SOUND, sentence, "yes")
    names = [name for name in _NAME.findall(sentence) if name not in _NO_NAMES]
    if not names:
        return None
    if _OWNER.search(sentence) and (found := _about_thing(_THINGS, sentence, names[-1], kind="owner")):
        return found
    for kind, keywords, patterns in (("home", _HOME, _HOMES), ("work", _WORK, _WORKPLACES)):
        place = _noun(patterns, sentence) if keywords.search(sentence) else None
        if place:
            return (kind, names[0], place)
    return None


def _about_thing(patterns: list[re.Pattern[str]], sentence: str, value: str, kind: str = "whole") -> Statement | None:
    thing = _noun(patterns, sentence)
    return (kind, thing, value) if thing else None


def _noun(patterns: list[re.Pattern[str]], sentence: str) -> str | None:
    """Return the noun that the first fitting pattern finds."""
    match = next((found for pattern in patterns if (found := pattern.search(sentence))), None)
    return match["noun"][0].lower() + match["noun"][1:] if match else None
