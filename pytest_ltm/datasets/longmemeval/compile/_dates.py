"""Where evidence stands in a history, and when every session was.

The dates of the evidence are anchors and keep their order; the sessions between them are dated between them, evenly
drawn. Before the first anchor they go back to the first of May 2023 if that is the anchor's month, as the published
histories do (Wu et al., ICLR 2025, appendix), else thirty days.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

MAY = datetime(2023, 5, 1, tzinfo=timezone.utc)
LEAD = timedelta(days=30)
"""So long before the first evidence a history begins, if that was not in May 2023."""
_MINUTE = timedelta(minutes=1)


def places(rng: Random, evidence: int, total: int) -> list[int]:
    """Return where the evidence stands among all sessions, from 0 and in order; every choice is equally likely."""
    return sorted(rng.sample(range(total), evidence))


def dates(rng: Random, anchors: Sequence[tuple[int, datetime]], total: int, asked: datetime) -> list[datetime]:
    """Return the dates of all sessions, none before the one in front of it.

    `anchors`: the places and dates of the evidence, in order. A session that stands behind the last of them is dated
    before the question, or with the last evidence where that is later than the question.
    """
    first, last = anchors[0][1], anchors[-1][1]
    fixed = [(-1, _beginning(first)), *anchors, (total, max(asked, last))]
    found: list[datetime] = []
    for (place, start), (following, end) in pairwise(fixed):
        found += _between(rng, start, end, following - place - 1)
        if following < total:
            found.append(end)
    return found


def _beginning(first: datetime) -> datetime:
    in_may = first > MAY and (first.year, first.month) == (MAY.year, MAY.month)
    return MAY if in_may else first - LEAD


def _between(rng: Random, start: datetime, end: datetime, count: int) -> list[datetime]:
    """Return so many dates to the minute, from `start` up to, if there is a minute in between not at, `end`."""
    minutes = max(0, (end - start) // _MINUTE - 1)
    return [start + _MINUTE * minute for minute in sorted(rng.randint(0, minutes) for _ in range(count))]
