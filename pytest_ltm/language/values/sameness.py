"""Whether two values are one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Sameness(Enum):
    """Whether two values are one: proven, refuted, or open."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


def weigh_readings(results: Iterable[tuple[Sameness, bool]]) -> Sameness | None:
    """Return how the readings of two texts compare; each result with whether both readings are likely.

    The same in likely readings is the same. Other is what is other in all likely
    readings, and the same in none. None: no likely readings meet.
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
