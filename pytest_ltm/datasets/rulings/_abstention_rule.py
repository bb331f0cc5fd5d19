"""Questions that cannot be answered: whether an answer says so."""

from __future__ import annotations

import re

from pytest_ltm.datasets.rulings._conclusion import SHORT, conclusion, is_english, spoken
from pytest_ltm.datasets.rulings._refusals import denies, guesses, negates, refuses, turns
from pytest_ltm.datasets.rulings._ruling import Ruling
from pytest_ltm.evaluators._words import content_stems, plain

_WANTS_FACTS = re.compile(
    r"\b(?:please (?:provide|answer|share|give|tell|clarify)|"
    r"(?:could|can) you (?:please )?(?:provide|share|tell|clarify)|"
    r"(?:once|if) (?:i (?:have|had|knew|know)|you (?:can |could )?(?:provide|share|tell|give)))\b"
)
"""How an answer asks the user for the facts that it would need."""
_BUT_NOT = re.compile(r"\b(?:but|not|never|\w+n't)\b(?!.*\b(?:but|not|never|\w+n't)\b)")


def abstention_ruling(hypothesis: str, question: str, explained: str) -> Ruling:
    """Return the ruling on an answer to a question that cannot be answered; `explained`: the file's reason why."""
    end = conclusion(hypothesis)
    refused = refuses(end)
    if refused or denies(end, _missing(question, explained)):
        if guesses(end) or (not refused and turns(end)):
            return Ruling("unscored", "refuses, and guesses")
        return Ruling("yes", "says that it cannot be known")
    if _WANTS_FACTS.search(plain(end)):
        return Ruling("yes", "asks for what it was not told")
    if len(spoken(hypothesis)) > SHORT or refuses(hypothesis):
        return Ruling("unscored", "refuses on the way and answers in the end, or tells no end")
    if negates(end) or not is_english(end) or not end:
        return Ruling("unscored", "may refuse in words that no rule knows")
    return Ruling("no", "answers what cannot be known")


def _missing(question: str, explained: str) -> frozenset[str]:
    """Return the stems of what the question takes for granted, and the file says is missing."""
    asked = content_stems(question)
    known = plain(explained)
    found = _BUT_NOT.search(known)
    if found is None:
        return asked
    missing = asked & content_stems(known[found.end() :])
    return missing - content_stems(known[: found.start()]) or missing or asked
