"""Clock and its implementations: the only module that may ask for the time."""

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

# Kept here so that freezegun, which replaces names in modules, does not affect our own
# time.
_now = datetime.now
thread_seconds = partial(time.thread_time)
"""Returns the processor time of this thread in seconds."""
stopwatch_seconds = partial(time.perf_counter)
"""Returns seconds from an arbitrary start: for durations in `timings.jsonl` and progress only."""

# The start of simulated time: a fixed Monday morning, so that equal runs have equal
# times.
START = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)


class Clock(Protocol):
    """The time of a conversation."""

    real: bool
    """Whether it is the real clock, which runs on its own."""

    @property
    def now(self) -> datetime:
        """The conversation's time, aware."""

    def advance(self, to: datetime) -> None:
        """Let time pass until `to`."""

    def tick(self) -> datetime | None:
        """Read the real time, before a message and after a reply, and keep it as `now`; None for a simulated clock."""

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Set the clock to a recorded time without waiting or notifying."""


class SimulatedClock:
    """A clock that moves only when the scheduler lets time pass."""

    real = False

    def __init__(self, start: datetime = START) -> None:
        self._time = start

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self._time

    def advance(self, to: datetime) -> None:
        """Jump forward to `to`; ValueError for a jump backwards, which is a bug of ours."""
        if to < self._time:
            raise ValueError(f"time cannot go back from {self._time} to {to}")
        self._time = to

    def tick(self) -> datetime | None:
        """Return None: it moves only on request."""
        return None

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Set the clock to a recorded time without signalling it."""
        SimulatedClock.advance(self, recorded)


class SignallingClock(SimulatedClock):
    """A simulated clock that signals its jumps, for agents outside this process."""

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
    """The real time: a wait really waits. Equal runs then have different times in their journals.

    `now` stays the same until the next `tick`, so that the journal has every time that
    was acted on.
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
        """The real time at the last tick."""
        return self._time

    def advance(self, to: datetime) -> None:
        """Sleep until `to`, even if sleep returns too early."""
        while (seconds_left := (to - self._wall()).total_seconds()) > 0:
            self._sleep(seconds_left)
        self._time = max(to, self._time)

    def tick(self) -> datetime | None:
        """Read the real time; if the system clock is set back, the conversation's time is not."""
        self._time = max(self._wall(), self._time)
        return self._time

    def jump_to_recorded(self, recorded: datetime) -> None:
        """Set the clock to a recorded time without waiting."""
        self._time = recorded


def wall_time() -> datetime:
    """Return the wall time: for `timings.jsonl` and run ids only."""
    return _now(timezone.utc)


def can_interrupt() -> bool:
    """Return whether limits work here: in the main thread, on a system with interval timers (not Windows)."""
    return (
        sys.platform != "win32"
        and threading.current_thread() is threading.main_thread()
        # None: foreign C code handles the signal, and Python could not restore it.
        and _signal.getsignal(signal.SIGALRM) is not None
    )


# --- Pauses: Ctrl-Z, SIGSTOP, a sleeping machine. Time during a pause does not count
# against any limit.

# The number of times that this process was stopped and continued, if SIGCONT is
# handled.
_continued = [0]
# By system: a clock that runs while the machine sleeps, and one that does not.
_SLEEPS = {
    "linux": ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"),
    "darwin": ("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW"),
}
_CLOCKS = [
    getattr(time, name) for name in _SLEEPS.get(sys.platform, ()) if hasattr(time, name)
]


def goes_on(*_: object) -> None:
    """Record that this process was stopped and continues: the handler of SIGCONT."""
    _continued[0] += 1


def process_pauses() -> tuple[int, float]:
    """Return the number of stops of this process, and the machine's sleep in seconds, for `paused_since`."""
    if sys.platform == "win32":
        return _continued[0], 0.0
    if len(_CLOCKS) < 2:
        return _continued[0], 0.0
    going, standing = _CLOCKS
    return _continued[0], time.clock_gettime(going) - time.clock_gettime(standing)


def paused_since(pauses: tuple[int, float]) -> bool:
    """Return whether this process was stopped, or its machine slept, since `pauses` was taken."""
    continued, slept = process_pauses()
    return continued != pauses[0] or slept > pauses[1] + 1.0


# Ends a sleep in a thread, which does not receive Ctrl-C.
WAKE: ContextVar[threading.Event | None] = ContextVar("WAKE", default=None)


def sleep_interruptibly(seconds: float) -> None:
    """Wait in real time between two attempts; Ctrl-C ends the wait, and `WAKE` with Stopped."""
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
    """Return `2 days, 3:04:05` in readable form (never `timedelta.seconds`, which drops the days)."""
    return str(timedelta(seconds=round(length.total_seconds())))
