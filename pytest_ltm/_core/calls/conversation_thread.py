"""A conversation's own thread for its agent if several conversations are played at once; otherwise, direct calls.

A mode that plays several conversations installs its objects (`OWN_THREAD`, `SERVING`,
`SAYING`); callers of agents only look them up.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from pytest_ltm._core.storage.clock import sleep_interruptibly, stopwatch_seconds

T = TypeVar("T")

# Seconds after which a call that swallowed an interruption is interrupted again.
REPEAT = 0.25
# The number of interruptions that a call may swallow before its thread is abandoned.
IGNORED = 3


class OutOfTime(BaseException):
    """The call was interrupted; not an `Exception`, because retry loops swallow those."""


class ConversationThread(Protocol):
    """The thread of one conversation, as seen by the conversation."""

    pinned: int
    """If not 0, the whole process waits for each request, because pytest is in the middle of an operation."""
    lag: float
    """Seconds for which answers have waited for the conversation to continue."""

    def ask(self, call: Callable[[], T], seconds: float | None) -> T:
        """Make the call and return its result; OutOfTime after `seconds`."""

    def pause(self, seconds: float) -> None:
        """Wait for some seconds."""

    def capture_logs(
        self, around: Callable[[], AbstractContextManager[object]], level: int
    ) -> AbstractContextManager[None]:
        """Replay the output of calls made in the block within `around`; `level`: the lowest level of logs wanted."""

    def may_send(self) -> None:
        """Raise Stopped if nothing more may be sent."""

    def wait_for_turn(self, turn: Hashable) -> None:
        """Wait for a turn that one conversation at a time can hold; it may be taken repeatedly."""

    def leave(self, turn: Hashable) -> None:
        """Release all holds on the turn."""


class ServingThread(Protocol):
    """The same thread, as seen by the code that runs in it."""

    wake: Callable[[], object] | None
    """Called by an interruption."""

    def limit_request(self, seconds: float | None) -> None:
        """Limit the current request to some seconds from now on; None: no limit."""


class KeptOutput(Protocol):
    """The captured output, logs and warnings of one thread."""

    level: int
    """The lowest level of logs wanted."""

    def add(self, say: Callable[[], object], size: int = 0) -> None:
        """Keep an output for replay."""


OWN_THREAD: ContextVar[ConversationThread | None] = ContextVar(
    "OWN_THREAD", default=None
)
SERVING: ContextVar[ServingThread | None] = ContextVar("SERVING", default=None)
# Where this thread's output is captured; None: it is not captured.
SAYING: ContextVar[KeptOutput | None] = ContextVar("SAYING", default=None)


# --- Functions for conversations and agents. If one conversation is played at a time,
# they act directly.


def call_in_own_thread(call: Callable[[], T], seconds: float | None = None) -> T:
    """Make the call in the current conversation's thread, while other conversations continue; return its result.

    OutOfTime after `seconds` (None: no limit). Requires that `own_thread()` is not
    None.
    """
    thread = own_thread()
    assert thread is not None
    return thread.ask(call, seconds)


def own_thread() -> ConversationThread | None:
    """Return the current conversation's thread; None if one conversation is played at a time."""
    return OWN_THREAD.get()


def runs_in_own_thread() -> bool:
    """Return whether this code runs in such a thread, which has its own limits."""
    return SERVING.get() is not None


def set_call_limit(seconds: float | None) -> None:
    """Limit the call in this thread to some seconds from now on (None: keep its limit; inf: no limit)."""
    serving = SERVING.get()
    if serving is not None and seconds is not None:
        serving.limit_request(None if seconds == math.inf else seconds)


@contextmanager
def woken_by(wake: Callable[[], object]) -> Iterator[None]:
    """Call `wake` when this thread is interrupted within the block; it interrupts a blocking C call."""
    serving = SERVING.get()
    if serving is None:
        yield
        return
    serving.wake = wake
    try:
        yield
    finally:
        serving.wake = None


def sleep_here(seconds: float) -> None:
    """Wait in real time, for this conversation only."""
    thread = own_thread()
    if thread is None:
        sleep_interruptibly(seconds)
    else:
        thread.pause(seconds)


def own_time() -> float:
    """Return the stopwatch's time without the time that this conversation has waited for others."""
    thread = own_thread()
    return stopwatch_seconds() - (0.0 if thread is None else thread.lag)


def throw_into(thread: threading.Thread, kind: type[BaseException]) -> None:
    """Raise an exception in another thread, as soon as it runs Python code."""
    import ctypes

    throw = getattr(ctypes.pythonapi, "PyThreadState_SetAsyncExc", None)
    if throw is not None and thread.ident is not None:
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(kind))
