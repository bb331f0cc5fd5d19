"""Whether a free answer says that something was never said: the rule beside the official phrases."""

from __future__ import annotations

import re

from pytest_ltm.datasets.rulings._conclusion import conclusion
from pytest_ltm.datasets.rulings._refusals import refuses

_STILL = re.compile(
    r"\b(?:but|however|though|although|still|that said|if i had to)\b[^.!?]{0,80}?"
    r"\b(?:i (?:think|guess|believe|suppose|would|'d)|i'd|my guess|guess|probably|perhaps|maybe|likely|might|may|must|"
    r"could|presumably)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:nothing(?! but)|none(?! but)|no one|nobody|n/?a|unknown|unanswerable|no information(?: available)?|"
    r"no answer|not (?:mentioned|stated|said|specified|given|known|discussed|available|applicable|in the "
    r"conversation))\b",
    re.IGNORECASE,
)
_FALSE = re.compile(
    r"\b(?:(?:there (?:is|was|were|are)|i (?:have|see|find|found|recall|remember)) no (?:\w+ ){0,3}"
    r"(?:mention|record|information|indication|evidence|trace|sign|reference|statement)|"
    r"(?:never|not once|nowhere) (?:\w+ ){0,2}(?:mention|say|said|talk|spoke|speak|told|tell|discuss|came up|come up|"
    r"state|describe|share)\w*|"
    r"(?:not|\w+n['\u2019]t) (?:\w+ ){0,2}(?:mention|say|said|talk|speak|tell|discuss|come up|state|describe|share|"
    r"know|sure|recall|remember)\w*|the question (?:\w+ ){0,3}(?:assumes|mixes|confuses)|false premise)",
    re.IGNORECASE,
)


def abstains(answer: str, *, asked: str = "", other: str = "") -> bool:
    """Return whether an answer declines: what was asked for was never said.

    A refusal that goes on to guess ("..., but I think it was ...") is none. `asked` and `other`: the speaker whom the
    question is about and the other one; to say that it was the other, not the one, declines as well.
    """
    text = answer.strip()
    if not text:
        return False
    end = conclusion(text)
    if _STILL.search(end):
        return False
    return bool(_NOTHING.match(end)) or refuses(end) or bool(_FALSE.search(end)) or _corrects(end, asked, other)


def _corrects(text: str, asked: str, other: str) -> bool:
    """Return whether the text says that it was the other speaker."""
    if not asked or not other:
        return False
    denied = rf"\b(?:not|wasn't|isn't|rather than|instead of|never) {re.escape(asked)}\b"
    return bool(re.search(denied, text, re.IGNORECASE)) and other.lower() in text.lower()
