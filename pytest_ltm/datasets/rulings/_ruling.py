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
    r"\b(?:at least|at most|not sure|possibly|possible|might|may (?:have|be)|estimated?|could be|likely|minimum|up to|"
    r"more than|fewer than|less than|or more|assum\w+|rough\w*|guess|either)\b",
    re.IGNORECASE,
)
"""Words by which an answer does not commit itself."""
