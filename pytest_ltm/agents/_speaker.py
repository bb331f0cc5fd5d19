"""Speaker: talks to the agent of one conversation, and turns all that can go wrong into one kind of error."""

from __future__ import annotations

import inspect
import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_ltm._clock import stopwatch
from pytest_ltm._errors import AgentError, AgentFault, LtmInternalError, told
from pytest_ltm.agents._deadline import OutOfTime, call_within
from pytest_ltm.agents._given import is_count, reply_of, retrieved_of, shown, usage_of
from pytest_ltm.agents._loop import OwnLoop, outside_any_loop
from pytest_ltm.agents._powers import powers, takes
from pytest_ltm.agents._protocols import Agent, Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from pytest_ltm.agents._retry import Failed, Retries

__tracebackhide__ = True
"""For pytest: who reads of an agent's exception wants the agent's frames, not these."""

T = TypeVar("T")

MAX_MESSAGE_TOKENS = 4096
"""The size of the largest message to an agent that does not say how much it takes."""

SAVING = 1.0
"""Seconds that saving an agent may take in all, however fast the agent is."""

_CAN_BE_PUT_BACK = {"Stateless", "Checkpointable", "AcceptsHistory"}


class Speaker:
    """Talks to the agent of one conversation; close it at the end.

    `timeout` is in seconds for each call (None: no limit). `fatal` exceptions pass through, all others become
    AgentFault. `name` is what messages call the agent. `owned`: close the agent, too, at the end. `retries`: how
    passing faults are tried again (None: never); `retried` is told of each attempt that is followed by another.
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
    ) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise AgentError(f"a reply timeout is a positive number of seconds, not {timeout!r}")
        self.agent = agent
        self.powers = powers(agent)
        self.max_message_tokens = self._limit()
        self._timeout = timeout
        self._passing: tuple[type[BaseException], ...] = (*fatal, GeneratorExit)
        self._name = repr(name) if name else getattr(agent, "__name__", type(agent).__name__)
        self._owned = owned
        self._loop = OwnLoop()
        self._turn: Callable[[], AbstractContextManager[object]] = self._ours("_openai", "ltm_turn") or nullcontext
        """A turn at the provider, for chat models of ours: waiting for it is no time that the agent took."""
        self._announce = self._ours("_replay", "ltm_announce")
        self._retries, self._retried = retries, retried
        self._saved: bytes | None = None
        """The agent's state, where it is known and nothing was said since."""
        self._told_time: datetime | None = None
        self._saving = self._talking = 0.0
        """Seconds that its calls took."""

    def ask(self, message: str, images: Sequence[str] = ()) -> Reply:
        """Return the reply to a message, and to the images in these files; AgentFault if there is none."""
        before = self.usage()
        reply = self._persistently(lambda: self._reply(message, images))
        return reply if before is None or reply.usage is not None else replace(reply, usage=self._used_since(before))

    def tell(self, message: str, reply: str) -> None:
        """Tell an AcceptsHistory agent an exchange; AgentFault if it will not have it."""
        self._must("AcceptsHistory")
        self._persistently(lambda: self._call("accept", message, reply), saves=self.saves_cheaply)

    def save(self) -> bytes:
        """Return the state of a Checkpointable agent; AgentFault if it does not give it."""
        self._must("Checkpointable")
        began = stopwatch()
        state = self._call("save")
        self._saving += stopwatch() - began
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise AgentFault(f"agent {self._name} saved {shown(state)}; save() returns bytes")
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
        """Tell a TimeAware agent the time; nothing happens with any other."""
        if "TimeAware" in self.powers:
            self._told_time = now
            self._call("tell_time", now)

    def announce(self, example: str) -> None:
        """Tell a replaying agent of ours which example speaks next; no agent under test is ever told."""
        if self._announce is not None:
            self._announce(example)

    def usage(self) -> Usage | None:
        """Return what a ReportsUsage agent has used since it was made, None for any other."""
        if "ReportsUsage" not in self.powers:
            return None
        return usage_of(self._call("usage"), self._name)

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what a ShowsRetrieval agent retrieved for its last reply, None for any other."""
        if "ShowsRetrieval" not in self.powers:
            return None
        return retrieved_of(self._call("retrieved"), self._name)

    def close(self) -> str | None:
        """Close the agent (its `aclose` or `close`, if any) and its loop; return a notice if that failed."""
        try:
            closing, self._owned = self._owned, False
            if closing:
                self._close_agent()
        except AgentFault as fault:
            return str(fault)
        finally:
            with outside_any_loop():
                self._loop.close()
        return None

    def _close_agent(self) -> None:
        for name in ("aclose", "close"):
            if takes(getattr(self.agent, name, None), 0):
                self._call(name)
                return

    def _reply(self, message: str, images: Sequence[str] = ()) -> Reply:
        with self._turn():
            if images:
                given = self._call("reply_with_images", message, [Path(image).read_bytes() for image in images])
            else:
                given = self._call("reply", message)
        return reply_of(given, self._name)

    def _persistently(self, attempt: Callable[[], T], *, saves: bool = True) -> T:
        """Return what the attempt comes to, made again after passing faults, each time with the agent as it was.

        `saves`: the agent may be saved for that; else it is put back only if its state is known.
        """
        began = stopwatch() - self._saving
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

        anew = before is not None or "Stateless" in self.powers
        try:
            return self._retries.run(attempt, anew=anew, failed=failed, ready=ready)
        except AgentFault as fault:
            fault.args = (f"{fault}{self._retries.history(failures, fault)}",)
            raise

    def _state(self) -> bytes | None:
        """Return what puts the agent back to where it is; None where nothing needs to or can."""
        if "Checkpointable" not in self.powers or "Stateless" in self.powers:
            return None
        try:
            return self.save() if self._saved is None else self._saved
        except AgentFault:  # it will be told when it matters: what it replies is asked for first
            return None

    def _call(self, method: str, *arguments: object) -> Any:
        """Return what the agent's method comes to; AgentFault for anything that is thrown on the way."""
        try:
            with outside_any_loop():
                return self._limited(getattr(self.agent, method), arguments)
        except OutOfTime as error:
            if self._timeout is None:  # the limit of somebody further out
                raise
            raise self._late(method, self._timeout) from error
        except self._passing:
            raise
        except AgentFault as fault:  # an adapter's own word
            raise AgentFault(f"agent {self._name}: {fault}", fatal=fault.fatal) from fault
        except BaseException as error:
            self._pass_on(error)
            raise AgentFault(f"agent {self._name} raised in {method}(): {told(error)}") from error

    def _pass_on(self, error: BaseException) -> None:
        """Raise what must pass if it came in a group: a task group packs whatever its tasks raise."""
        for part in getattr(error, "exceptions", ()) if not isinstance(error, Exception) else ():
            if isinstance(part, self._passing):
                raise part
            self._pass_on(part)

    def _limited(self, method: Callable[..., Any], arguments: tuple[object, ...]) -> Any:
        value = call_within(self._timeout, lambda: method(*arguments))
        if isinstance(value, str) or not inspect.isawaitable(value):
            return value
        return self._loop.run(value, timeout=self._timeout)

    def _late(self, method: str, seconds: float) -> AgentFault:
        lost = not self.powers & _CAN_BE_PUT_BACK
        return AgentFault(
            f"agent {self._name} did not come back from {method}() within {seconds:g} s. If it may take "
            f"longer, give --ltm-reply-timeout=SECONDS.",
            fatal=lost,
            interrupted=True,
        )

    def _used_since(self, before: Usage) -> Usage | None:
        """Return what was used since then; None where the sum has become less, so that nobody can tell."""
        now = self.usage()
        if now is None:
            return None
        more = {name: getattr(now, name) - getattr(before, name) for name in Usage.__slots__}
        return Usage(**more) if min(more.values()) >= 0 else None

    def _ours(self, module: str, method: str) -> Any:
        """Return a method that agents in a module of ours have for us alone; None for any other agent."""
        ours = type(self.agent).__module__ == f"pytest_ltm.agents.{module}"
        return getattr(self.agent, method, None) if ours else None

    def _limit(self) -> int:
        if "LimitsMessages" not in self.powers:
            return MAX_MESSAGE_TOKENS
        limit = cast(Any, self.agent).max_message_tokens
        if not is_count(limit) or limit < 1:
            raise AgentError(
                f"agent {type(self.agent).__name__}: max_message_tokens is a positive whole number, not {limit!r}"
            )
        return int(limit)

    def _must(self, power: str) -> None:
        if power not in self.powers:
            raise LtmInternalError(f"agent {self._name} was used as {power}, which it is not")
