"""ForeignCaller: calls foreign code of agents, judges and simulated users' models.

Every call has a time limit, and every failure in it becomes one kind of error, without
secrets. A call that failed temporarily is retried, and the usage of failed attempts is
summed up. Output in the thread of a conversation is captured for its item; results and
exceptions pass through the airlock.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

from pytest_ltm._core.calls.airlock import (
    Admit,
    Gate,
    Refusal,
    drop,
    hand_over,
    look,
    settle_error,
)
from pytest_ltm._core.calls.conversation_thread import (
    OutOfTime,
    own_thread,
    runs_in_own_thread,
)
from pytest_ltm._core.calls.event_loop import (
    LoopLost,
    LoopShare,
    lost_by,
    outside_any_loop,
)
from pytest_ltm._core.calls.retry import Failed, Retries, broken_off
from pytest_ltm._core.calls.time_limits import FORK_MESSAGE, copied, end_copy
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.storage.errors import (
    AgentFault,
    LtmError,
    cure_for,
    describe_error,
    line_of_error,
    text_of,
)

# For pytest: readers of an agent's exception want the agent's frames, not these.
__tracebackhide__ = True

T = TypeVar("T")
E = TypeVar("E", bound=LtmError)

# Unused: these callers never retry.
_RNG = Random(0)


class ForeignCaller(Generic[E]):
    """Calls foreign code; must be closed at the end.

    `who`: the name used in messages. `error` creates the errors from a text. `callee`:
    the agent or model, whose settings about threads and loops apply. `timeout`: seconds
    for each call (None: no limit). `fatal`: exceptions that pass through. `retries`:
    how transient faults are retried (None: never); `retried` is called for each attempt
    that is retried. `count`: the tokens of a text, used if an attempt reports no usage.
    `failing`: the error text for a method that raised. `placed`: errors include where
    their cause was raised, because its traceback is not shown.
    """

    def __init__(
        self,
        who: str,
        *,
        error: Callable[[str], E],
        callee: object = None,
        timeout: float | None = None,
        fatal: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
        retries: Retries | None = None,
        retried: Callable[[Failed], object] = lambda _: None,
        count: Callable[[str], int] = len,
        failing: str = "raised in {}()",
        placed: bool = False,
    ) -> None:
        self.who = who
        self.timeout = timeout
        self._error = error
        self._fatal = fatal
        self._count = count
        self._failing = failing
        self._placed = placed
        self.restorable = True
        """Whether an interrupted call leaves a usable state."""
        self._retries = retries or Retries(most=0, rng=_RNG)
        self._retried = retried
        self._loop = LoopShare(who, callee)
        self.lost: Usage | None = None
        """The usage of failed attempts in the last `persist`."""

    def call(
        self,
        doing: str,
        function: Callable[..., Any],
        *arguments: object,
        admit: Admit = hand_over,
        **keywords: object,
    ) -> Any:
        """Call a sync or async function and return its result; any exception becomes `error`.

        `doing`: the error's verb phrase, as in `could not be made`. `admit`: converts
        the result, within the same limit.
        """
        return self._enter(doing, partial(function, *arguments, **keywords), admit)

    def call_method(
        self,
        callee: object,
        method: str,
        *arguments: object,
        admit: Admit = drop,
        **keywords: object,
    ) -> Any:
        """Call a sync or async method and return its result; any exception becomes `error`."""

        def call() -> object:
            return getattr(callee, method)(*arguments, **keywords)

        return self._enter(self._failing.format(method), call, admit)

    def examine(
        self, doing: str, function: Callable[..., Any], *arguments: object
    ) -> Any:
        """Return the result of our own function on a foreign object; the function's LtmErrors pass unchanged."""
        return self._enter(doing, partial(_examined, function, *arguments), hand_over)

    def _enter(self, doing: str, function: Callable[[], object], admit: Admit) -> Any:
        gate = Gate(admit, lambda text: Refusal(self.refusal(text)), self._fatal)
        with self._translating(doing), outside_any_loop():
            return self._loop.call(self.timeout, function, gate)

    def close(self) -> None:
        """Cancel the remaining tasks."""
        with outside_any_loop():
            self._loop.close()

    @property
    def persists(self) -> bool:
        """Whether `persist` retries at all."""
        return self._retries.most > 0

    def persist(
        self,
        attempt: Callable[[], T],
        *,
        sent: str,
        anew: bool = True,
        ready: Callable[[], None] = lambda: None,
        used: Callable[[], Usage | None] = lambda: None,
    ) -> T:
        """Make an attempt, retry it after transient faults, and return its result; `lost` has the failed ones' usage.

        `anew`: whether the other side can be restored by `ready` before a retry;
        otherwise only a fault that says that nothing was taken is retried. `sent`: the
        text that was sent, to estimate the usage of a failed attempt if neither its
        error nor `used` reports it.
        """
        self.lost = None
        failures = list["Failed"]()

        def raised(error: BaseException) -> None:
            if not isinstance(error, LtmError):
                return
            if error.usage is None:
                usage = used()
            else:
                usage = self.complete_usage(error.usage, sent, "")
            if usage is not None and (usage.total or error.usage is not None):
                self.lost = usage + self.lost
            elif error.interrupted or error.refused or broken_off(error):
                # It is not reported, and the other side may have taken the message: a
                # bill is estimated, never 0.
                self.lost = (
                    Usage(input_tokens=self._count(sent), estimated=True) + self.lost
                )

        def failed(failure: Failed) -> None:
            failures.append(failure)
            self._retried(failure)

        try:
            return self._retries.run(
                attempt, anew=anew, failed=failed, ready=ready, raised=raised
            )
        except LtmError as error:
            error.args = (f"{error}{self._retries.history(failures, error)}",)
            error.passing = self._retries.may_pass(error)
            raise

    def complete_usage(self, usage: Usage, message: str, text: str) -> Usage:
        """Return a usage with estimates in place of unknown figures."""
        if not usage.estimated:
            return usage
        return Usage(
            input_tokens=usage.input_tokens or self._count(message),
            output_tokens=usage.output_tokens or self._count(text),
            cached_tokens=usage.cached_tokens,
            calls=usage.calls,
            estimated=True,
        )

    def refusal(self, text: str) -> E:
        """Return the error for a reply that arrived and cannot be used, but may be billed."""
        error = self._error(f"{self.who} {text}")
        error.refused = True
        return error

    @contextmanager
    def _translating(self, doing: str) -> Iterator[None]:
        if copied():
            raise self._made(f"{self.who}: {FORK_MESSAGE}", fatal=True)
        process = os.getpid()
        try:
            yield
        except Refusal as refusal:
            raise refusal.error from refusal.error.__cause__
        except OutOfTime as error:
            # The exception that was being handled at the timeout was not settled.
            error.__context__ = error.__cause__ = None
            if self.timeout is None:  # a limit of the caller
                raise
            raise self.out_of_time(doing) from error
        except LoopLost as error:
            text = f"{self.who} got no answer: {error}"
            raise self._made(
                text, fatal=not self.restorable, interrupted=True
            ) from error
        except self._fatal:
            raise
        except AgentFault as fault:  # an adapter's own fault
            subject = (
                self.who if "{}" in self._failing else f"{self.who} {self._failing}"
            )
            translated = self._made(
                f"{subject}: {text_of(fault)}",
                fatal=fault.fatal,
                interrupted=fault.interrupted,
            )
            translated.usage = fault.usage
            translated.refused = fault.refused
            translated.account = fault.account
            translated.leak = fault.leak
            raise translated from fault
        except BaseException as error:
            self._pass_on(error)
            place = line_of_error(error, (_OURS,)) if self._placed else ""
            raise self._made(
                f"{self.who} {doing}: {describe_error(error)}{place}{_cure(error)}"
            ) from error
        finally:
            end_copy(process)

    def _made(self, text: str, *, fatal: bool = False, interrupted: bool = False) -> E:
        error = self._error(text)
        error.fatal = fatal
        error.interrupted = interrupted
        return error

    def out_of_time(self, doing: str) -> E:
        """Return the error of a call that was interrupted."""
        outcome = doing if doing.startswith("could not") else "did not return"
        if doing.endswith("()"):
            outcome += f" from {doing.rpartition(' in ')[2]}"
        cure = "If it may take longer, give --ltm-reply-timeout=SECONDS"
        if self._loop.blocks:
            cure = f"It blocks the event loop that all async agents share: {UNBLOCK}"
        limit = f"{self.who} {outcome} within {self.timeout or 0:g} s"
        return self._made(
            f"{limit}. {cure}.", fatal=not self.restorable, interrupted=True
        )

    def _pass_on(self, error: BaseException) -> None:
        """Raise a fatal exception found in a group: a task group packs the exceptions of its tasks."""
        for part in getattr(error, "exceptions", ()):
            if isinstance(part, self._fatal):
                raise part
            self._pass_on(part)


def _examined(function: Callable[..., Any], *arguments: object) -> Any:
    try:
        return function(*arguments)
    except LtmError as error:
        settled = settle_error(error)
    raise Refusal(settled) if isinstance(settled, LtmError) else settled


UNBLOCK = (
    "await what takes its time (an async client, asyncio.to_thread), or say own_loop = True on the agent, or give "
    "--ltm-agent-process"
)
_OURS = str(Path(__file__).parents[2])


def _cure(error: BaseException) -> str:
    """Return a cure for an error caused by where the code is called; else ""."""
    text = text_of(error) if isinstance(error, (RuntimeError, ValueError)) else ""
    # Code that works only in the main thread, such as signal handlers.
    if "main thread" in text and (runs_in_own_thread() or own_thread() is not None):
        return ". Say main_thread = True on the agent: its conversations are then played alone, there"
    if not any(sign in text for sign in _OTHER_LOOP):
        return cure_for(error)
    if blocker := lost_by():
        return f". {blocker} has permanently blocked the event loop that this uses"
    return (
        f". The call runs a loop of its own, but what it shares with other conversations belongs to another loop. "
        f"{_awaitable(error)}: async agents share one loop; or give --ltm-concurrency=1"
    )


def _is_coroutine_method(owner: object, name: str) -> bool:
    return inspect.iscoroutinefunction(getattr(owner, name, None))


_OTHER_LOOP = ("different event loop", "different loop", "Event loop is closed")


def _awaitable(error: BaseException) -> str:
    """Return the async counterpart of the sync method that runs a loop, found by name in the traceback."""
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        traceback = traceback.tb_next
        name = frame.f_code.co_name
        owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
        for twin in (
            name.removesuffix("_sync"),
            f"a{name}",
            f"{name}_async",
            f"async_{name}",
        ):
            if (
                twin != name
                and owner is not None
                and look(partial(_is_coroutine_method, owner, twin), default=False)
            ):
                return f"Make reply async, and await {twin}() instead of {name}()"
    return "Make reply async, and await what runs the loop"
