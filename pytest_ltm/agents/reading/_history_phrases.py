"""The phrase of a sentence that answers a question of a kind: an amount, a name, a place, what is new in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._history_dates import NUMBERS
from pytest_ltm.agents.reading._history_words import COMMON, WORD, stem

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_NUMBER = r"\$?\d[\d,.]*%?|" + "|".join(sorted((n for n in NUMBERS if n not in {"a", "an"}), key=len, reverse=True))
_AMOUNT = re.compile(rf"(?<!\w)(?:{_NUMBER}|a|an)(?:[- ]+[a-z]+){{0,2}}", re.IGNORECASE)
_COUNTED = re.compile(rf"(?<!\w)(?:{_NUMBER})(?!\w)(?:[- ][a-z]+)?", re.IGNORECASE)
_PERIOD = re.compile(
    rf"(?<!\w)(?:{_NUMBER}|a|an)[- ](?:and a half )?(?:second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE
)
_CAPITALISED = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w’'-]+(?: (?:of |the )?[A-Z][\w’'-]+)*")  # noqa: RUF001 - names
_RELATED = re.compile(
    r"\b(?:my|his|her|our|their)\s+(?:\w+\s+)?(?:mom|mother|dad|father|parents|sister|brother|wife|husband|partner|son|"
    r"daughter|kids|children|family|friends?|grandma|grandmother|grandpa|grandfather|aunt|uncle|cousin|boss|teacher|"
    r"colleagues?|neighbou?rs?|team|coach|girlfriend|boyfriend|dog|cat)\b",
    re.IGNORECASE,
)
_NAME = r"[\w’'-]+"  # noqa: RUF001 - names hold curly apostrophes
_PLACE = re.compile(
    rf"\b(?:in|at|to|from|near|into|around|visited)\s+((?:the |a |an |my |our )?{_NAME}(?: {_NAME}){{0,3}})"
)
_PARTS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\s\w]")  # noqa: RUF001 - words hold curly apostrophes
_LONGEST = 5
_VERBS = frozenset(
    """love loved loves enjoy enjoyed enjoying feel feels felt got get getting going went go took take taking think
    thought want wanted wanna need needed know knew see saw tried trying try came come great awesome cool amazing nice
    good wonderful happy excited glad sorry sounds sound looking look looks helps help helped started start having
    keep kept hope found find told tell been being makes made make""".split()  # noqa: SIM905 - reads better as text
)


def amount(sentence: str, question: str) -> str | None:
    """Return the number with its unit that a sentence tells, a period where the question asks how long."""
    asked = question.lower()
    if "how long" in asked or "how old" in asked:
        found = _PERIOD.search(sentence)
        return found[0] if found else None
    pattern = _COUNTED if "how m" in asked or "time" in asked else _AMOUNT
    found = pattern.search(sentence)
    return found[0].strip() if found else None


def person(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return a name, or a relation such as `my sister`, that the question does not know."""
    names = [name for name in _CAPITALISED.findall(sentence) if not set(map(stem, name.lower().split())) & known]
    found = _RELATED.search(sentence)
    return names[0] if names else (found[0] if found else None)


def place(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return what stands after a preposition of place and is new; a name first."""
    found = [match for match in _PLACE.findall(sentence) if not set(map(stem, match.lower().split())) & known]
    found = [match for match in map(_trimmed, found) if match]
    return next((one for one in found if any(c.isupper() for c in one)), found[0] if found else None)


def _trimmed(text: str) -> str:
    """Return the words up to the first that cannot be part of a place."""
    kept: list[str] = []
    for word in text.split():
        bare = word.lower()
        if kept and bare in COMMON:
            break
        if bare not in {"the", "a", "an", "my", "our"} and bare in COMMON:
            break
        kept.append(word)
    return " ".join(kept) if any(word.lower() not in COMMON for word in kept) else ""


def fresh(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return the chunk of the sentence that says most that the question does not know; nearest to what it does."""
    parts = _PARTS.findall(sentence)
    marks = [i for i, part in enumerate(parts) if stem(part.lower()) in known]
    best, most = None, 0.0
    for start, words in _chunks(parts):
        new = [word for word in words if stem(word.lower()) not in known]
        if not new:
            continue
        near = min((abs(start - mark) + 4 * (mark > start) for mark in marks), default=6)
        worth = min(len(new), _LONGEST) ** 0.5 + 2 / (1 + near / 3)
        if worth > most:
            best, most = " ".join(words[:_LONGEST]), worth
    return best


def _chunks(parts: list[str]) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    held: list[str] = []
    for i, part in enumerate([*parts, "."]):
        if (WORD.fullmatch(part.replace("-", "")) and part.lower() not in COMMON and part.lower() not in _VERBS) or (
            part.lower() == "of" and held
        ):
            held.append(part)
        elif held:
            while held and held[-1].lower() == "of":
                held.pop()
            found.append((i - len(held), held))
            held = []
    return found
