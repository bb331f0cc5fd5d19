"""The thread that a conversation has for its agent where several are played at once; here and now where none is.

A mode that plays several puts its own objects in place (`OWN_THREAD`, `SERVING`,
`SAYING`); what calls agents only asks for them.
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

# Seconds after which a call that swallowed the first interruption is interrupted again,
# and so on.
REPEAT = 0.25
# The interruptions that a call may swallow; then its thread is left to itself.
IGNORED = 3


class OutOfTime(BaseException):
    """The call was interrupted; no `Exception`, because retry loops swallow those."""


class ConversationThread(Protocol):
    """The thread of one conversation, as the conversation sees it."""

    pinned: int
    """Where it is not 0 everybody waits for a request: pytest is in the middle of something."""
    lag: float
    """Seconds that answers have waited for the conversation to go on."""

    def ask(self, call: Callable[[], T], seconds: float | None) -> T:
        """Return what the call returns; OutOfTime after so many seconds."""

    def pause(self, seconds: float) -> None:
        """Wait so long."""

    def capture_logs(
        self, around: Callable[[], AbstractContextManager[object]], level: int
    ) -> AbstractContextManager[None]:
        """What is said during the calls in the block is said again within `around`; `level`: which logs are wanted."""

    def may_send(self) -> None:
        """Raise Stopped where nothing new is sent."""

    def wait_for_turn(self, turn: Hashable) -> None:
        """Wait for a turn that one conversation at a time has; it may take it several times."""

    def leave(self, turn: Hashable) -> None:
        """Give it back as often as it was taken."""


class ServingThread(Protocol):
    """The same thread, as the code sees it that runs there."""

    wake: Callable[[], object] | None
    """What an interruption calls."""

    def limit_request(self, seconds: float | None) -> None:
        """Give the call that is being served so many seconds from now on; None: no limit."""


class KeptOutput(Protocol):
    """What is printed, logged and warned of in one thread."""

    level: int
    """From which logs are wanted."""

    def add(self, say: Callable[[], object], size: int = 0) -> None:
        """Keep it, to be said again."""


OWN_THREAD: ContextVar[ConversationThread | None] = ContextVar(
    "OWN_THREAD", default=None
)
SERVING: ContextVar[ServingThread | None] = ContextVar("SERVING", default=None)
# Where what is said in this thread is kept; None: it is said at once.
SAYING: ContextVar[KeptOutput | None] = ContextVar("SAYING", default=None)


# --- What conversations and agents call. Where one conversation is played at a time
# everything happens here and now.


def call_in_own_thread(call: Callable[[], T], seconds: float | None = None) -> T:
    """Return the call's result, made in the thread of the conversation that is being played, while others go on.

    OutOfTime after so many seconds (None: no limit). Only where `own_thread()` is not
    None.
    """
    thread = own_thread()
    assert thread is not None
    return thread.ask(call, seconds)


def own_thread() -> ConversationThread | None:
    """Return the thread of the conversation that is being played; None where one is played at a time."""
    return OWN_THREAD.get()


def runs_in_own_thread() -> bool:
    """Whether this code runs in such a thread, which has limits of its own."""
    return SERVING.get() is not None


def set_call_limit(seconds: float | None) -> None:
    """Give the call in this thread so many seconds from now on (None: as many as it has; inf: no limit)."""
    serving = SERVING.get()
    if serving is not None and seconds is not None:
        serving.limit_request(None if seconds == math.inf else seconds)


@contextmanager
def woken_by(wake: Callable[[], object]) -> Iterator[None]:
    """Within the block an interruption of this thread calls `wake`, which ends its wait in C."""
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
    """Let real time pass, for this conversation only."""
    thread = own_thread()
    if thread is None:
        sleep_interruptibly(seconds)
    else:
        thread.pause(seconds)


def own_time() -> float:
    """Return the time on the stopwatch without what this conversation has waited for others to let it go on."""
    thread = own_thread()
    return stopwatch_seconds() - (0.0 if thread is None else thread.lag)


def throw_into(thread: threading.Thread, kind: type[BaseException]) -> None:
    """Raise it in another thread, as soon as Python code runs there."""
    import ctypes

    throw = getattr(ctypes.pythonapi, "PyThreadState_SetAsyncExc", None)
    if throw is not None and thread.ident is not None:
        throw(ctypes.c_ulong(thread.ident), ctypes.py_object(kind))
