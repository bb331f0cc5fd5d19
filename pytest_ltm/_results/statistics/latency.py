"""How long an agent's calls took: all together, the middle one, and the slow ones."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from pytest_ltm._journal.result import CallDurations, Pace
from pytest_ltm._journal.timings import ReplyTime, TellTime
from pytest_ltm._results.statistics.totals import percentile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._journal.timings import Timing


def paces(timed: Mapping[tuple[str, str], Iterable[Timing]]) -> tuple[Pace, ...]:
    """Return how long each agent took at each memory span, by its label and the span's, of what was timed there."""
    found = []
    for (agent, span_label), of in timed.items():
        timings = list(of)
        asking = _seconds([one.seconds for one in timings if isinstance(one, ReplyTime)])
        storing = _seconds([one.seconds for one in timings if isinstance(one, TellTime)])
        if asking or storing:
            found.append(Pace(agent=agent, span_label=span_label, asking=asking, storing=storing))
    return tuple(found)


def _seconds(took: Sequence[float]) -> CallDurations | None:
    if not took:
        return None
    ordered = sorted(took)
    return CallDurations(total=sum(took), median=round(median(ordered), 6), p95=round(percentile(ordered, 0.95), 6))
