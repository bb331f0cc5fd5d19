"""The result of comparing two values."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Sameness(Enum):
    """Whether two values are the same: proven, refuted, or open."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


def weigh_readings(results: Iterable[tuple[Sameness, bool]]) -> Sameness | None:
    """Combine the comparisons of two texts' readings; each result with whether both readings are likely.

    SAME in likely readings gives SAME. OTHER needs OTHER in all likely readings, and
    SAME in none. None: no two likely readings are comparable.
    """
    found = list(results)
    if (Sameness.SAME, True) in found:
        return Sameness.SAME
    likely = {result for result, is_likely in found if is_likely}
    is_same_somehow = (Sameness.SAME, False) in found
    if not likely and not is_same_somehow:
        return None
    is_other = likely == {Sameness.OTHER} and not is_same_somehow
    return Sameness.OTHER if is_other else Sameness.UNKNOWN
