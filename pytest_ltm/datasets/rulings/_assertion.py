"""Whether an answer that has the expected words says that it is so: not denied, not over, not of something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.rulings._quantities import MONTHS, quantities
from pytest_ltm.datasets.rulings._refusals import refuses
from pytest_ltm.evaluators._clauses import level, places, standing
from pytest_ltm.evaluators._words import content_stems, words

if TYPE_CHECKING:
    from collections.abc import Sequence

LISTED = re.compile(r",|\n|\band\b|&|\bor\b|\bplus\b")
"""What stands between the items of a list."""
_ITEM = 4
"""An item of a list has at most so many words."""
_LONG = 12
"""A text of more words is no list."""
_ASIDES = re.compile(r"\([^()]*\)")
_NOW = re.compile(r"\b(?:in the end|ended up|now|currently|these days|nowadays|at present|at the moment)\b")
_AT_LAST = re.compile(r"\b(?:in the end|eventually|ended up|instead(?! of))\b")
_PRESENT = re.compile(r"\b(?:now|current|currently|new|latest|these days|nowadays|still|at the moment)\b")
_CLAUSES = re.compile(r"[,;\n()\u2013\u2014]|[.!?:](?=\s|$)|\b(?:and|but|while|whereas)\b")
_SENTENCES = re.compile(r"[;\n]|(?<!\bDr)(?<!\bM[rs])(?<!\bMrs)(?<!\d)[.!?](?=\s|$)")
_ONLY = re.compile(r"\bonly\b")
_NAME = re.compile(r"(?<=[a-z,:] )['\"*\u201c]*((?!I\b)[A-Z0-9][\w-]*)")
_MORE_WORDS = 2
_ORDINALS = {word: place for place, word in enumerate(
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), start=1
)}  # fmt: skip
_NUMBERED = re.compile(r"\s*\**(\d{1,3})[.):]\**\s+(.*)")


def doubt_of(wordings: Sequence[str], question: str, end: str) -> str:
    """Return why an answer with the words of an accepted wording may not say that it is so: "" if it does.

    `wordings`: the expected answer's, the main one first.
    """
    text, known = level(end), f"{question} {' '.join(wordings)}"
    spots = [spot for wording in wordings for spot in places(text, wording)]
    for some in [spots] if spots else [places(text, word) for word in wordings[0].split()]:
        reasons = [standing(text, *spot, known=known) for spot in some]
        if reasons and all(reasons):
            return reasons[0]
    if _is_now_elsewhere(wordings, question, text):
        return "says what is so in the end of something else"
    if _is_at_another_place(wordings, question, end):
        return "has it at another place of its list"
    if spots and _is_of_another(wordings, question, end):
        return "says it of something else"
    return "names more" if lists_more(wordings[0], question, end) else ""


def lists_more(expected: str, question: str, end: str) -> bool:
    """Return whether an answer to which a list is expected lists something else, too, or only a part of it."""
    parts = [content_stems(part) for part in LISTED.split(expected) if part.strip()]
    if len(parts) < 2 or len(words(expected)) > _LONG:  # noqa: PLR2004 - a list has two
        return False
    if _ONLY.search(level(end)) and not _ONLY.search(level(expected)):
        return True
    known = frozenset().union(*parts) | content_stems(question)
    items = [part for part in LISTED.split(_ASIDES.sub("", end)) if part.strip()]
    inside = [number for number, part in enumerate(items) if content_stems(part) & frozenset().union(*parts)]
    near = items[inside[0] : inside[-1] + 2] if inside else []
    return any(_is_other(part, known) for part in near)


def _is_other(part: str, known: frozenset[str]) -> bool:
    said = words(part)
    if not 0 < len(said) <= _ITEM or not part.strip()[0].isalpha() or refuses(part) or quantities(part):
        return False
    return known.isdisjoint(content_stems(part))


def _is_now_elsewhere(wordings: Sequence[str], question: str, text: str) -> bool:
    """Return whether a clause says what is so now, and no clause says that of the expected answer."""
    mark = _AT_LAST if not _PRESENT.search(level(question)) else _NOW
    now = [part for part in _CLAUSES.split(text) if mark.search(part) and not refuses(part)]
    telling = content_stems(" ".join(wordings)) - content_stems(question)
    return bool(now and telling) and not any(telling & content_stems(part) for part in now if part.strip())


def _is_of_another(wordings: Sequence[str], question: str, end: str) -> bool:
    """Return whether another sentence has more words of the question, and names something else.

    "You hiked the loop a week later; you sprained your ankle on the Mill Path."
    """
    asked = content_stems(question)
    if not _NAME.search(f"it is {wordings[0]}"):
        return False
    ordinary = {*words(question), "session", "step", "user"}
    if {*MONTHS}.isdisjoint(words(" ".join(wordings))):
        ordinary |= {*MONTHS}
    with_it, without = [0], []
    for part in _SENTENCES.split(end):
        if any(places(level(part), wording) for wording in wordings):
            with_it.append(len(asked & content_stems(part)))
        elif any(not ordinary.issuperset(words(name)) for name in _NAME.findall(part)):
            without.append(len(asked & content_stems(part)))
    return max(without, default=0) >= max(with_it) + _MORE_WORDS


def _is_at_another_place(wordings: Sequence[str], question: str, end: str) -> bool:
    """Return whether the n-th thing is asked for, and a numbered list has the expected one at another place."""
    asked = [_ORDINALS[word] for word in words(question) if word in _ORDINALS]
    lines = [found for line in end.splitlines() if (found := _NUMBERED.match(line))]
    have = {int(line[1]) for line in lines if any(places(level(line[2]), wording) for wording in wordings)}
    return len(asked) == 1 and len(lines) > 1 and bool(have) and asked[0] not in have
