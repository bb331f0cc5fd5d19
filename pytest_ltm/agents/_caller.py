"""Speaker: talks to the agent of one conversation, and turns all that can go wrong into one kind of error."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # the module `signal` makes an enum of every number
import inspect
import math
import mmap
import os
import reprlib
import signal
import sys
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import structs

from pytest_ltm._calls.hub import IGNORED, OutOfTime, allow, elsewhere, own_thread, watched, woken_by
from pytest_ltm._calls.retry import broken_off
from pytest_ltm._engine.port import cannot_be_put_back
from pytest_ltm._model.agent import Agent, Announced, Apart, Reply, TakesTurns, Usage
from pytest_ltm._model.tokens import APPROX, counter
from pytest_ltm._storage.clock import can_interrupt, paused_since, pauses, stopwatch
from pytest_ltm._storage.errors import AgentError, AgentFault, LtmInternalError, told
from pytest_ltm._storage.secrets import redacted
from pytest_ltm.agents._capabilities import capabilities, is_prompted, takes, takes_user, whose

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from datetime import datetime
    from types import FrameType

    from pytest_ltm._calls.retry import Failed, Retries
    from pytest_ltm._model.agent import ExpectedReply


LONGEST_REPLY = 1_000_000
"""The characters that a reply may have: nobody says more at once, and a fault that floods must not flood the record."""


def text_of(given: object, who: str) -> str:
    """Return an exact `str` without secrets that UTF-8 can hold; `who`: the agent, as messages begin."""
    if not isinstance(given, str):
        raise _refused(f"{who} replied with {shown(given)}; a reply is a str or a pytest_ltm Reply")
    text = str.__str__(given)
    if len(text) > LONGEST_REPLY:
        raise _refused(f"{who} replied with {len(text):,} characters; a reply has at most {LONGEST_REPLY:,}")
    return redacted(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _refused(text: str) -> AgentFault:
    """Return the fault of a reply that came, and that somebody may bill."""
    fault = AgentFault(text)
    fault.refused = True
    return fault


def reply_of(given: object, who: str) -> Reply:
    """Return the reply with its usage and cost checked; a bare text becomes one."""
    if not isinstance(given, Reply):
        return Reply(text_of(given, who))
    cost = given.cost_usd
    if cost is not None and not is_amount(cost):
        raise _refused(f"{who} replied with a cost of {shown(cost)}; it is a number of dollars")
    usage = None if given.usage is None else usage_of(given.usage, who)
    try:
        text = text_of(given.text, who)
    except AgentFault as fault:
        fault.usage = usage
        raise
    return Reply(text, usage, None if cost is None else float(cost), given.hypothetical is True)


def usage_of(given: object, who: str) -> Usage:
    """Return the usage if it is one of whole numbers."""
    if isinstance(given, Usage):
        counts = (given.input_tokens, given.output_tokens, given.cached_tokens, given.calls)
        if all(is_count(count) for count in counts):
            return given
    raise _refused(f"{who} reported {shown(given)} as usage; it is a Usage of whole numbers")


def texts_of(given: object, who: str, method: str) -> tuple[str, ...]:
    """Return the texts that a method of an agent returned; AgentFault if it returned something else."""
    if isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given):
        return tuple(text_of(one, who) for one in given)
    raise AgentFault(f"{who} returned {shown(given)}; {method}() returns a list of texts")


def _elsewhere(error: BaseException) -> str:
    """Return what helps code that only the main thread can run, such as signal handlers; else ""."""
    needs_it = (watched() or own_thread() is not None) and "main thread" in str(error)
    return ". Say main_thread = True on the agent: its conversations are then played alone, there" if needs_it else ""


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_amount(value: object) -> bool:
    """Return whether a value is a number of dollars."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def shown(given: object) -> str:
    """Return a foreign value as an error shows it: short, with its type, whatever its `repr` does."""
    if given is None:
        return "None"
    try:
        return f"{reprlib.repr(given)} (a {type(given).__name__})"
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        return f"a {type(given).__name__}"


# --- A time limit for one synchronous call.

"""For pytest: who reads of an agent's exception wants the agent's frames, not these."""

REPEAT = 0.25
"""Seconds after which a call that swallowed the first interruption is interrupted again, and so on."""
_SOON = 0.02
"""Seconds between the end of a limit and the interruption."""
PATIENCE = 3.0
"""Seconds that it has at least, from the first one on, to put things in order."""
when_hung: list[Callable[[], object]] = []
"""What the last of these does ends the process of a call that goes on beyond that; where there is none, it goes on."""


def call_within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return `call()`, or raise OutOfTime in the middle of it after so many seconds; None: no limit.

    Where `can_interrupt` is false there is no limit either: an adapter must keep its own. Code that waits in C
    without looking at signals is interrupted when it comes back. Whatever SIGALRM handler and timer were there
    before (pytest-timeout's, an outer limit's) are kept, also in time, and restored. After a pause of this process or
    its machine the limit starts anew.
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
        # Again, because the signal may arrive in the very first instruction of the other one.
        alarm.clear()
        _ALARMS.remove(alarm)


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """Return `call()` as `call_within` does, made in the conversation's own thread where it has one."""
    return call_within(seconds, call) if own_thread() is None else elsewhere(call, seconds)


@contextmanager
def limits_aside() -> Iterator[None]:
    """Take down all limits of the caller, and set them up again with what was left of them."""
    alarms = [(alarm, alarm.left) for alarm in _ALARMS]
    for alarm, _ in reversed(alarms):
        alarm.clear()
    _ALARMS.clear()
    try:
        yield
    finally:
        for alarm, left in alarms:
            _ALARMS.append(alarm)
            alarm.set()
            alarm.left = left


@contextmanager
def unlimited() -> Iterator[None]:
    """Let the limit of the caller stand still: what is done meanwhile has limits of its own."""
    alarm = _ALARMS[-1] if _ALARMS and can_interrupt() else None
    if alarm is None:
        yield
        return
    left = alarm.left
    alarm.left = math.inf
    try:
        yield
    finally:
        alarm.left = left


def lift() -> None:
    """End all limits that run: a person looks at what is going on."""
    for alarm in _ALARMS:
        alarm.left = math.inf


def _timer(seconds: float, repeat: float = 0.0) -> tuple[float, float]:
    """Set the process's real-time timer, and return how it was; never on Windows, see `can_interrupt`."""
    if sys.platform == "win32":
        raise NotImplementedError
    return signal.setitimer(signal.ITIMER_REAL, seconds, repeat)


def _rings(handler: Any) -> Any:
    """Have this called when the timer rings, and return what was before."""
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
        self._pauses = pauses()

    def set(self) -> None:
        outer_in, self._outer_repeat = _timer(0)
        self._at = stopwatch() + self._seconds
        if outer_in:
            self._outer_at = stopwatch() + outer_in
        self._is_set = True
        self._handler = _rings(self._ring)
        self._start()

    def clear(self) -> None:
        if not self._is_set:
            return
        _timer(0)
        _rings(self._handler)
        self._is_set = False
        if self._outer_at < math.inf:
            _timer(max(self._outer_at - stopwatch(), 1e-4), self._outer_repeat)

    @property
    def left(self) -> float:
        """The seconds that are left; inf: there is no limit."""
        return self._at - stopwatch()

    @left.setter
    def left(self, seconds: float) -> None:
        self._at = stopwatch() + seconds
        self._start()

    @property
    def came_late(self) -> bool:
        """Whether the limit was over, and the call came back before it could be interrupted."""
        return self._is_up and not self._rings and self._at <= stopwatch() and not paused_since(self._pauses)

    def _start(self) -> None:
        soonest = min(self._at, self._outer_at) - stopwatch()
        _timer(max(soonest, 1e-4) if soonest < math.inf else 0, REPEAT)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._outer_at <= stopwatch() and callable(self._handler):
            self._outer_at = stopwatch() + self._outer_repeat if self._outer_repeat else math.inf
            self._start()
            self._handler(number, frame)
        if self._at > stopwatch():
            return
        if not self._is_up:  # of signals that come at once SIGALRM is handled before SIGCONT, which may give more time
            self._is_up = True
            _timer(_SOON, REPEAT)
        elif paused_since(self._pauses):
            self._at = stopwatch() + (0 if self._rings else self._seconds)
            self._rings, self._is_up, self._pauses = 0, False, pauses()
            self._start()
        else:
            self._rings += 1
            if self._rings > IGNORED and stopwatch() >= self._at + PATIENCE and when_hung:
                when_hung[-1]()
            raise OutOfTime


_ALARMS: list[_Alarm] = []
"""Those that run, the innermost last."""


# --- What foreign code may leave behind in the process.

_OURS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


def undisturbed(call: Callable[..., T], *arguments: object) -> T:
    """Return `call(*arguments)`; the recursion limit is as high afterwards, and signals end us as before."""
    limit, handlers = sys.getrecursionlimit(), [_signal.getsignal(number) for number in _OURS]
    try:
        return call(*arguments)
    finally:
        if sys.getrecursionlimit() < limit:
            sys.setrecursionlimit(limit)
        for number, handler in zip(_OURS, handlers, strict=True):
            # None: not Python's to set. Elsewhere than in the main thread nobody could have changed it.
            if handler is not None and _signal.getsignal(number) is not handler and can_interrupt():
                _signal.signal(number, handler)


# --- Copies: an agent that forks must not come back twice, each with the rest of the run before it.

_COPIED = mmap.mmap(-1, 1)
"""Shared with all copies of this process: 1 once one of them has come back."""
UNMEASURABLE = 75


def end_copy(process: int) -> None:
    """End this process at once if it is not that one, but a copy that foreign code has made of it."""
    if os.getpid() != process:
        _COPIED[0] = 1
        os._exit(UNMEASURABLE)


def copied() -> bool:
    """Return whether a copy came back since this was last asked."""
    found = _COPIED[0] == 1
    _COPIED[0] = 0
    return found


# --- The event loop that one conversation has for itself, whatever loop the thread is in.

GRACE = 0.5
"""Seconds that a cancelled reply has for putting things in order."""

_UNSTOPPABLE: list[asyncio.Task[Any]] = []
# Kept, because freeing a coroutine that catches everything in a loop would run that loop once more, for ever.


class outside_any_loop:  # noqa: N801 - used as a function; a class, because every call of an agent is inside one
    """Let the code inside run a loop (`asyncio.run` too) though this thread may be in one already.

    "The running loop" and, since Python 3.14, "the current task" are notes that asyncio keeps for the thread.
    A notebook, pytest-asyncio or anyio may have left theirs there, and asyncio then refuses to run any other
    loop, although ours runs to its end before theirs goes on. So the notes are taken away and restored.
    """

    __slots__ = ("_loop", "_task")

    def __enter__(self) -> None:
        given: Any = sys.modules.get("asyncio")  # until somebody has imported it no loop runs
        self._loop = given and given._get_running_loop()  # noqa: SLF001 - documented for loops and their tests
        if self._loop is not None:
            self._task = _swap_task(self._loop, None)
            given._set_running_loop(None)  # noqa: SLF001 - as above

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            sys.modules["asyncio"]._set_running_loop(self._loop)  # noqa: SLF001 - as above
            _swap_task(self._loop, self._task)


def _swap_task(loop: object, task: object) -> Any:
    """Let the loop have this current task, and return the one it had; nothing happens below Python 3.12."""
    swap = getattr(sys.modules["asyncio"].tasks, "_swap_current_task", None)
    return swap and swap(loop, task)


class OwnLoop:
    """An event loop, made when it is first needed; close it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, awaitable: Awaitable[Any], *, timeout: float | None) -> Any:
        """Return what the awaitable comes to; OutOfTime after `timeout` seconds (None: no limit).

        Must be called `outside_any_loop`. A coroutine that blocks the loop instead of awaiting is interrupted
        a little later than one that awaits, and only where `can_interrupt`.
        """
        import asyncio  # here and below: most agents are not asynchronous, and it takes long to import

        if self._loop is None or self._loop.is_running():  # in a thread that never came back
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        main = loop.create_task(_limited(awaitable, timeout))
        try:
            late = None if timeout is None else timeout + 2 * GRACE
            allow(late)
            with woken_by(lambda: loop.call_soon_threadsafe(bool)):
                value, error = call_within(late, lambda: undisturbed(loop.run_until_complete, main))
        except BaseException:
            main.cancel()
            raise
        if error is not None:
            raise error
        return value

    def call(self, timeout: float | None, function: Callable[..., Any], *arguments: object) -> Any:
        """Return what a function returns, or what an awaitable that it returns comes to; OutOfTime as in `run`.

        In the conversation's own thread where it has one.
        """
        if own_thread() is None:
            return self._called(timeout, function, *arguments)
        return elsewhere(lambda: self._called(timeout, function, *arguments), timeout)

    def _called(self, timeout: float | None, function: Callable[..., Any], *arguments: object) -> Any:
        allow(timeout)
        value = call_within(timeout, lambda: undisturbed(function, *arguments))
        awaited = not isinstance(value, str) and inspect.isawaitable(value)
        return self.run(value, timeout=timeout) if awaited else value

    def close(self) -> None:
        """Cancel what the agent left running and close the loop; nothing happens the second time."""
        loop, self._loop = self._loop, None
        if loop is None or loop.is_running():  # in a thread that never came back
            return
        import asyncio

        try:
            tasks = asyncio.all_tasks(loop)
            try:
                loop.run_until_complete(_cancelled(tasks))
            finally:
                _UNSTOPPABLE.extend(task for task in tasks if not task.done())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


async def _limited(awaitable: Awaitable[Any], timeout: float | None) -> tuple[Any, BaseException | None]:
    import asyncio

    # asyncio.wait, not wait_for: that one waits for ever for a task that swallows its cancellation.
    task = asyncio.ensure_future(_outcome(awaitable))
    try:
        while True:
            before = pauses()
            done, _ = await asyncio.wait({task}, timeout=timeout)
            if done:
                return task.result()
            if not paused_since(before):
                break
    finally:
        await _cancelled({task})
    raise OutOfTime


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    # As a value, because asyncio throws a task's SystemExit or KeyboardInterrupt through the loop, and once
    # more at whoever looks at the task in the next run.
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


__tracebackhide__ = True
"""For pytest: who reads of an agent's exception wants the agent's frames, not these."""

T = TypeVar("T")

MAX_MESSAGE_TOKENS = 4096
"""The size of the largest message to an agent that does not say how much it takes."""

COPY = "it has forked: a copy of this process came back from a call, and was ended. Let a copy end in the agent"

SAVING = 1.0
"""Seconds that saving an agent may take in all, however fast the agent is."""


class AgentCaller:
    """Talks to the agent of one conversation; close it at the end.

    `timeout` is in seconds for each call (None: no limit). `fatal` exceptions pass through, all others become
    AgentFault. `name` is what messages call the agent. `owned`: close the agent, too, at the end. `retries`: how
    passing faults are tried again (None: never); `retried` is told of each attempt that is followed by another.
    `count`: the tokens of a text, where an attempt used what nobody reports.
    What the agent says comes out without secrets, so that record and score agree.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        timeout: float | None,
        fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
        name: str = "",
        owned: bool = True,
        retries: Retries | None = None,
        retried: Callable[[Failed], object] = lambda _: None,
        count: Callable[[str], int] | None = None,
    ) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise AgentError(f"a reply timeout is a positive number of seconds, not {timeout!r}")
        self.agent = agent
        self.capabilities = capabilities(agent)
        self._announced = agent if isinstance(agent, Announced) else None
        self._takes_turns = agent if isinstance(agent, TakesTurns) else None
        self._apart = agent if isinstance(agent, Apart) else None
        self.max_message_tokens = self._limit()
        self._timeout = timeout
        self._passing = fatal
        self._name = repr(name) if name else getattr(agent, "__name__", type(agent).__name__)
        self._who = f"agent {self._name}"
        self._owned = owned
        self._loop = OwnLoop()
        self._retries, self._retried = retries, retried
        self._count = counter(APPROX).count if count is None else count
        self.lost: Usage | None = None
        """What attempts that came to nothing have used, in the last call of `ask` or `tell`."""
        self._saved: bytes | None = None
        """The agent's state, where it is known and nothing was said since."""
        self._told_time: datetime | None = None
        self._saving = self._talking = 0.0
        """Seconds that its calls took."""

    def ask(self, message: str, images: Sequence[str] = (), user: str = "") -> Reply:
        """Return the reply to a message of this user, and to the images in these files; AgentFault if there is none."""
        return self._persistently(lambda: self._metered(message, lambda: self._reply(message, images, user)))

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an AcceptsHistory agent an exchange of this user; AgentFault if it will not have it.

        Returns what that took as a reply without a text.
        """
        self._must("AcceptsHistory")
        if user and not takes_user(getattr(self.agent, "accept", None)):
            raise AgentFault(f"{self._who} cannot be told whose message it was: its accept() has no parameter `user`")
        told = self._persistently(
            lambda: self._metered(f"{message}\n{reply}", lambda: self._accepted(message, reply, user)),
            saves=self.saves_cheaply,
        )
        # An agent that reports its usage and used nothing is as one that reports none: nothing is to be recorded.
        return replace(told, usage=None) if told.usage is not None and not told.usage.total else told

    def save(self) -> bytes:
        """Return the state of a Checkpointable agent; AgentFault if it does not give it."""
        self._must("Checkpointable")
        began = stopwatch()
        state = self._call("save")
        self._saving += stopwatch() - began
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise AgentFault(f"{self._who} saved {shown(state)}; save() returns bytes")
        self._saved = bytes(state)
        return self._saved

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving has taken less time than talking so far, or next to none."""
        return self._saving <= self._talking + SAVING

    def load(self, state: bytes) -> None:
        """Put a Checkpointable agent back to what `save` returned; AgentFault if it will not go."""
        self._must("Checkpointable")
        self._call("load", state)
        self._saved = state

    def tell_time(self, now: datetime) -> None:
        """Tell a TimeAware agent the time, and the process of one that has its own; nothing happens with any other."""
        if self._apart is not None:
            self._apart.note_time(now)
        if "TimeAware" in self.capabilities:
            self._told_time = now
            self._call("tell_time", now)

    def announce(self, example: str) -> None:
        """Tell a recording which example speaks next; no agent under test is ever told."""
        if self._announced is not None:
            self._announced.announce(example)

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Hand a control what full marks ask for; no agent under test is ever prompted."""
        if is_prompted(self.agent):
            self.agent.prompt(prompts)

    def usage(self) -> Usage | None:
        """Return what a ReportsUsage agent has used since it was made, None for any other."""
        if "ReportsUsage" not in self.capabilities:
            return None
        return usage_of(self._call("usage"), self._who)

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what a ShowsRetrieval agent retrieved for its last reply, None for any other."""
        if "ShowsRetrieval" not in self.capabilities:
            return None
        return texts_of(self._call("retrieved"), self._who, "retrieved")

    def in_context(self) -> tuple[str, ...]:
        """Return what stood before a ShowsContext agent for its last reply without being retrieved."""
        if "ShowsContext" not in self.capabilities:
            return ()
        return texts_of(self._call("in_context"), self._who, "in_context")

    def close(self) -> str | None:
        """Close the agent (its `aclose` or `close`, if any) and its loop; return a notice if that failed."""
        try:
            closing, self._owned = self._owned, False
            if closing:
                self._close_agent()
        except AgentFault as fault:
            return str(fault)
        finally:
            with outside_any_loop(), suppress(OutOfTime):
                within(None if self._timeout is None else self._timeout + 2 * GRACE, self._loop.close)
        return f"{self._who}: {COPY}" if copied() else None

    def _close_agent(self) -> None:
        for name in ("aclose", "close"):
            if takes(getattr(self.agent, name, None), 0):
                self._call(name)
                return

    def _reply(self, message: str, images: Sequence[str] = (), user: str = "") -> Reply:
        if self._takes_turns is None or own_thread() is None:
            return self._replied(message, images, user)
        try:
            return elsewhere(lambda: self._replied(message, images, user))
        except OutOfTime as error:
            raise self._late("reply", self._timeout or 0.0) from error

    def _replied(self, message: str, images: Sequence[str], user: str) -> Reply:
        with nullcontext() if self._takes_turns is None else self._takes_turns.turn():
            if images:
                given = self._call("reply_with_images", message, [Path(image).read_bytes() for image in images])
            else:
                given = self._call("reply", message, **whose(user))
        return reply_of(given, self._who)

    def _accepted(self, message: str, reply: str, user: str = "") -> Reply:
        given = self._call("accept", message, reply, **whose(user))
        if isinstance(given, Usage):
            return Reply("", usage_of(given, self._who))
        told = replace(reply_of(given, self._who), text="") if isinstance(given, Reply) else Reply("")
        # Nothing is made up of an adapter's server that reports nothing on what it was told.
        return replace(told, usage=None) if told.usage is not None and not told.usage.total else told

    def _metered(self, sent: str, attempt: Callable[[], Reply]) -> Reply:
        """Return the reply with what it used; of an attempt that comes to nothing that is kept apart."""
        before = self.usage()
        try:
            reply = attempt()
        except AgentFault as fault:
            lost = self._lost(fault, before, sent)
            if lost is not None:
                self.lost = lost + self.lost
            raise
        if reply.usage is not None:
            return replace(reply, usage=self._completed(reply.usage, sent, reply.text))
        return reply if before is None else replace(reply, usage=self._used_since(before))

    def _completed(self, usage: Usage, sent: str, said: str) -> Usage:
        """Return a usage with estimates in place of what an adapter says that it does not know."""
        if not usage.estimated:
            return usage
        return structs.replace(
            usage,
            input_tokens=usage.input_tokens or self._count(sent),
            output_tokens=usage.output_tokens or self._count(said),
        )

    def _lost(self, fault: AgentFault, before: Usage | None, sent: str) -> Usage | None:
        """Return what a failed attempt used: as reported, else estimated where it may have been taken."""
        if fault.usage is not None:
            return self._completed(cast("Usage", fault.usage), sent, "")
        with suppress(AgentFault):
            more = None if before is None else self._used_since(before)
            if more is not None and more.total:
                return more
        if not (fault.interrupted or fault.refused or broken_off(fault)):
            return None
        return Usage(input_tokens=self._count(sent), estimated=True)

    def _persistently(self, attempt: Callable[[], T], *, saves: bool = True) -> T:
        """Return what the attempt comes to, made again after passing faults, each time with the agent as it was.

        `saves`: the agent may be saved for that; otherwise it is restored only if its state is known.
        """
        began = stopwatch() - self._saving
        self.lost = None
        try:
            return self._again_and_again(attempt, saves=saves)
        finally:
            self._talking += stopwatch() - self._saving - began

    def _again_and_again(self, attempt: Callable[[], T], *, saves: bool) -> T:
        if self._retries is None or not self._retries.most:
            return attempt()
        before, self._saved = self._state() if saves else self._saved, None
        failures: list[Failed] = []

        def failed(one: Failed) -> None:
            failures.append(one)
            self._retried(one)

        def ready() -> None:
            if before is not None:
                self._call("load", before)
                if self._told_time is not None:
                    self._call("tell_time", self._told_time)

        anew = before is not None or "Stateless" in self.capabilities
        try:
            return self._retries.run(attempt, anew=anew, failed=failed, ready=ready)
        except AgentFault as fault:
            fault.args = (f"{fault}{self._retries.history(failures, fault)}",)
            raise

    def _state(self) -> bytes | None:
        """Return what puts the agent back to where it is; None where nothing needs to or can."""
        if "Checkpointable" not in self.capabilities or "Stateless" in self.capabilities:
            return None
        try:
            return self.save() if self._saved is None else self._saved
        except AgentFault:  # it will be told when it matters: what it replies is asked for first
            return None

    def _call(self, method: str, *arguments: object, **named: object) -> Any:
        """Return what the agent's method comes to; AgentFault for anything that is thrown on the way."""
        if copied():
            raise AgentFault(f"{self._who}: {COPY}", fatal=True)
        process = os.getpid()
        try:
            with outside_any_loop():
                return self._loop.call(self._timeout, partial(getattr(self.agent, method), *arguments, **named))
        except OutOfTime as error:
            if self._timeout is None:  # a limit of the caller
                raise
            raise self._late(method, self._timeout) from error
        except self._passing:
            raise
        except AgentFault as fault:  # an adapter's own word
            own = AgentFault(f"{self._who}: {fault}", fatal=fault.fatal, interrupted=fault.interrupted)
            own.usage, own.refused = fault.usage, fault.refused
            raise own from fault
        except BaseException as error:
            self._pass_on(error)
            raise AgentFault(f"{self._who} raised in {method}(): {told(error)}{_elsewhere(error)}") from error
        finally:
            end_copy(process)

    def _pass_on(self, error: BaseException) -> None:
        """Raise what must pass if it came in a group: a task group packs whatever its tasks raise."""
        for part in getattr(error, "exceptions", ()) if not isinstance(error, Exception) else ():
            if isinstance(part, self._passing):
                raise part
            self._pass_on(part)

    def _late(self, method: str, seconds: float) -> AgentFault:
        lost = bool(cannot_be_put_back(self.capabilities))
        return AgentFault(
            f"{self._who} did not return from {method}() within {seconds:g} s. If it may take "
            f"longer, give --ltm-reply-timeout=SECONDS.",
            fatal=lost,
            interrupted=True,
        )

    def _used_since(self, before: Usage) -> Usage | None:
        """Return what was used since then; None where the sum has decreased, so that it is unknown."""
        now = self.usage()
        if now is None:
            return None
        more = now - before
        return more if min(more.input_tokens, more.output_tokens, more.cached_tokens, more.calls) >= 0 else None

    def _limit(self) -> int:
        if "LimitsMessages" not in self.capabilities:
            return MAX_MESSAGE_TOKENS
        limit = cast("Any", self.agent).max_message_tokens
        if not is_count(limit) or limit < 1:
            raise AgentError(
                f"agent {type(self.agent).__name__}: max_message_tokens is a positive whole number, not {limit!r}"
            )
        return int(limit)

    def _must(self, capability: str) -> None:
        if capability not in self.capabilities:
            raise LtmInternalError(f"{self._who} was used as {capability}, which it is not")
