"""The event loop that the async code of agents, judges and simulated users shares in this process.

Objects at module level (a client, a lock, a connection pool) belong to the first loop
that uses them, so there is one loop. If one conversation is played at a time, the loop
runs in the calling thread while that waits. If several are (`share_in_thread`), it has
a thread of its own, and all code of an async agent runs there: objects created there,
such as a database connection, can be used there.
"""

from __future__ import annotations

import atexit
import inspect
import math
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pytest_ltm._core.calls import conversation_thread as threads
from pytest_ltm._core.calls.airlock import (
    Gate,
    Pending,
    look,
    read_attribute,
    read_flag,
)
from pytest_ltm._core.calls.time_limits import call_within, undisturbed
from pytest_ltm._core.calls.trace_context import carry_into_loop
from pytest_ltm._core.storage.clock import (
    paused_since,
    process_pauses,
    stopwatch_seconds,
)

if TYPE_CHECKING:
    import asyncio

# For pytest: readers of an agent's exception want the agent's frames, not these.
__tracebackhide__ = True

# Seconds that a cancelled reply has for cleaning up.
GRACE = 0.5
# Seconds between two checks that the loop runs.
BEAT = 0.1
# Seconds that code blocking the loop has for returning after it was interrupted.
UNBLOCK_SECONDS = 3.0

_UNSTOPPABLE: list[asyncio.Task[Any]] = []
# `_UNSTOPPABLE` is kept, because freeing a coroutine that catches everything would run
# it once more, forever. `_SHARE`: the owner of the current task; tasks inherit it.
_SHARE: ContextVar[LoopShare | None] = ContextVar("_SHARE", default=None)


class LoopLost(Exception):
    """The event loop is blocked permanently."""


class outside_any_loop:  # noqa: N801 - used as a function; a class, because every call of an agent is inside one
    """Allow the code inside to run a loop (including `asyncio.run`), even if this thread is in one already.

    "The running loop" and, since Python 3.14, "the current task" are per-thread markers
    of asyncio. A notebook, pytest-asyncio or anyio may have set theirs, and asyncio
    then refuses to run any other loop, although ours ends before theirs continues. So
    the markers are removed and restored.
    """

    __slots__ = ("_loop", "_task")

    def __enter__(self) -> None:
        # Until asyncio has been imported completely, no loop runs here.
        events_module: Any = sys.modules.get("asyncio")
        running = getattr(events_module, "_get_running_loop", None)
        self._loop = running and running()
        if self._loop is not None:
            self._task = _swap_task(self._loop, None)
            events_module._set_running_loop(None)  # noqa: SLF001 - as above

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            sys.modules["asyncio"]._set_running_loop(self._loop)  # noqa: SLF001 - as above
            _swap_task(self._loop, self._task)


def _swap_task(loop: object, task: object) -> Any:
    """Replace a loop's current task and return the previous one; does nothing before Python 3.12."""
    swap = getattr(sys.modules["asyncio"].tasks, "_swap_current_task", None)
    return swap and swap(loop, task)


def is_async(agent: object) -> bool:
    """Return whether the replies of an agent or a judge, or of its class or function, must be awaited."""
    parts = (agent, read_attribute(agent, "reply"), read_attribute(agent, "assess"))
    awaited: bool = look(
        lambda: any(map(inspect.iscoroutinefunction, parts)), default=False
    )
    return awaited


def shares_loop(agent: object) -> bool:
    """Return whether an agent is awaited in the shared loop."""
    return is_async(agent) and not any(
        read_flag(agent, name) for name in ("own_loop", "main_thread")
    )


def has_thread() -> bool:
    """Return whether the shared loop has its own thread, and this is a different one."""
    return bool(_threaded) and threading.current_thread() is not _threaded[-1].thread


_SHARES: WeakSet[LoopShare] = WeakSet()


class LoopShare:
    """One conversation's use of the event loop: its calls, tasks and context variables; must be closed.

    `owner`: the name used in messages. `agent`: the object that is called; `own_loop =
    True` gives it a loop of its own, and `main_thread = True` awaits it in the calling
    thread.
    """

    def __init__(self, owner: str = "an agent", agent: object = None) -> None:
        self.who = owner
        self._has_own = read_flag(agent, "own_loop")
        self._stays = self._has_own or read_flag(agent, "main_thread")
        self._is_async = is_async(agent)
        self._own: asyncio.AbstractEventLoop | None = None
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self.over_at = 0.0
        """When its activity counts as blocking others: the end of its call's limit, or shortly after the call."""
        self.blocked = 0.0
        """Seconds for which it has blocked the shared loop."""
        self.blocks = False
        """Whether its last call blocked the loop for most of its time."""
        _SHARES.add(self)

    def call(
        self, timeout: float | None, function: Callable[[], object], gate: Gate
    ) -> Any:
        """Call a function through a gate; return its result, or that of the awaitable that it returns.

        OutOfTime after `timeout` seconds. Runs in the conversation's own thread if it
        has one. Must be called `outside_any_loop`.
        """
        if threads.own_thread() is not None:
            return threads.call_in_own_thread(
                partial(self.call, timeout, function, gate), timeout
            )
        threaded = self._threaded()
        if threaded is not None and self._is_async:

            async def begin(context: Context) -> Any:
                # In the loop's thread, with the context variables that earlier calls
                # have set there.
                with outside_any_loop():
                    value = context.run(gate.enter, function)
                if type(value) is Pending:
                    return await value.outcome()
                return value

            return self._await_in(threaded, begin, timeout)
        threads.set_call_limit(timeout)
        with undisturbed():
            value = call_within(timeout, partial(gate.enter, function))
        if type(value) is not Pending:
            return value
        return self.run(value.outcome(), timeout=timeout)

    def run(self, awaitable: Awaitable[Any], *, timeout: float | None) -> Any:
        """Await and return the result; OutOfTime after `timeout` seconds (None: no limit).

        A coroutine that blocks the loop is interrupted a little later than one that
        awaits.
        """
        threaded = self._threaded()
        if threaded is not None:
            return self._await_in(threaded, lambda _: awaitable, timeout)
        loop = self._loop_here()
        late = None if timeout is None else timeout + 2 * GRACE
        threads.set_call_limit(late)
        context = copy_context()
        context.run(_SHARE.set, self)
        task = context.run(
            loop.create_task, _limited(carry_into_loop(lambda: awaitable)(), timeout)
        )
        try:
            with (
                threads.woken_by(lambda: loop.call_soon_threadsafe(bool)),
                undisturbed(),
            ):
                value, error = call_within(late, partial(loop.run_until_complete, task))
        except BaseException:
            task.cancel()
            raise
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Cancel the agent's remaining tasks, in the conversation's own thread; a second call does nothing."""
        if threads.own_thread() is None:
            self._close()
        elif self._own is not None or self.tasks:
            with suppress(threads.OutOfTime):
                threads.call_in_own_thread(self._close, 4 * GRACE)

    def _close(self) -> None:
        loop = self._own
        self._own = None
        tasks_left = {task for task in list(self.tasks) if not task.done()}
        try:
            if loop is not None and not loop.is_running():
                # a running one is in a thread that never came back
                loop.run_until_complete(_cancelled(tasks_left))
                loop.run_until_complete(loop.shutdown_asyncgens())
            elif tasks_left:
                self.run(_cancelled(tasks_left), timeout=2 * GRACE)
        # tasks that have not ended by then are abandoned
        except (LoopLost, threads.OutOfTime):
            pass
        finally:
            _UNSTOPPABLE.extend(task for task in tasks_left if not task.done())
            if loop is not None and not loop.is_running():
                loop.close()

    def _await_in(
        self,
        threaded: ThreadedLoop,
        begin: Callable[[Context], Awaitable[Any]],
        timeout: float | None,
    ) -> Any:
        context: Context = _HERE.__dict__.get("context") or copy_context()
        # The thread may have changed.
        context.run(threads.SAYING.set, threads.SAYING.get())
        context.run(_SHARE.set, self)
        threads.set_call_limit(math.inf)  # the loop keeps the limit
        _HERE.context = None  # if this fails, another call may still be in the context
        with undisturbed():
            value, error = threaded.run(self, partial(begin, context), timeout, context)
        _HERE.context = context
        if error is not None:
            raise error
        return value

    def _threaded(self) -> ThreadedLoop | None:
        if self._stays or not _threaded:
            return None
        with _REPLACING:
            if _threaded[-1].lost:
                _threaded.append(ThreadedLoop(_threaded[-1].blocked))
        if threading.current_thread() is _threaded[-1].thread:
            return None
        return _threaded[-1]

    def _loop_here(self) -> asyncio.AbstractEventLoop:
        """Return a loop that runs in this thread: its own, or the one shared by all callers in this thread."""
        if self._has_own or threads.runs_in_own_thread():
            # A conversation's thread ends with it.
            if self._own is None or self._own.is_running():
                self._own = _new_loop()
            return self._own
        loops: list[asyncio.AbstractEventLoop] = _HERE.__dict__.setdefault("loops", [])
        # A running loop waits for a call made inside it.
        idle = [loop for loop in loops if not loop.is_running()]
        if not idle:
            loops.append(_new_loop())
        return idle[0] if idle else loops[-1]


_REPLACING = threading.Lock()
# `loops` run in a thread while a caller waits there; the first is the shared one.
# `context`: that of the thread's conversation for calls in the loop's thread.
_HERE = threading.local()


def _new_loop() -> asyncio.AbstractEventLoop:
    import asyncio  # here and below: most agents are not asynchronous, and it takes long to import

    def make_task(
        loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **more)
        # The owner of a task is charged if the task blocks the loop, and its close()
        # cancels the task.
        if share := _SHARE.get():
            share.tasks.add(task)
        return task

    loop = asyncio.new_event_loop()
    loop.set_task_factory(make_task)
    _LOOPS.add(loop)
    return loop


_LOOPS: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


# --- Several conversations at once.


def share_in_thread() -> None:
    """Give the shared loop a thread of its own, which starts on first use."""
    if not _threaded:
        _threaded.append(ThreadedLoop({}))


def lost_by() -> str:
    """Return the name of the agent that made the shared loop unusable; "" if it is usable."""
    return next((threaded.lost for threaded in _threaded if threaded.lost), "")


def blocked_seconds() -> dict[str, float]:
    """Return the seconds for which each agent has blocked the shared loop in a thread."""
    return _threaded[-1].blocked if _threaded else {}


@atexit.register
def close_loops() -> None:
    """Close all loops at the end of the run."""
    for threaded in _threaded:
        threaded.close()
    _threaded.clear()
    for loop in list(_LOOPS):
        if not loop.is_running() and not loop.is_closed():
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
    _LOOPS.clear()
    _HERE.__dict__.clear()


class ThreadedLoop:
    """The shared loop in a thread of its own, which never delays the end of the process.

    A second thread checks that it runs. While one conversation blocks it, the time
    limits of the others are extended; one that blocks it beyond its own limit is
    interrupted, and if that does not help, the loop is abandoned.
    """

    def __init__(self, blocked: dict[str, float]) -> None:
        self.blocked = blocked
        self.stalled = 0.0
        """Seconds for which it was blocked so far."""
        self.lost = ""
        """The name of the agent that made it unusable."""
        self.thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls: dict[Future[Any], LoopShare] = {}
        self._turned = threading.Event()
        self._over = threading.Event()
        self._starting = threading.Lock()
        self._turned.set()

    def run(
        self,
        share: LoopShare,
        begin: Callable[[], Awaitable[Any]],
        timeout: float | None,
        context: Context,
    ) -> tuple[Any, BaseException | None]:
        """Await what `begin` creates and return the result; the calling thread waits."""
        import asyncio

        with self._starting:  # several conversations may be first
            loop = self._loop or self._start()
        began = stopwatch_seconds()
        blocked = share.blocked
        share.over_at = math.inf if timeout is None else began + timeout + 2 * GRACE
        # In a copy, because the loop's thread may enter the context before this thread
        # has left it.
        limited = _limited(
            carry_into_loop(begin)(), timeout, lambda: self.stalled - share.blocked
        )
        future = context.copy().run(asyncio.run_coroutine_threadsafe, limited, loop)
        self._calls[future] = share
        try:
            with threads.woken_by(future.cancel):
                result: tuple[Any, BaseException | None] = future.result()
                return result
        # cancelled by an interruption of this thread, or because the loop was abandoned
        except CancelledError:
            if self.lost:
                raise LoopLost(
                    f"{self.lost} blocks the event loop of all async agents, and does not come back"
                ) from None
            raise threads.OutOfTime from None
        finally:
            future.cancel()
            del self._calls[future]
            now = stopwatch_seconds()
            share.over_at = now + GRACE
            share.blocks = share.blocked - blocked > max((now - began) / 2, BEAT)

    def close(self) -> None:
        """Cancel the remaining tasks, and end the threads."""
        self._over.set()
        if self._loop is None or self.thread is None or self.lost:
            return
        import asyncio

        async def ended() -> None:
            await _cancelled(asyncio.all_tasks() - {asyncio.current_task()})
            asyncio.get_running_loop().stop()

        asyncio.run_coroutine_threadsafe(ended(), self._loop)
        self.thread.join(4 * GRACE)

    def _start(self) -> asyncio.AbstractEventLoop:
        """Start the threads; RuntimeError, with nothing started, if the system cannot create them."""
        loop = _new_loop()
        watching = threading.Thread(
            target=self._watch, args=(loop,), name="ltm-loop-watch", daemon=True
        )
        turning = threading.Thread(
            target=self._turn, args=(loop,), name="ltm-loop", daemon=True
        )
        try:
            watching.start()
            turning.start()
        except RuntimeError:
            self._over.set()
            self.lost = "a system without room for its thread"
            raise
        self._loop = loop
        self.thread = turning
        return loop

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._over.is_set():
            try:
                loop.run_forever()
            except BaseException:  # noqa: BLE001, S112 - of an unawaited task, or an interruption that came too late
                continue

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        last_look = stopwatch_seconds()
        while not self._over.wait(BEAT):
            now = stopwatch_seconds()
            previous_look = last_look
            last_look = now
            if self._turned.is_set():
                self._turned.clear()
                loop.call_soon_threadsafe(self._turned.set)
            else:
                self._blame(loop, now, now - previous_look)

    def _blame(
        self, loop: asyncio.AbstractEventLoop, now: float, seconds: float
    ) -> None:
        """Charge the conversation that blocks the loop, and interrupt it beyond its limit."""
        import asyncio

        task = asyncio.current_task(loop)
        calls = list(self._calls.values())
        holder = next(
            (share for share in [*calls, *list(_SHARES)] if task in share.tasks), None
        )
        self.stalled += seconds
        for share in calls:
            if share is not holder:
                share.over_at += seconds
        if holder is not None:
            holder.blocked += seconds
            self.blocked[holder.who] = self.blocked.get(holder.who, 0.0) + seconds
        if holder is not None:
            over_at = holder.over_at
        else:
            over_at = max((share.over_at for share in calls), default=math.inf)
        if now > over_at + UNBLOCK_SECONDS:
            self.lost = "something" if holder is None else holder.who
            self._over.set()
            loop.call_soon_threadsafe(loop.stop)  # if it ever comes back
            for future in list(self._calls):
                future.cancel()
        elif now > over_at and self.thread is not None:
            threads.throw_into(self.thread, threads.OutOfTime)


async def _limited(
    awaitable: Awaitable[Any],
    timeout: float | None,
    stalled: Callable[[], float] = float,
) -> tuple[Any, BaseException | None]:
    """Await a result or exception within a limit; `stalled`: seconds for which others blocked the loop."""
    import asyncio

    # asyncio.wait, not wait_for, which waits forever for a task that swallows its
    # cancellation.
    task: asyncio.Task[tuple[Any, BaseException | None]] = asyncio.ensure_future(
        _outcome(awaitable)
    )
    seconds_left: float | None = timeout
    try:
        while True:
            pauses = process_pauses()
            lag = stalled()
            done_tasks, _ = await asyncio.wait({task}, timeout=seconds_left)
            if done_tasks:
                return task.result()
            if paused_since(pauses):
                seconds_left = timeout
            elif (seconds_left := stalled() - lag) < BEAT:
                # Otherwise nothing could answer in the meantime.
                break
    finally:
        await _cancelled({task})
    raise threads.OutOfTime


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    # As a value, because asyncio throws a task's SystemExit or KeyboardInterrupt
    # through the loop, and once more into the next run that looks at the task.
    try:
        return await awaitable, None
    except GeneratorExit:  # it may come from freeing the coroutine
        raise
    except BaseException as error:  # noqa: BLE001 - skip() and fail() are not Exceptions; all end the body
        return None, error


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    import asyncio

    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=GRACE)


# The loops that had a thread; the last is in use, the earlier ones were lost.
_threaded: list[ThreadedLoop] = []
