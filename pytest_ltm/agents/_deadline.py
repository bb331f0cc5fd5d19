"""A time limit for one synchronous call."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # the module `signal` makes an enum of every number
import math
import signal
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_ltm._clock import stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__tracebackhide__ = True
"""For pytest: who reads of an agent's exception wants the agent's frames, not these."""

T = TypeVar("T")

REPEAT = 0.25
"""Seconds after which a call that swallowed the first interruption is interrupted again, and so on."""


class OutOfTime(BaseException):
    """The call was interrupted; no `Exception`, because retry loops swallow those."""


def can_interrupt() -> bool:
    """Whether a limit can be kept here: a main thread, and a system with interval timers (not Windows)."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        # None: somebody's C code handles the signal, and Python could not give it back.
        and _signal.getsignal(signal.SIGALRM) is not None
    )


def call_within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return `call()`, or raise OutOfTime in the middle of it after so many seconds; None: no limit.

    Where `can_interrupt` is false there is no limit either: an adapter must keep its own. Code that waits in C
    without looking at signals is interrupted when it comes back. Whatever SIGALRM handler and timer were there
    before (pytest-timeout's, an outer limit's) are kept, also in time, and put back.
    """
    if seconds is None or not can_interrupt():
        return call()
    alarm = _Alarm(seconds)
    try:
        try:
            alarm.set()
            return call()
        finally:
            alarm.clear()
    finally:
        # Again, because the signal may arrive in the very first instruction of the other one.
        alarm.clear()


class _Alarm:
    """One use of the process's only real-time timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._handler: Any = None
        self._outer_at = math.inf
        self._outer_repeat = 0.0
        self._is_set = False

    def set(self) -> None:
        outer_in, self._outer_repeat = signal.setitimer(signal.ITIMER_REAL, 0)
        self._at = stopwatch() + self._seconds
        if outer_in:
            self._outer_at = stopwatch() + outer_in
        self._is_set = True
        self._handler = _signal.signal(signal.SIGALRM, self._ring)
        self._start()

    def clear(self) -> None:
        if not self._is_set:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        _signal.signal(signal.SIGALRM, self._handler)
        self._is_set = False
        if self._outer_at < math.inf:
            signal.setitimer(signal.ITIMER_REAL, max(self._outer_at - stopwatch(), 1e-4), self._outer_repeat)

    def _start(self) -> None:
        soonest = min(self._at, self._outer_at) - stopwatch()
        signal.setitimer(signal.ITIMER_REAL, max(soonest, 1e-4), REPEAT)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._outer_at <= stopwatch() and callable(self._handler):
            self._outer_at = stopwatch() + self._outer_repeat if self._outer_repeat else math.inf
            self._start()
            self._handler(number, frame)
        if self._at <= stopwatch():
            raise OutOfTime
