"""The event loop that the async code of agents, judges and users' models shares in this process.

What lives at module level (a client, a lock, a pool of connections) belongs to the
first loop that uses it, so there is one. Where one conversation is played at a time the
loop turns in the thread that asks, while that one waits. Where several are
(`share_in_thread`), it has a thread of its own, and all of an async agent happens
there: what is made there, such as a database's connection, may be used there.
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

# For pytest: who reads of an agent's exception wants the agent's frames, not these.
__tracebackhide__ = True

# Seconds that a cancelled reply has for putting things in order.
GRACE = 0.5
# Seconds between two looks at whether the loop turns.
BEAT = 0.1
# Seconds that code which keeps the loop from turning has for coming back once it was
# interrupted.
UNBLOCK_SECONDS = 3.0

_UNSTOPPABLE: list[asyncio.Task[Any]] = []
# Kept, because freeing a coroutine that catches everything in a loop would run that
# loop once more, for ever. Whose task runs: what a task starts inherits it.
_SHARE: ContextVar[LoopShare | None] = ContextVar("_SHARE", default=None)


class LoopLost(Exception):
    """Somebody keeps the event loop from turning, and does not come back."""


class outside_any_loop:  # noqa: N801 - used as a function; a class, because every call of an agent is inside one
    """Let the code inside run a loop (`asyncio.run` too) though this thread may be in one already.

    "The running loop" and, since Python 3.14, "the current task" are notes that asyncio
    keeps for the thread. A notebook, pytest-asyncio or anyio may have left theirs
    there, and asyncio then refuses to run any other loop, although ours runs to its end
    before theirs goes on. So the notes are taken away and restored.
    """

    __slots__ = ("_loop", "_task")

    def __enter__(self) -> None:
        # until somebody has imported it, and whole, no loop runs here
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
    """Let the loop have this current task, and return the one it had; nothing happens below Python 3.12."""
    swap = getattr(sys.modules["asyncio"].tasks, "_swap_current_task", None)
    return swap and swap(loop, task)


def is_async(agent: object) -> bool:
    """Return whether an agent, a judge, or the class or function of one says that its replies must be awaited."""
    parts = (agent, read_attribute(agent, "reply"), read_attribute(agent, "assess"))
    awaited: bool = look(
        lambda: any(map(inspect.iscoroutinefunction, parts)), default=False
    )
    return awaited


def shares_loop(agent: object) -> bool:
    """Return whether an agent is awaited in the loop that all share."""
    return is_async(agent) and not any(
        read_flag(agent, name) for name in ("own_loop", "main_thread")
    )


def has_thread() -> bool:
    """Return whether the shared loop has a thread of its own, and this is another one."""
    return bool(_threaded) and threading.current_thread() is not _threaded[-1].thread


_SHARES: WeakSet[LoopShare] = WeakSet()


class LoopShare:
    """What one conversation does with the event loop: its calls, its tasks, its context variables; close it.

    `who`: as messages call it. `agent`: who is called; one that says `own_loop = True`
    gets a loop of its own, and one that says `main_thread = True` is awaited where it
    is called.
    """

    def __init__(self, owner: str = "an agent", agent: object = None) -> None:
        self.who = owner
        self._has_own = read_flag(agent, "own_loop")
        self._stays = self._has_own or read_flag(agent, "main_thread")
        self._is_async = is_async(agent)
        self._own: asyncio.AbstractEventLoop | None = None
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self.over_at = 0.0
        """When what it still does keeps others waiting: the end of the limit of its call, or shortly after the call."""
        self.blocked = 0.0
        """Seconds for which it has kept the shared loop from turning."""
        self.blocks = False
        """Whether its last call did so for most of its time."""
        _SHARES.add(self)

    def call(
        self, timeout: float | None, function: Callable[[], object], gate: Gate
    ) -> Any:
        """Return what a function returns, or the result of an awaitable that it returns, by a gate.

        OutOfTime after `timeout` seconds. In the conversation's own thread where it has
        one. Must be called `outside_any_loop`.
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
        """Return the awaitable's result; OutOfTime after `timeout` seconds (None: no limit).

        A coroutine that blocks the loop instead of awaiting is interrupted a little
        later than one that awaits.
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
        """Cancel what the agent left running, in the conversation's own thread; nothing happens the second time."""
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
                # one that runs is in a thread that never came back
                loop.run_until_complete(_cancelled(tasks_left))
                loop.run_until_complete(loop.shutdown_asyncgens())
            elif tasks_left:
                self.run(_cancelled(tasks_left), timeout=2 * GRACE)
        except (LoopLost, threads.OutOfTime):  # who does not end by then is left
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
        # the thread may be another by now
        context.run(threads.SAYING.set, threads.SAYING.get())
        context.run(_SHARE.set, self)
        threads.set_call_limit(math.inf)  # the loop keeps the limit
        _HERE.context = None  # if this fails somebody may still be in it
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
        """Return a loop that turns in this thread: its own, or that of all who wait here."""
        if self._has_own or threads.runs_in_own_thread():
            # a thread of one conversation ends with it
            if self._own is None or self._own.is_running():
                self._own = _new_loop()
            return self._own
        loops: list[asyncio.AbstractEventLoop] = _HERE.__dict__.setdefault("loops", [])
        # one that runs waits for what is called within it
        idle = [loop for loop in loops if not loop.is_running()]
        if not idle:
            loops.append(_new_loop())
        return idle[0] if idle else loops[-1]


_REPLACING = threading.Lock()
# `loops` that turn in a thread while somebody waits there; the first is the one that
# all share. `context`: that of the thread's conversation where it calls in the loop's
# thread.
_HERE = threading.local()


def _new_loop() -> asyncio.AbstractEventLoop:
    import asyncio  # here and below: most agents are not asynchronous, and it takes long to import

    def make_task(
        loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **more)
        # Whose task it is decides who is charged when it blocks the loop, and whose
        # close() cancels it.
        if share := _SHARE.get():
            share.tasks.add(task)
        return task

    loop = asyncio.new_event_loop()
    loop.set_task_factory(make_task)
    _LOOPS.add(loop)
    return loop


_LOOPS: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


# --- Where several conversations are played at once.


def share_in_thread() -> None:
    """Let the shared loop have a thread of its own from now on, which starts when it is first needed."""
    if not _threaded:
        _threaded.append(ThreadedLoop({}))


def lost_by() -> str:
    """Return who made the shared loop useless, if anybody did."""
    return next((threaded.lost for threaded in _threaded if threaded.lost), "")


def blocked_seconds() -> dict[str, float]:
    """Return for how long each has kept the loop from turning where conversations are played at once."""
    return _threaded[-1].blocked if _threaded else {}


@atexit.register
def close_loops() -> None:
    """End all loops: at the end of the run."""
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
    """The shared loop in a thread of its own, which never holds up the end of the process.

    Another thread looks whether it turns. While one conversation keeps it from turning
    the time of the others stands still; one that does so beyond its own limit is
    interrupted, and if that does not help the loop is given up.
    """

    def __init__(self, blocked: dict[str, float]) -> None:
        self.blocked = blocked
        self.stalled = 0.0
        """Seconds for which it did not turn, so far."""
        self.lost = ""
        """Who made it useless."""
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
        """Return the result of the awaitable that `begin` makes; waits in the thread that calls."""
        import asyncio

        with self._starting:  # several conversations may be the first
            loop = self._loop or self._start()
        began = stopwatch_seconds()
        blocked = share.blocked
        share.over_at = math.inf if timeout is None else began + timeout + 2 * GRACE
        # In a copy, because the loop's thread may enter the context before this one has
        # left it.
        limited = _limited(
            carry_into_loop(begin)(), timeout, lambda: self.stalled - share.blocked
        )
        future = context.copy().run(asyncio.run_coroutine_threadsafe, limited, loop)
        self._calls[future] = share
        try:
            with threads.woken_by(future.cancel):
                result: tuple[Any, BaseException | None] = future.result()
                return result
        except CancelledError:  # by whoever interrupts this thread, or gave up the loop
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
        """Cancel what is left, and end the threads."""
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
        """Start the threads; RuntimeError, and nothing has begun, where the system has no room for them."""
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
            except BaseException:  # noqa: BLE001, S112 - of a task nobody waits for, or an interruption that came too late
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
        """The loop does not turn: charge the one that keeps it, and interrupt it beyond its limit."""
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
    """Return the awaitable's result, or what it raises; `stalled`: seconds for which others held up the loop."""
    import asyncio

    # asyncio.wait, not wait_for: that one waits for ever for a task that swallows its
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
                # else nobody could answer meanwhile
                break
    finally:
        await _cancelled({task})
    raise threads.OutOfTime


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    # As a value, because asyncio throws a task's SystemExit or KeyboardInterrupt
    # through the loop, and once more at whoever looks at the task in the next run.
    try:
        return await awaitable, None
    except GeneratorExit:  # it may come from whoever frees the coroutine
        raise
    except BaseException as error:  # noqa: BLE001 - skip() and fail() are no Exceptions; all end the body
        return None, error


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    import asyncio

    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=GRACE)


# The loops that had a thread; the last is the one that is used, those before it were
# lost.
_threaded: list[ThreadedLoop] = []
