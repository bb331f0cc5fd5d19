"""Whether an answer says that the answer cannot be known, denies what the question takes for granted, or guesses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._words import content_stems, phrases, plain

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_SAID = (
    r"(?:mention|provid|includ|specif|stat|contain|discuss|indicat|list|record|"
    r"describ|shar|giv|given|said|say|told|tell|talk|spoke|speak|come up|came up|brought up|bring up)"
)
_NOT = r"(?:\w+ )?(?:not|n't|never)"
_KNOWN = r"(?:determine|tell|answer|find|know|say|provide|calculate|confirm|recall|identify|give|remember|see|conclude)"
_THINGS = (
    r"(?:information|info|details?|records?|mention|indication|evidence|data|reference|context|recollection|idea|clue)"
)
_REFUSAL = phrases(
    rf"(?:not|isn't|aren't) (?:\w+ )?(?:enough|sufficient|any) {_THINGS}",
    r"(?:is|are|was|were) (?:not (?:enough|sufficient)|insufficient)",
    rf"(?:insufficient|no|without|need|needs|require|requires|lack|lacks|lacking) (?:\w+ ){{0,2}}{_THINGS}",
    rf"(?:is|are|was|were|did|does|do|has|have|had) {_NOT} (?:\w+ ){{0,3}}{_SAID}\w*",
    rf"(?:isn't|aren't|wasn't|weren't|didn't|doesn't|don't|hasn't|haven't) (?:\w+ ){{0,3}}{_SAID}\w*",
    rf"(?:cannot|can't|can not|could not|couldn't|won't be able to) (?:\w+ ){{0,2}}{_KNOWN}\w*",
    rf"(?:unable|not able|difficult|hard) to (?:\w+ ){{0,2}}{_KNOWN}\w*",
    rf"(?:not|im)[ -]?possible to (?:\w+ ){{0,2}}{_KNOWN}\w*",
    r"(?:i|we) (?:do not|don't|did not|didn't|cannot|can't) (?:\w+ ){0,2}(?:have|know|see|find|recall|remember)",
    rf"(?:not|never) (?:\w+ )?(?:known|available|clear|aware|sure|certain|{_SAID}\w*)",
    rf"(?:nothing|none|nowhere|no \w+) (?:\w+ ){{0,5}}(?:{_SAID}\w*|about|on|regarding)",
    r"only (?:\w+ ){0,2}(?:mentioned|told|talked|spoke|discussed)",
    r"no (?:definitive|definite|specific|explicit|direct|clear) (?:answer|information|mention|number|date)",
    r"(?:unknown|unclear|unspecified|undetermined|unanswerable|undisclosed)",
    r"(?:outputs?|returns?|prints?|answer)\W{1,6}(?:is\W{1,6})?empty",
    r"(?:does not|doesn't) ring a bell",
    r"(?:new|unknown|unfamiliar) to me",
    r"n/a",
    r"(?:not|isn't|nowhere) (?:\w+ )?(?:in|part of) (?:our|the|your|my|this|any) (?:\w+ )?"
    r"(?:conversations?|chats?|history|records?|notes|messages|memory)",
)
_DENIES = phrases(
    r"(?:not|no|none|nothing|never|cannot|nor|without|rather than|instead of|(?:\w+n't))(?! doubt| problem| worries)"
)
_ONLY = phrases(
    r"(?:only|just) (?:\w+ ){0,2}(?:mention\w*|told|talk\w*|said|know|have|see|find|discuss\w*)|only(?=\W*$)"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(
    r"(?<!\bdr)(?<!\bm[rs])(?<!\bmrs)[.;:!?](?=\s|$)|[,\n()\u2013\u2014]|\b(?:but|however|while|though)\b"
)
_ASSERTS = (
    r"(?:i (?:think|guess|believe|suppose|would|assume|recall)|i'd|my guess|guess|probably|perhaps|"
    r"maybe|likely|might|may|must|could|presumably|assum\w+|estimate\w*|approximately|"
    r"(?:her|his|its|their|the|your|it|he|she|they) (?:\w+ ){0,2}(?:is|was|are|were))"
)
_GUESS = re.compile(
    r"\b(?:but|however|though|although|still|that said|if i had to)\b(?:(?!\bnot\b|n't\b|\bno\b)[^.!?]){0,80}?"
    rf"\b{_ASSERTS}\b(?! (?:\w+ )?(?:not|un\w+)\b)"
)
_TOLD = phrases(rf"(?:{_SAID}\w*|know of)")
_NOT_SO = phrases(r"(?:not|no|none|nothing|never|nor|\w+n't)")


def refuses(text: str) -> bool:
    """Return whether a text says that the answer cannot be known."""
    return _REFUSAL.search(plain(text)) is not None


def guesses(text: str) -> bool:
    """Return whether a text goes on to an answer after all: "..., but I think it was Tuesday".

    One that refuses in its last sentence takes its guess back.
    """
    last = [part for part in _SENTENCE.split(text) if part.strip()][-1:]
    return _goes_on(text) and not any(refuses(part) and not _goes_on(part) for part in last)


def _goes_on(text: str) -> bool:
    return any(not _NOT_SO.search(found[0]) and not _TOLD.search(found[0]) for found in _GUESS.finditer(plain(text)))


def denies(text: str, asked: AbstractSet[str]) -> bool:
    """Return whether a clause of the text denies something that was asked about, or says that there is only other.

    `asked`: stems of the words that the question takes for granted.
    """
    for clause in _CLAUSE.split(plain(text)):
        negation = _DENIES.search(clause)
        if negation and asked & content_stems(_denied_part(clause, negation)):
            return True
        if _ONLY.search(clause) and not asked & content_stems(clause):
            return True
    return False


def turns(text: str) -> bool:
    """Return whether a text that denies something goes on to tell something else: "no prize for this, but for that"."""
    rest = re.split(r"\bbut\b", plain(text))[1:]
    return any(not _NOT_SO.search(part) and not _TOLD.search(part) and not _ONLY.search(part) for part in rest)


def negates(text: str) -> bool:
    """Return whether a text has any word of negation or of a limit: it may refuse in a way that no rule knows."""
    return bool(
        _DENIES.search(plain(text))
        or re.search(r"\b(?:only|just|n/?a|lack\w*|unable|in\w*sufficient)\b|\?", plain(text))
    )


def _denied_part(clause: str, negation: re.Match[str]) -> str:
    """Return what a negation may be about: all of its clause, or after "rather than" only what follows."""
    return clause[negation.end() :] if " " in negation[0] else clause
