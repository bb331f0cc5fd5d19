"""Clock and SimulatedClock: the only module that may ask what time it is."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol

START = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
"""Where simulated time begins: a fixed Monday morning, so that equal runs tell equal times."""


class Clock(Protocol):
    """The time that the conversation lives in."""

    @property
    def now(self) -> datetime:
        """The conversation's time, aware."""
        ...

    def advance(self, to: datetime) -> None:
        """Let time pass until `to`."""
        ...


class SimulatedClock:
    """A clock that stands still except where the scheduler lets time pass."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self._now

    def advance(self, to: datetime) -> None:
        """Jump forward to `to`; a jump backwards is a bug of ours."""
        if to < self._now:
            raise ValueError(f"time cannot go back from {self._now} to {to}")
        self._now = to


def wall_time() -> datetime:
    """Return the time on the wall: for `timings.jsonl` and run ids only."""
    return datetime.now(timezone.utc)


def stopwatch() -> float:
    """Return seconds from an arbitrary start: for durations in `timings.jsonl` and progress only."""
    return time.perf_counter()


def describe(duration: timedelta) -> str:
    """Return `2 days, 3:04:05` as people read it (never `timedelta.seconds`, which forgets the days)."""
    whole = timedelta(seconds=round(duration.total_seconds()))
    return str(whole)
