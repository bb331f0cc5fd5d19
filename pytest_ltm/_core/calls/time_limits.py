"""Limits for a synchronous call of foreign code: it is interrupted in time, and leaves the process as it was."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # the module `signal` makes an enum of every number
import math
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from pytest_ltm._core.calls.conversation_thread import IGNORED, REPEAT, OutOfTime
from pytest_ltm._core.storage.clock import (
    can_interrupt,
    paused_since,
    process_pauses,
    stopwatch_seconds,
)

T = TypeVar("T")

# For pytest: readers of an agent's exception want the agent's frames, not these.
__tracebackhide__ = True

# Seconds between the end of a limit and the interruption.
_SOON = 0.02
# The minimum in seconds for cleaning up, from the first interruption.
MIN_CLEANUP_SECONDS = 3.0
# The last callback ends the process if a call continues beyond that; without one, the
# call continues.
when_hung: list[Callable[[], object]] = []


def call_within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return `call()`, or raise OutOfTime inside it after `seconds`; None: no limit.

    Without `can_interrupt` there is no limit either: an adapter must set its own. Code
    that waits in C without checking signals is interrupted when it returns. An existing
    SIGALRM handler and timer (pytest-timeout's, an outer limit's) are respected,
    including their time, and restored. After a pause of this process or its machine the
    limit starts again.
    """
    if seconds is None or not can_interrupt():
        return call()
    alarm = _Alarm(seconds)
    _ALARMS.append(alarm)
    try:
        try:
            alarm.set()
            result = call()
            if alarm.came_late:
                raise OutOfTime
            return result
        finally:
            alarm.clear()
    finally:
        # Again, because the signal may arrive in the very first instruction of the
        # other one.
        alarm.clear()
        _ALARMS.remove(alarm)


@contextmanager
def limits_aside() -> Iterator[None]:
    """Suspend all limits of the caller, and set them up again with their remaining time."""
    alarms = [(alarm, alarm.seconds_left) for alarm in _ALARMS]
    for alarm, _ in reversed(alarms):
        alarm.clear()
    _ALARMS.clear()
    try:
        yield
    finally:
        for alarm, seconds_left in alarms:
            _ALARMS.append(alarm)
            alarm.set()
            alarm.seconds_left = seconds_left


@contextmanager
def unlimited() -> Iterator[None]:
    """Pause the limit of the caller: the code inside has limits of its own."""
    alarm = _ALARMS[-1] if _ALARMS and can_interrupt() else None
    if alarm is None:
        yield
        return
    seconds_left = alarm.seconds_left
    alarm.seconds_left = math.inf
    try:
        yield
    finally:
        alarm.seconds_left = seconds_left


def lift() -> None:
    """End all running limits: a person is debugging."""
    for alarm in _ALARMS:
        alarm.seconds_left = math.inf


def _timer(seconds: float, repeat: float = 0.0) -> tuple[float, float]:
    """Set the process's real-time timer and return its previous state; never on Windows, see `can_interrupt`."""
    if sys.platform == "win32":
        raise NotImplementedError
    return signal.setitimer(signal.ITIMER_REAL, seconds, repeat)


def _rings(handler: Any) -> Any:
    """Install a handler for the timer's signal and return the previous one."""
    if sys.platform == "win32":
        raise NotImplementedError
    return _signal.signal(signal.SIGALRM, handler)


class _Alarm:
    """One use of the process's only real-time timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._handler: Any = None
        self._outer_at = math.inf
        self._outer_repeat = 0.0
        self._is_set = self._is_up = False
        self._rings = 0
        self._pauses = process_pauses()

    def set(self) -> None:
        outer_in, self._outer_repeat = _timer(0)
        self._at = stopwatch_seconds() + self._seconds
        if outer_in:
            self._outer_at = stopwatch_seconds() + outer_in
        self._is_set = True
        self._handler = _rings(self._ring)
        self._start()

    def clear(self) -> None:
        if not self._is_set:
            return
        # First, because a signal in between would set the timer again; the previous
        # handler may end the process.
        self._is_set = False
        _timer(0)
        _rings(self._handler)
        if self._outer_at < math.inf:
            _timer(max(self._outer_at - stopwatch_seconds(), 1e-4), self._outer_repeat)

    @property
    def seconds_left(self) -> float:
        """The seconds left; inf: there is no limit."""
        return self._at - stopwatch_seconds()

    @seconds_left.setter
    def seconds_left(self, seconds: float) -> None:
        self._at = stopwatch_seconds() + seconds
        self._start()

    @property
    def came_late(self) -> bool:
        """Whether the limit was over before the call returned, without an interruption."""
        return (
            self._is_up
            and not self._rings
            and self._at <= stopwatch_seconds()
            and not paused_since(self._pauses)
        )

    def _start(self) -> None:
        soonest = min(self._at, self._outer_at) - stopwatch_seconds()
        _timer(max(soonest, 1e-4) if soonest < math.inf else 0, REPEAT)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if not self._is_set:
            return
        if self._outer_at <= stopwatch_seconds() and callable(self._handler):
            if self._outer_repeat:
                self._outer_at = stopwatch_seconds() + self._outer_repeat
            else:
                self._outer_at = math.inf
            self._start()
            self._handler(number, frame)
        if self._at > stopwatch_seconds():
            return
        # Of simultaneous signals, SIGALRM is handled before SIGCONT, which may extend
        # the time.
        if not self._is_up:
            self._is_up = True
            _timer(_SOON, REPEAT)
        elif paused_since(self._pauses):
            self._at = stopwatch_seconds() + (0 if self._rings else self._seconds)
            self._rings = 0
            self._is_up = False
            self._pauses = process_pauses()
            self._start()
        else:
            self._rings += 1
            if (
                self._rings > IGNORED
                and stopwatch_seconds() >= self._at + MIN_CLEANUP_SECONDS
                and when_hung
            ):
                when_hung[-1]()
            raise OutOfTime


# The running limits, the innermost last.
_ALARMS: list[_Alarm] = []


# --- Changes that foreign code may leave behind in the process.

_OURS = (
    signal.SIGINT,
    signal.SIGTERM,
    *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []),
)


class undisturbed:  # noqa: N801 - used as a function; a class, because every call of an agent is inside one
    """Restore the recursion limit if it was lowered, and the signal handlers that end the process."""

    __slots__ = ("_handlers", "_limit")

    def __enter__(self) -> None:
        self._limit = sys.getrecursionlimit()
        self._handlers = [_signal.getsignal(number) for number in _OURS]

    def __exit__(self, *_: object) -> None:
        if sys.getrecursionlimit() < self._limit:
            sys.setrecursionlimit(self._limit)
        for number, handler in zip(_OURS, self._handlers, strict=True):
            # None: not set by Python. Only the main thread could have changed it.
            if (
                handler is not None
                and _signal.getsignal(number) is not handler
                and can_interrupt()
            ):
                _signal.signal(number, handler)


# --- Copies: an agent that forks must not return twice, each with the rest of the run
# to play.

# Shared with all copies of this process: 1 once one of them has returned.
_COPIED = mmap.mmap(-1, 1)
FORK_MESSAGE = "the agent forked, and the child process returned from the call. End the child inside the agent"
UNMEASURABLE = 75


def end_copy(process: int) -> None:
    """End this process at once if it is a copy, forked by foreign code from process `process`."""
    if os.getpid() != process:
        _COPIED[0] = 1
        os._exit(UNMEASURABLE)


def copied() -> bool:
    """Return whether a copy has returned since the last call."""
    flag = _COPIED[0] == 1
    _COPIED[0] = 0
    return flag
