"""Questions about a told history: what is asked, of whom, and what kind of answer would do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._history_lines import dated
from pytest_ltm.agents.reading._history_words import WORD, stem, stems

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

_ABOUT = re.compile(r"[^:?]{0,60}\bconversations?\b[^:?]{0,40}:\s")
_CHOICE = re.compile(r"\(([a-h])\)\s+(.+?)(?=\s*\([a-h]\)\s|\s*\Z)", re.DOTALL)
_SHORT = re.compile(r"\bshort (?:phrase|answer)\b|\bfew words\b|\bone word\b|\bbriefly\b", re.IGNORECASE)
_ELAPSED = re.compile(
    r"\bhow (?:many|much) (?P<unit>day|week|month|year)s?\b.*\b(?:ago|since|pass(?:ed)?|between|before|after|from|"
    r"elapsed|when)\b|\bhow long (?:ago|has it been|had it been)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\b(?:first|earlier|earliest|last|later|latest|most recently)\b.*\bor\b", re.IGNORECASE)
_WHEN = re.compile(r"\W*(?:\w+\W+){0,2}?(?:when|(?:what|which) (?:date|day|month|year))\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\bhow (?:long|old|much|often|many|far|tall|big)\b|\bwhat (?:time|percentage|age)\b", re.IGNORECASE
)
_YES_NO = re.compile(
    r"\W*(?:[A-Z]\w+, )?(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should)\b", re.IGNORECASE
)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_WHERE = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:city|country|place|state|town|store|shop)\b", re.IGNORECASE
)
_SEVERAL = re.compile(
    r"\b(?:what|which)\s+(?:(?:are|were|kinds? of|types? of|other|different|\w+)\s+)?\w{3,}s\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a message asks."""

    text: str
    """The question itself, without what stands around it."""
    kind: str
    """`choice`, `elapsed`, `order`, `when`, `amount`, `yes or no`, `who`, `where` or `what`."""
    short: bool
    """A short phrase is wanted."""
    several: bool
    """It asks for more than one thing."""
    at: date | None
    """The day on which it is asked, where it says so."""
    choices: tuple[tuple[str, str], ...] = ()
    """Letter and text of each."""

    @property
    def unit(self) -> str:
        """The unit that elapsed time is wanted in, `day` where it does not say."""
        found = _ELAPSED.search(self.text)
        return (found["unit"] or "day").lower() if found else "day"


def is_about_a_conversation(text: str) -> bool:
    """Return whether a text begins by saying that it is about a conversation, such as `About our conversation: `."""
    return _ABOUT.match(text) is not None


def read(message: str) -> Question:
    """Return what a message asks."""
    at, rest = dated(message)
    about = _ABOUT.match(rest)
    rest = rest[about.end() :] if about else rest
    choices = tuple((found[1], found[2].strip()) for found in _CHOICE.finditer(rest))
    end = rest.rfind("?", 0, rest.find("(a)") if choices else len(rest))
    text = rest[: end + 1] if end >= 0 else rest
    kind = "choice" if len(choices) > 1 else _kind(text)
    return Question(text, kind, bool(_SHORT.search(rest)), kind == "what" and bool(_SEVERAL.match(text)), at, choices)


def _kind(text: str) -> str:
    if _ELAPSED.search(text):
        return "elapsed"
    if _ORDER.search(text) and re.match(r"\W*(?:which|who|what|did)", text, re.IGNORECASE):
        return "order"
    kinds = {"when": _WHEN, "yes or no": _YES_NO}
    for kind, pattern in kinds.items():
        if pattern.match(text):
            return kind
    asked = {"amount": _AMOUNT, "who": _WHO, "where": _WHERE}
    return next((kind for kind, pattern in asked.items() if pattern.search(text)), "what")


def named(text: str, speakers: Iterable[str]) -> list[str]:
    """Return the speakers whose first names a text has as words."""
    words = {word.removesuffix("'s").removesuffix("’s") for word in WORD.findall(text)}  # noqa: RUF001 - as written
    return [one for one in speakers if one.split()[0] in words]


def wanted(text: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the stems that a passage should have: those of the text, without the names of the speakers."""
    names = {stem(part.lower()) for one in speakers for part in one.split()}
    return frozenset(stems(text)) - names
