"""What the rules say of one answer, and the words that make an answer doubtful."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of one answer."""

    verdict: Literal["yes", "no", "unscored"]
    reason: str


CANNOT_TELL = Ruling("no", "says that it cannot tell")

HEDGED = re.compile(
    r"\b(?:not (?:\w+ )?sure|unsure|possibly|maybe|perhaps|might|may (?:have|be)|could (?:be|have)|up to|more than|"
    r"fewer than|less than|(?:over|under|above|below|almost|nearly|close to)(?= ?[$£€\d])|or more|or less|or so|"
    r"guess\w*|speculat\w*|if i had to|couple|either)\b",
    re.IGNORECASE,
)
"""Words by which an answer does not commit itself."""
