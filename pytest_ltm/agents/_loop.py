"""The event loop that one conversation has for itself, whatever loop the thread is in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pytest_ltm.agents._deadline import OutOfTime, call_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

GRACE = 0.5
"""Seconds that a cancelled reply has for putting things in order."""

_UNSTOPPABLE: list[asyncio.Task[Any]] = []
# Kept, because freeing a coroutine that catches everything in a loop would run that loop once more, for ever.


class outside_any_loop:  # noqa: N801 - used as a function; a class, because every call of an agent is inside one
    """Let the code inside run a loop (`asyncio.run` too) though this thread may be in one already.

    "The running loop" and, since Python 3.14, "the current task" are notes that asyncio keeps for the thread.
    A notebook, pytest-asyncio or anyio may have left theirs there, and asyncio then refuses to run any other
    loop, although ours runs to its end before theirs goes on. So the notes are taken away and put back.
    """

    __slots__ = ("_loop", "_task")

    def __enter__(self) -> None:
        self._loop = asyncio._get_running_loop()  # noqa: SLF001 - documented for loops and their tests
        if self._loop is not None:
            self._task = _swap_task(self._loop, None)
            asyncio._set_running_loop(None)  # noqa: SLF001 - as above

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            asyncio._set_running_loop(self._loop)  # noqa: SLF001 - as above
            _swap_task(self._loop, self._task)


_swap_task: Callable[[Any, Any], Any] = getattr(asyncio.tasks, "_swap_current_task", lambda _loop, _task: None)
"""Of Python >= 3.12."""


class OwnLoop:
    """An event loop, made when it is first needed; close it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, awaitable: Awaitable[Any], *, timeout: float | None) -> Any:
        """Return what the awaitable comes to; OutOfTime after `timeout` seconds (None: no limit).

        Must be called `outside_any_loop`. A coroutine that blocks the loop instead of awaiting is interrupted
        a little later than one that awaits, and only where `can_interrupt`.
        """
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        main = loop.create_task(_limited(awaitable, timeout))
        try:
            late = None if timeout is None else timeout + 2 * GRACE
            value, error = call_within(late, lambda: loop.run_until_complete(main))
        except BaseException:
            main.cancel()
            raise
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Cancel what the agent left running and close the loop; nothing happens the second time."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            tasks = asyncio.all_tasks(loop)
            loop.run_until_complete(_cancelled(tasks))
            _UNSTOPPABLE.extend(task for task in tasks if not task.done())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


async def _limited(awaitable: Awaitable[Any], timeout: float | None) -> tuple[Any, BaseException | None]:
    # asyncio.wait, not wait_for: that one waits for ever for a task that swallows its cancellation.
    task = asyncio.ensure_future(_outcome(awaitable))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if done:
            return task.result()
    finally:
        await _cancelled({task})
    raise OutOfTime


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    # As a value, because asyncio throws a task's SystemExit or KeyboardInterrupt through the loop, and once
    # more at whoever looks at the task in the next run.
    try:
        return await awaitable, None
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again outside the loop
        return None, error


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=GRACE)
