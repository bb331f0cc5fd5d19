"""Which of the two choices of an adversarial question an answer takes, however it says so."""

from __future__ import annotations

import re

from pytest_ltm.datasets.locomo._metric import abstains_officially

_LETTER = re.compile(r"\(([ab])\)|\b([ab])\)", re.IGNORECASE)
_BARE = re.compile(
    r"\W*(?:(?:the )?(?:final )?(?:answer|choice|option)(?: is)?|i (?:choose|pick|take))?\W*([ab])\W*", re.IGNORECASE
)
_SETTLED = re.compile(
    r"\b(?:answer|choice|option|choose|pick|go with|going with|take)\b(?: is| would be)?\W{0,4}([ab])\b"
    r"(?=[)*\"']{0,3}\s*(?:$|[.,;:!\n]|because\b|as\b|since\b))",
    re.IGNORECASE,
)
_FEW = 3
"""So many words beside both choices say no more than that it is both, or either."""


def chosen(answer: str, choices: tuple[str, ...]) -> str:
    """Return the text of the choice that an answer makes; "" for both; the answer itself where it names neither.

    A choice is made by its letter or by its whole text. Whoever repeats both has chosen none.
    """
    if not choices:
        return answer
    letters = dict(zip("ab", choices, strict=False))
    if (found := _BARE.fullmatch(answer)) or (found := _SETTLED.search(answer)):
        return letters[found[1].lower()]
    named = {(one or other).lower() for one, other in _LETTER.findall(answer)}
    if named:
        return letters[named.pop()] if len(named) == 1 else _first(answer, letters)
    return _by_text(answer, choices)


def _first(answer: str, letters: dict[str, str]) -> str:
    """Return what an answer with both letters takes: `(b), because (a) ...` takes one, a list of both takes none."""
    begins = _LETTER.match(answer.strip())
    if begins is None or all(_plain(text) in _plain(answer) for text in letters.values()):
        return ""
    rest = answer.strip()[begins.end() :].lstrip(" .:")
    other = _LETTER.search(rest)
    between = rest[: other.start() if other else len(rest)].lower()
    if re.fullmatch(r"\W*(?:and|or|/|&)?\W*", between):
        return ""
    return letters[(begins[1] or begins[2]).lower()]


def _by_text(answer: str, choices: tuple[str, ...]) -> str:
    said = _plain(answer)
    found = [text for text in choices if _plain(text) and f" {_plain(text)} " in f" {said} "]
    named = [one for one in found if not any(_plain(one) in _plain(other) for other in found if other != one)]
    if len(named) == 1 and abstains_officially(answer) and not abstains_officially(named[0]):
        return answer
    if len(named) == 1:
        return named[0]
    rest = said
    for text in named:
        rest = rest.replace(_plain(text), " ")
    return "" if named and len(rest.split()) <= _FEW else answer


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9']+", text.lower()))
