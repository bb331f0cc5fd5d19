"""ForeignCaller: the one door to code that is not ours, of agents, judges and simulated users' models.

Every call has a time limit, and whatever goes wrong in it becomes one kind of error,
without secrets. A call that failed for a passing reason is made again, and what failed
attempts have used is added up. What is said in the thread of a conversation is kept for
its item (see `hub`); what is returned is checked by the functions at the end.
"""

from __future__ import annotations

import inspect
import os
import reprlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

from pytest_ltm._core.calls.event_loop import (
    LoopLost,
    LoopShare,
    lost_by,
    outside_any_loop,
)
from pytest_ltm._core.calls.hub import OutOfTime, own_thread, runs_in_hub_thread
from pytest_ltm._core.calls.retry import Failed, Retries, broken_off
from pytest_ltm._core.calls.time_limits import FORK_MESSAGE, copied, end_copy
from pytest_ltm._core.model.agent import Mishap, Reply, Usage
from pytest_ltm._core.storage.errors import (
    AgentFault,
    LtmError,
    describe_error,
    text_of,
)
from pytest_ltm._core.storage.secrets import redact_secrets

# Keys and attributes under which libraries return what a model said, the surest first.
NAMES = (
    "output_text",
    "final_output",
    "output",
    "choices",
    "messages",
    "message",
    "content",
    "text",
    "response",
    "reply",
    "answer",
    "result",
)
DEPTH = 4


def cure_reply(given: object) -> str:
    """Return what to return instead, as a sentence that follows another; "" if the text is nowhere to be seen."""
    if inspect.isasyncgen(given):
        return ". Return ''.join([part async for part in it])"
    if isinstance(given, Iterator):
        return ". Return ''.join(it)"
    if isinstance(given, bytes):
        return ". Return it.decode()"
    path = path_to_text(given)
    return f". Return its {path.removeprefix('.')}" if path else ""


def path_to_text(given: object) -> str:
    """Return where in a value a text is, such as `['messages'][-1].content`; "" if no known name leads to it."""
    found = find_text(given)
    return "" if found is None else found[0]


def find_text(given: object, depth: int = DEPTH) -> tuple[str, str] | None:
    """Return where in a value a text is, and the text; None if no known name leads to one."""
    if isinstance(given, str):
        return "", given
    if not depth:
        return None
    if isinstance(given, (list, tuple)):
        found = find_text(given[-1], depth - 1) if given else None
        return found and (f"[-1]{found[0]}", found[1])
    is_mapping = isinstance(given, Mapping)
    fields: Any = given if is_mapping else getattr(given, "__dict__", ())
    names = [name for name in NAMES if name in fields]
    if is_mapping and not names and len(fields) == 1:
        names = [name for name in fields if isinstance(name, str)]
    for name in names:
        try:
            value = fields[name] if is_mapping else getattr(given, name)
        except Exception:  # noqa: BLE001, S112 - an error message must not fail on what it reports
            continue
        found = find_text(value, depth - 1)
        if found is not None:
            step = f"[{name!r}]" if is_mapping else f".{name}"
            return step + found[0], found[1]
    return None


def text_of_reply(given: object) -> object:
    """Return the text of a reply object, such as a library's message; anything else as it is.

    A bare list of texts, bytes and iterators are not read: they may be parts of a
    reply, or none.
    """
    if given is None or isinstance(given, (str, bytes, Reply, Iterator)):
        return given
    if isinstance(given, (list, tuple)) and given and isinstance(given[-1], str):
        return given
    found = find_text(given)
    return given if found is None else found[1]


# For pytest: who reads of an agent's exception wants the agent's frames, not these.
__tracebackhide__ = True

T = TypeVar("T")
E = TypeVar("E", bound=LtmError)

# Of callers that never make another attempt, so nobody waits for what it draws.
_RNG = Random(0)


class ForeignCaller(Generic[E]):
    """Calls somebody's code; close it at the end.

    `who`: as messages call it. `error` makes the errors, from a text. `callee`: the
    agent or model that is called, whose wishes about threads and loops count. `timeout`
    is in seconds for each call (None: no limit). `fatal` exceptions pass through.
    `retries`: how passing faults are tried again (None: never); `retried` is told of
    each attempt that is followed by another. `count`: the tokens of a text, where an
    attempt used what nobody reports. `failing`: what an error says of a method that
    raised. `restorable`: whether a call that was interrupted leaves something that can
    go on. `placed`: errors say where their cause was raised, as nobody will see its
    traceback.
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
        restorable: bool = True,
        placed: bool = False,
    ) -> None:
        self.who, self.timeout = who, timeout
        self._error, self._fatal, self._count = error, fatal, count
        self._failing, self._restorable, self._placed = failing, restorable, placed
        self._retries = retries or Retries(most=0, rng=_RNG)
        self._retried = retried
        self._loop = LoopShare(who, callee)
        self.lost: Usage | None = None
        """What attempts of the last `persist` used that came to nothing."""

    def call(
        self,
        doing: str,
        function: Callable[..., Any],
        *arguments: object,
        **named: object,
    ) -> Any:
        """Return what a function, async or not, comes to; the error for anything that is thrown on the way.

        `doing`: what the error says of it, as in `could not be made`.
        """
        with self._translating(doing), outside_any_loop():
            return self._loop.call(self.timeout, partial(function, *arguments, **named))

    def call_method(
        self, callee: object, method: str, *arguments: object, **named: object
    ) -> Any:
        """Return what a method, async or not, comes to; the error for anything that is thrown on the way."""
        with self._translating(self._failing.format(method)), outside_any_loop():
            return self._loop.call(
                self.timeout, partial(getattr(callee, method), *arguments, **named)
            )

    def close(self) -> None:
        """Cancel what was left running."""
        with outside_any_loop():
            self._loop.close()

    @property
    def persists(self) -> bool:
        """Whether `persist` makes another attempt at all."""
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
        """Return what the attempt comes to, made again after passing faults; what failed ones used is then in `lost`.

        `anew`: whether the other side can be put back to where it was, which `ready`
        does before another attempt; else only a fault that says that nothing was taken
        is followed by one. `sent`: what was sent, to estimate what a failed one took
        where neither its error nor `used` knows.
        """
        self.lost, failures = None, list["Failed"]()

        def raised(error: BaseException) -> None:
            if not isinstance(error, LtmError):
                return
            known = (
                used()
                if error.usage is None
                else self.complete_usage(error.usage, sent, "")
            )
            if known is not None and (known.total or error.usage is not None):
                self.lost = known + self.lost
            elif error.interrupted or error.refused or broken_off(error):
                # Nobody reports it, and the other side may have taken the message: a
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

    def complete_usage(self, usage: Usage, sent: str, text: str) -> Usage:
        """Return a usage with estimates in place of what it says is not known."""
        if not usage.estimated:
            return usage
        return Usage(
            input_tokens=usage.input_tokens or self._count(sent),
            output_tokens=usage.output_tokens or self._count(text),
            cached_tokens=usage.cached_tokens,
            calls=usage.calls,
            estimated=True,
        )

    def refusal(self, text: str) -> E:
        """Return the error of a reply that came, cannot be used, and may be billed."""
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
        except OutOfTime as error:
            if self.timeout is None:  # a limit of the caller
                raise
            raise self.out_of_time(doing) from error
        except LoopLost as error:
            text = f"{self.who} got no answer: {error}"
            raise self._made(
                text, fatal=not self._restorable, interrupted=True
            ) from error
        except self._fatal:
            raise
        except AgentFault as fault:  # an adapter's own word
            who = self.who if "{}" in self._failing else f"{self.who} {self._failing}"
            own = self._made(
                f"{who}: {text_of(fault)}",
                fatal=fault.fatal,
                interrupted=fault.interrupted,
            )
            own.usage, own.refused = fault.usage, fault.refused
            raise own from fault
        except BaseException as error:
            self._pass_on(error)
            frames = traceback.extract_tb(error.__traceback__) if self._placed else []
            is_foreign = bool(frames) and not frames[-1].filename.startswith(_OURS)
            place = (
                f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
                if is_foreign
                else ""
            )
            raise self._made(
                f"{self.who} {doing}: {describe_error(error)}{place}{_cure(error)}"
            ) from error
        finally:
            end_copy(process)

    def _made(self, text: str, *, fatal: bool = False, interrupted: bool = False) -> E:
        error = self._error(text)
        error.fatal, error.interrupted = fatal, interrupted
        return error

    def out_of_time(self, doing: str) -> E:
        """Return the error of a call that was interrupted."""
        what = doing if doing.startswith("could not") else "did not return"
        if doing.endswith("()"):
            what += f" from {doing.rpartition(' in ')[2]}"
        cure = "If it may take longer, give --ltm-reply-timeout=SECONDS"
        if self._loop.blocks:
            cure = f"It blocks the event loop that all async agents share: {UNBLOCK}"
        limit = f"{self.who} {what} within {self.timeout or 0:g} s"
        return self._made(
            f"{limit}. {cure}.", fatal=not self._restorable, interrupted=True
        )

    def _pass_on(self, error: BaseException) -> None:
        """Raise what must pass if it came in a group: a task group packs whatever its tasks raise."""
        for part in (
            getattr(error, "exceptions", ()) if not isinstance(error, Exception) else ()
        ):
            if isinstance(part, self._fatal):
                raise part
            self._pass_on(part)


UNBLOCK = (
    "await what takes its time (an async client, asyncio.to_thread), or say own_loop = True on the agent, or give "
    "--ltm-agent-process"
)
_OURS = str(Path(__file__).parents[2])


def _cure(error: BaseException) -> str:
    """Return the way out of an error that comes of where code is called; else ""."""
    text = text_of(error) if isinstance(error, (RuntimeError, ValueError)) else ""
    # Code that only the main thread can run, such as signal handlers.
    if "main thread" in text and (runs_in_hub_thread() or own_thread() is not None):
        return ". Say main_thread = True on the agent: its conversations are then played alone, there"
    if not any(sign in text for sign in _OTHER_LOOP):
        return ""
    if who := lost_by():
        return f". {who} has blocked the event loop for good to which this belongs"
    return (
        f". A loop is run within the call, and what it shares with other conversations belongs to another. "
        f"{_awaitable(error)}: async agents share one loop; or give --ltm-concurrency=1"
    )


_OTHER_LOOP = ("different event loop", "different loop", "Event loop is closed")


def _awaitable(error: BaseException) -> str:
    """Return what to await in place of the synchronous method that runs a loop, found in the traceback by its name."""
    import inspect

    at = error.__traceback__
    while at is not None:
        frame, at = at.tb_frame, at.tb_next
        name, owner = (
            frame.f_code.co_name,
            frame.f_locals.get("self", frame.f_locals.get("cls")),
        )
        for twin in (
            name.removesuffix("_sync"),
            f"a{name}",
            f"{name}_async",
            f"async_{name}",
        ):
            if (
                twin != name
                and owner is not None
                and inspect.iscoroutinefunction(getattr(owner, twin, None))
            ):
                return f"Make reply async, and await {twin}() instead of {name}()"
    return "Make reply async, and await what runs the loop"


# --- What foreign code returned.

# The characters that a reply may have: nobody says more at once, and a fault that
# floods must not flood the record.
LONGEST_REPLY = 1_000_000


def check_text(given: object, refuse: Callable[[str], LtmError]) -> str:
    """Return an exact `str` without secrets that UTF-8 can hold; `refuse` makes the error for anything else."""
    if not isinstance(given, str):
        raise refuse(
            f"replied with {shown(given)}; a reply is a str or a pytest_ltm Reply{cure_reply(given)}"
        )
    text = str.__str__(given)
    if len(text) > LONGEST_REPLY:
        raise refuse(
            f"replied with {len(text):,} characters; a reply has at most {LONGEST_REPLY:,}"
        )
    return redact_secrets(
        text
        if text.isascii()
        else text.encode("utf-8", "backslashreplace").decode("utf-8")
    )


def check_reply(given: object, refuse: Callable[[str], LtmError]) -> Reply:
    """Return the reply with its usage and cost checked; a bare text becomes one."""
    if not isinstance(given, Reply):
        return Reply(check_text(given, refuse))
    cost = given.cost_usd
    if cost is not None and not is_amount(cost):
        raise refuse(f"replied with a cost of {shown(cost)}; it is a number of dollars")
    usage = None if given.usage is None else check_usage(given.usage, refuse)
    try:
        text = check_text(given.text, refuse)
    except LtmError as error:
        error.usage = usage
        raise
    # No reply is refused for what it wrongly reports of mishaps.
    reported: Any = given.mishaps
    mishaps = reported if isinstance(reported, tuple) else ()
    return Reply(
        text,
        usage,
        None if cost is None else float(cost),
        given.hypothetical is True,
        word_of(given.finish_reason),
        word_of(given.thoughts),
        tuple(one for one in mishaps if isinstance(one, Mishap)),
    )


def word_of(given: object) -> str:
    """Return a text beside the reply, as the record keeps it; "" for anything else: no reply is refused for it."""
    if not isinstance(given, str):
        return ""
    return redact_secrets(
        given[:LONGEST_REPLY].encode("utf-8", "backslashreplace").decode("utf-8")
    )


def check_usage(given: object, refuse: Callable[[str], LtmError]) -> Usage:
    """Return the usage if it is one of whole numbers."""
    if isinstance(given, Usage):
        counts = (
            given.input_tokens,
            given.output_tokens,
            given.cached_tokens,
            given.calls,
        )
        if all(is_count(count) for count in counts):
            return given
    raise refuse(f"reported {shown(given)} as usage; it is a Usage of whole numbers")


def check_texts(
    given: object, method: str, refuse: Callable[[str], LtmError]
) -> tuple[str, ...]:
    """Return the texts that a method returned."""
    if isinstance(given, (list, tuple)) and all(
        isinstance(text, str) for text in given
    ):
        return tuple(check_text(text, refuse) for text in given)
    raise refuse(f"returned {shown(given)}; {method}() returns a list of texts")


MOST_TOKENS, MOST_USD = 10**12, 10**9
"""Of one reply: a higher one is a mistake of the reporter, and one such figure would spoil every sum."""


def is_count(value: object) -> bool:
    """Return whether a value is a whole number of tokens or calls that can be."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and 0 <= value <= MOST_TOKENS
    )


def is_amount(value: object) -> bool:
    """Return whether a value is a number of dollars that can be."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value <= MOST_USD
    )


def shown(given: object) -> str:
    """Return a foreign value as an error shows it: short, with its type, whatever its `repr` does."""
    if given is None:
        return "None"
    name = type(given).__name__
    named = f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
    try:
        return f"{reprlib.repr(given)} ({named})"
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        return named
