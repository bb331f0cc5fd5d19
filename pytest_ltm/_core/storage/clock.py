"""Clock and SimulatedClock: the only module that may ask what time it is."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # the module `signal` makes an enum of every number
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Protocol

from pytest_ltm._core.storage.errors import ScenarioError, Stopped

# These are kept so that freezegun, which replaces what modules have imported, leaves
# our own time alone.
_now = datetime.now
thread_seconds = partial(time.thread_time)
"""Returns the seconds of the processor that this thread has used."""
stopwatch_seconds = partial(time.perf_counter)
"""Returns seconds from an arbitrary start: for durations in `timings.jsonl` and progress only."""

# Where simulated time begins: a fixed Monday morning, so that equal runs tell equal
# times.
START = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)


class Clock(Protocol):
    """The time that the conversation lives in."""

    real: bool
    """Whether it is the wall clock, which runs by itself."""

    @property
    def now(self) -> datetime:
        """The conversation's time, aware."""

    def advance(self, to: datetime) -> None:
        """Let time pass until `to`."""

    def tick(self) -> datetime | None:
        """Look at the wall, before a message and after a reply, and hold what it says; None: it has no say here."""

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Be where a recorded conversation was: nobody waits, and nobody is told."""


class SimulatedClock:
    """A clock that stands still except where the scheduler lets time pass."""

    real = False

    def __init__(self, start: datetime = START) -> None:
        self._time = start

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self._time

    def advance(self, to: datetime) -> None:
        """Jump forward to `to`; a jump backwards is a bug of ours."""
        if to < self._time:
            raise ValueError(f"time cannot go back from {self._time} to {to}")
        self._time = to

    def tick(self) -> datetime | None:
        """Return None: it moves only where it is told to."""
        return None

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Set the clock to a recorded time without signalling it."""
        SimulatedClock.advance(self, recorded)


class SignallingClock(SimulatedClock):
    """A simulated clock that says when it has jumped: for agents that live outside this process."""

    def __init__(
        self, jumped: Callable[[datetime, datetime], object], start: datetime = START
    ) -> None:
        super().__init__(start)
        self._jumped = jumped
        self._signalled_time = start

    def advance(self, to: datetime) -> None:
        """Jump forward and call `jumped(before, now)`."""
        super().advance(to)
        self.tick()

    def tick(self) -> datetime | None:
        """Signal recorded jumps, which were skipped, as a single jump."""
        start = self._signalled_time
        self._signalled_time = self.now
        if start < self.now:
            self._jumped(start, self.now)
        return None


class WallClock:
    """The time on the wall: a wait really waits. Equal runs then have unequal times in their journals.

    It says what it said last until it looks again (`tick`), so that what is written
    down is all that was ever acted on.
    """

    real = True

    def __init__(
        self,
        now: Callable[[], datetime] | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._wall = now or wall_time
        self._sleep = sleep
        self._time = self._wall()

    @property
    def now(self) -> datetime:
        """The time on the wall when it was last looked at."""
        return self._time

    def advance(self, to: datetime) -> None:
        """Sleep until `to`, however often sleep returns too early."""
        while (seconds_left := (to - self._wall()).total_seconds()) > 0:
            self._sleep(seconds_left)
        self._time = max(to, self._time)

    def tick(self) -> datetime | None:
        """Look at the wall; a wall clock that was put back does not turn back the conversation."""
        self._time = max(self._wall(), self._time)
        return self._time

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Set the clock to a recorded time without waiting."""
        self._time = recorded


def wall_time() -> datetime:
    """Return the time on the wall: for `timings.jsonl` and run ids only."""
    return _now(timezone.utc)


def can_interrupt() -> bool:
    """Whether a limit can be kept here: a main thread, and a system with interval timers (not Windows)."""
    return (
        sys.platform != "win32"
        and threading.current_thread() is threading.main_thread()
        # None: somebody's C code handles the signal, and Python could not give it back.
        and _signal.getsignal(signal.SIGALRM) is not None
    )


# --- Pauses: Ctrl-Z, SIGSTOP, a machine that sleeps. What goes by meanwhile is no time
# that anybody was slow in.

# How often this process was stopped and went on, where somebody hears the signal.
_continued = [0]
# By system: a clock that goes on while the machine sleeps, and one that does not.
_SLEEPS = {
    "linux": ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"),
    "darwin": ("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW"),
}
_CLOCKS = [
    getattr(time, name) for name in _SLEEPS.get(sys.platform, ()) if hasattr(time, name)
]


def goes_on(*_: object) -> None:
    """Note that this process was stopped and goes on: the handler of SIGCONT."""
    _continued[0] += 1


def process_pauses() -> tuple[int, float]:
    """Return how often this process was stopped so far, and seconds that the machine slept: for `paused_since`."""
    if sys.platform == "win32":
        return _continued[0], 0.0
    if len(_CLOCKS) < 2:
        return _continued[0], 0.0
    going, standing = _CLOCKS
    return _continued[0], time.clock_gettime(going) - time.clock_gettime(standing)


def paused_since(pauses: tuple[int, float]) -> bool:
    """Return whether this process was stopped, or its machine slept, since `pauses` was asked."""
    continued, slept = process_pauses()
    return continued != pauses[0] or slept > pauses[1] + 1.0


# What ends a sleep in a thread, which hears no Ctrl-C.
WAKE: ContextVar[threading.Event | None] = ContextVar("WAKE", default=None)


def sleep_interruptibly(seconds: float) -> None:
    """Let real time pass: for the waits between two attempts. Ctrl-C ends it; Stopped where `WAKE` does."""
    wake = WAKE.get()
    if wake is None:
        time.sleep(seconds)
    elif wake.wait(seconds):
        raise Stopped


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(value: str | float | timedelta) -> timedelta:
    """Return a duration from a number of seconds, a text such as `"1h 30m"`, or a timedelta.

    Args:
        value: Seconds, a timedelta, or numbers with the units s, m, h, d and w.

    Raises:
        ScenarioError: If the value is none of these, or negative.

    >>> duration("1h 30m")
    datetime.timedelta(seconds=5400)
    >>> duration(90) == duration("90s")
    True
    """
    if isinstance(value, str):
        parts = _DURATION.findall(value)
        if not parts or _DURATION.sub("", value).strip(" ,"):
            raise ScenarioError(
                f"{value!r} is not a duration; write it as '30s', '45m', '3h', '1h 30m' or '2d'"
            )
        return sum(
            (timedelta(**{_UNITS[unit]: float(n)}) for n, unit in parts), timedelta()
        )
    if not isinstance(value, (int, float, timedelta)):
        raise ScenarioError(
            f"{value!r} is not a duration; write it as '30s', '45m', '3h', a number of seconds or a timedelta"
        )
    length = value if isinstance(value, timedelta) else timedelta(seconds=value)
    if length < timedelta(0):
        raise ScenarioError(f"cannot wait backwards: {value!r}")
    return length


def describe_duration(length: timedelta) -> str:
    """Return `2 days, 3:04:05` as people read it (never `timedelta.seconds`, which forgets the days)."""
    return str(timedelta(seconds=round(length.total_seconds())))
