"""What an answer comes to: models reason at length, and only their conclusion is the answer."""

from __future__ import annotations

import re

from pytest_ltm.evaluators._words import phrases, plain

SHORT = 400
"""An answer of at most so many characters is taken as a whole."""
_LEAST = 15
"""A conclusion has at least so many characters."""

_MARKS = re.compile(
    r"(?:\bfinal answer|\b(?:my|the|your) (?:\w+ )?answer(?: to (?:\w+ ){0,3}question)? (?:is|would be)|"
    r"\banswer\W{0,6}[:\n]|\btherefore\b|\bin conclusion\b|\bto conclude\b|\bin summary\b|\bthus,|\bhence\b|\bso,)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')*\]]{0,3}\s+|\n+")

_SAID = (
    r"(?:mention|provid|includ|specif|stat|contain|discuss|indicat|list|record|"
    r"describ|shar|giv|given|said|say|told|tell)"
)
_NOT = r"(?:\w+ )?(?:not|n't|never)"
_KNOWN = r"(?:determine|tell|answer|find|know|say|provide|calculate|confirm|recall|identify|give|remember|see|conclude)"
_THINGS = r"(?:information|details?|records?|mention|indication|evidence|data|reference|context|recollection|idea)"
_REFUSAL = phrases(
    rf"(?:not|isn't|aren't) (?:\w+ )?(?:enough|sufficient|any) {_THINGS}",
    r"(?:is|are|was|were) not (?:enough|sufficient)",
    rf"(?:insufficient|no|without|need|needs|require|requires) (?:\w+ ){{0,2}}{_THINGS}",
    rf"(?:is|are|was|were|did|does|do|has|have|had) {_NOT} (?:\w+ ){{0,3}}{_SAID}\w*",
    rf"(?:isn't|aren't|wasn't|weren't|didn't|doesn't|don't|hasn't|haven't) (?:\w+ ){{0,3}}{_SAID}\w*",
    rf"(?:cannot|can't|can not|could not|couldn't|won't be able to) (?:\w+ ){{0,2}}{_KNOWN}\w*",
    rf"(?:unable|not able|difficult|hard) to (?:\w+ ){{0,2}}{_KNOWN}\w*",
    rf"(?:not|im)[ -]?possible to (?:\w+ ){{0,2}}{_KNOWN}\w*",
    r"(?:i|we) (?:do not|don't|did not|didn't|cannot|can't) (?:\w+ ){0,2}(?:have|know|see|find|recall|remember)",
    r"(?:not|never) (?:\w+ )?(?:mentioned|specified|known|provided|stated|told|shared|available|given|clear|aware)",
    r"(?:unknown|unclear|unspecified|undetermined|unanswerable|empty)",
    r"only mentioned",
    r"no (?:definitive|definite|specific|explicit|direct|clear) (?:answer|information|mention|number|date)",
    r"i(?:'m| am) sorry",
)


def conclusion(answer: str) -> str:
    """Return the part of an answer that says what it comes to.

    A short answer is its own conclusion; of a long one it is what its last mark begins ("therefore", "the answer is"),
    or else its last three sentences.
    """
    text = answer.strip()
    if len(text) <= SHORT:
        return text
    tail = text[-2 * SHORT :]
    marks = [found.start() for found in _MARKS.finditer(tail)]
    if marks and len(tail) - marks[-1] > _LEAST:
        return tail[marks[-1] :]
    return " ".join([part for part in _SENTENCE.split(tail[-SHORT:]) if part.strip()][-3:])


def refuses(text: str) -> bool:
    """Return whether a text says that the answer cannot be known."""
    return _REFUSAL.search(plain(text)) is not None
