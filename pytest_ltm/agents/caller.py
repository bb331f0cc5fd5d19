"""AgentCaller: calls the agent of one conversation, and turns every failure into one kind of error."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ltm.agents.answers import (
    check_bytes,
    check_reply,
    check_texts,
    check_usage,
    check_written,
)
from pytest_ltm.agents.capabilities import (
    capabilities_of,
    closing_method,
    is_prompted,
    takes_user,
    user_arguments,
)
from pytest_ltm.agents.logged_errors import LoggedErrors
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.api.calls import (
    FORK_MESSAGE,
    Failed,
    ForeignCaller,
    OutOfTime,
    Refuse,
    Retries,
    call_in_own_thread,
    class_name,
    copied,
    exact_scalar,
    inherits,
    is_count,
    is_of_package,
    look,
    own_thread,
    read_attribute,
    read_flag,
    shown,
)
from pytest_ltm.api.model import (
    APPROX,
    RAW,
    SCORED,
    Agent,
    Announced,
    Apart,
    Capabilities,
    ExpectedReply,
    MemoryOperation,
    Mishap,
    Reading,
    Reply,
    TakesTurns,
    Tools,
    Usage,
    account_of,
    add_mishaps,
    token_counter,
)
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DatasetError,
    LtmInternalError,
    TransientFault,
    read_image,
    stopwatch_seconds,
)

# pytest hides these frames, so that a traceback ends in the agent's code.
__tracebackhide__ = True

# The largest message, in tokens, for an agent that declares no limit.
MAX_MESSAGE_TOKENS = 4096
# Seconds that saving an agent may take in all, however fast the agent is; none are left
# to an agent of ours, which is told again faster than it is saved.
SAVING = 0.1
# Share of the telling time that saving may take if the exchanges since can be replayed:
# then a kill loses about as little as saving would have cost.
SAVING_SHARE = 1 / 16
# Size of a state, in bytes, above which it is not kept in memory: the exchanges are
# replayed instead.
VAST = 2**23


class _ToldExchange(NamedTuple):
    """An exchange that an agent was told."""

    message: str
    reply: str
    user: str
    at: datetime | None
    """The time that the agent was told before it, if it is TimeAware."""


_TAKEN = Reply("")
"""The result of telling an agent that reports no usage."""

_NO_REPLY = {
    "broken off": "broke off its reply (finish_reason {!r})",
    "kept back": "kept its reply back (finish_reason {!r})",
    "asked for a tool": "called a tool instead of replying (finish_reason {!r})",
    "nothing said": "said nothing: its reply has only thoughts, calls of tools, marks or white space",
}


class AgentCaller:
    """Calls the agent of one conversation; close it at the end.

    `timeout`: seconds for each call (None: no limit). `fatal`: exceptions that pass
    through; all others become AgentFault. `name`: the agent's name in messages.
    `owned`: whether closing this also closes the agent. `retries`: how transient faults
    are retried (None: never); `retried` is called with each attempt that is followed by
    another. `count`: counts the tokens of a text, for attempts whose usage is not
    reported. `reading`: the part of a reply that is read, which decides whether a reply
    is empty. `placed`: errors name the line of the agent's code, for callers that show
    no traceback. Secrets are redacted from everything that the agent returns, so that
    record and score agree.
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
        reading: Reading = RAW,
        placed: bool = False,
    ) -> None:
        if timeout is not None and not 0 < timeout < math.inf:
            raise AgentError(
                f"a reply timeout is a positive number of seconds, not {timeout!r}"
            )
        self.agent = agent
        self._owned = owned
        self._door = ForeignCaller(
            f"agent {name!r}" if name else f"agent {_name_of(agent)}",
            error=AgentFault,
            callee=agent,
            timeout=timeout,
            fatal=fatal,
            retries=retries,
            retried=retried,
            count=token_counter(APPROX).count if count is None else count,
            placed=placed,
        )
        self.capabilities: Capabilities = self._door.examine(
            "could not be examined", capabilities_of, agent
        )
        self._door.restorable = self.capabilities.restorable
        self._announced = agent if inherits(agent, Announced) else None  # type: ignore[type-abstract]
        self._takes_turns = agent if inherits(agent, TakesTurns) else None  # type: ignore[type-abstract]
        self._apart = agent if inherits(agent, Apart) else None  # type: ignore[type-abstract]
        self.max_message_tokens = self._limit()
        self._is_embedded = is_of_package(type(agent)) and read_flag(agent, "embedded")
        self._call = partial(self._door.call_method, agent)
        self._reading = reading
        self._errors = LoggedErrors()
        self._saved: bytes | None = None
        """The agent's last known state, or None; since then it was told `_told_since`, and nothing else."""
        self._told_since: list[_ToldExchange] = []
        self._state_bytes = 0
        """The bytes of its last state and of what it was told since."""
        self._told_time: datetime | None = None
        self._knows_time = False
        """Whether the last time that the agent was told is still valid."""
        self._saving = self._talking = 0.0
        """Seconds that its calls took."""

    @property
    def lost(self) -> Usage | None:
        """What failed attempts used, in the last call of `ask` or `tell`."""
        return self._door.lost

    def ask(
        self,
        message: str,
        images: Sequence[str] = (),
        user: str = "",
        *,
        alone: bool = False,
        tools: Tools | None = None,
    ) -> Reply:
        """Return the reply to this user's message and images (files).

        Raises AgentFault if there is none.

        `alone`: the question leaves no trace, if the agent is AnswersAlone. `tools`:
        the tools that a TakesTools agent may call before it replies.
        """
        leaves_no_trace = alone and "AnswersAlone" in self.capabilities
        attempt = partial(self._reply, message, images, user, alone=leaves_no_trace)
        if tools is not None:
            attempt = partial(self._reply_with_tools, message, user, tools)
        if self._takes_turns is not None and own_thread() is not None:
            attempt = partial(self._in_own_thread, attempt)
        return self._persist(attempt, message, leaves_no_trace=leaves_no_trace)

    def compact(self) -> Reply:
        """Make a Compacts agent compact; return its summary, "" if it shows none."""
        self._must("Compacts")

        def attempt() -> Reply:
            summary: Reply = self._call("compact", admit=check_summary)
            return summary

        return self._persist(attempt, "")

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an AcceptsHistory agent an exchange of this user; AgentFault if the agent fails.

        Returns the usage and cost as a reply without a text.
        """
        self._must("AcceptsHistory")
        if self.is_told_directly and not user:
            return self._tell_embedded(message, reply)
        if user and not self._examine(lambda: takes_user(self.agent.accept)):  # type: ignore[attr-defined]
            raise AgentFault(
                f"{self._door.who} cannot take the user of a message: its accept() has no parameter `user`"
            )
        # An estimate: saving just to measure the size would defeat the purpose.
        self._state_bytes += len(message) + len(reply)
        exchange = _ToldExchange(message, reply, user, self._told_time)
        result = self._persist(
            partial(self._accept, exchange), f"{message}\n{reply}", exchange=exchange
        )
        # A reported usage of zero counts as none, so that none is recorded.
        return _without_zero(result)

    def _tell_embedded(self, message: str, reply: str) -> Reply:
        """Tell an agent of ours, whose code needs no protection and reports nothing."""
        began = stopwatch_seconds()
        self._door.lost = None
        self._state_bytes += len(message) + len(reply)
        self._note_state(None)
        self.agent.accept(message, reply)  # type: ignore[attr-defined]
        self._talking += stopwatch_seconds() - began
        return _TAKEN

    def save(self, keep: Callable[[bytes], object] = lambda _: None) -> bytes:
        """Return the state of a Checkpointable agent; AgentFault if saving fails.

        `keep` stores the state; the time that it takes counts as saving.
        """
        self._must("Checkpointable")
        # Measured in time, not in bytes: a small state may take long to create.
        began = stopwatch_seconds()
        state: bytes = self._call("save", admit=check_bytes)
        keep(state)
        self._saving += stopwatch_seconds() - began
        self._note_state(state)
        self._state_bytes = len(state)
        return state

    @property
    def is_told_directly(self) -> bool:
        """Whether an embedded agent is told in this thread, as no other conversation waits."""
        return self._is_embedded and own_thread() is None

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving takes little of the time for talking, or almost none, and the state is not too large."""
        allowed = self._talking
        if self.capabilities.rewinds:
            allowed *= SAVING_SHARE
        if not self.is_told_directly:
            allowed += SAVING
        return self._saving <= allowed and self._state_bytes <= VAST

    @property
    def _can_tell_again(self) -> bool:
        """Whether a small saved state exists from which the exchanges since can be replayed."""
        return self.capabilities.rewinds and self._state_bytes <= VAST

    def reset(self) -> None:
        """Make a Resettable agent forget everything; AgentFault if it fails."""
        self._must("Resettable")
        self._knows_time = False
        self._call("reset")
        self._note_state(None)

    def load(self, state: bytes) -> None:
        """Restore a Checkpointable agent to a state that `save` returned; AgentFault if it fails."""
        self._must("Checkpointable")
        self._knows_time = False
        self._call("load", state)
        self._note_state(state)

    def tell_time(self, now: datetime) -> None:
        """Tell a TimeAware agent the time if it has changed, and the agent's own process, if it has one."""
        if self._apart is not None:
            self._apart.note_time(now)
        if "TimeAware" not in self.capabilities:
            return
        # a stateless agent may serve other conversations in between, at other times
        is_shared = "Stateless" in self.capabilities
        if is_shared or not self._knows_time or now != self._told_time:
            self._told_time = now
            self._call("tell_time", now)
            self._knows_time = True

    def announce(self, example: str) -> None:
        """Announce to a recording which example speaks next; no agent under test is ever told."""
        if self._announced is not None:
            self._announced.announce(example)

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Hand a control the replies that would earn full marks; no agent under test is ever prompted."""
        if is_prompted(self.agent):
            self.agent.prompt(prompts)

    def usage(self) -> Usage | None:
        """Return the total usage of a ReportsUsage agent, None for any other."""
        if "ReportsUsage" not in self.capabilities:
            return None
        usage: Usage = self._call("usage", admit=check_usage)
        return usage

    def retrieved(self) -> tuple[str, ...] | None:
        """Return the texts that a ShowsRetrieval agent retrieved for its last reply, None for any other."""
        if "ShowsRetrieval" not in self.capabilities:
            return None
        return self._texts("retrieved")

    def in_context(self) -> tuple[str, ...]:
        """Return the non-retrieved part of a ShowsContext agent's context at its last reply."""
        if "ShowsContext" not in self.capabilities:
            return ()
        return self._texts("in_context")

    def _texts(self, method: str) -> tuple[str, ...]:
        texts: tuple[str, ...] = self._call(
            method, admit=partial(check_texts, method=method)
        )
        return texts

    def settle(self) -> None:
        """Wait until a Settles agent's memory of what it was told is searchable."""
        if "Settles" in self.capabilities:
            self._call("settle")

    def written(self) -> tuple[MemoryOperation, ...]:
        """Return the memory operations of a ShowsWrites agent since the last call, none for any other."""
        if "ShowsWrites" not in self.capabilities:
            return ()
        operations: tuple[MemoryOperation, ...] = self._call(
            "written", admit=check_written
        )
        return operations

    def delete(self, record: str) -> None:
        """Make a DeletesRecords agent delete a record of its memory."""
        self._must("DeletesRecords")
        self._call("delete", record)

    def close(self) -> str | None:
        """Close the agent (its `aclose` or `close`, if any) and its loop; return a notice if that failed."""
        try:
            # Closed only once: a second close may raise.
            closing = self._owned
            self._owned = False
            if closing and (name := self._examine(partial(closing_method, self.agent))):
                self._call(name)
        except AgentFault as fault:
            return str(fault)
        finally:
            self._door.close()
        if copied():
            return f"{self._door.who}: {FORK_MESSAGE}"
        return None

    def _in_own_thread(self, attempt: Callable[[], Reply]) -> Reply:
        """Make a whole attempt in the conversation's thread.

        There, waiting for a turn blocks no other conversation.
        """
        try:
            return call_in_own_thread(attempt)
        except OutOfTime as error:
            raise self._door.out_of_time("raised in reply()") from error

    def _reply(
        self, message: str, images: Sequence[str], user: str, *, alone: bool
    ) -> Reply:
        with nullcontext() if self._takes_turns is None else self._takes_turns.turn():
            if alone:
                reply: Reply = self._call("answer_alone", message, admit=check_reply)
            elif images:
                try:
                    contents = [read_image(Path(image)) for image in images]
                except DatasetError as error:  # it was an image when the run began
                    raise AgentFault(str(error), fatal=True) from error
                reply = self._call(
                    "reply_with_images", message, contents, admit=check_reply
                )
            else:
                reply = self._call(
                    "reply", message, admit=check_reply, **self._whose("reply", user)
                )
        return self._check_account(reply)

    def _reply_with_tools(self, message: str, user: str, tools: Tools) -> Reply:
        """Return the reply that comes after the last tool call, with the usage of all turns."""
        self._must("TakesTools")
        tools.begin()
        turns: list[Reply] = []
        with nullcontext() if self._takes_turns is None else self._takes_turns.turn():
            while not turns or turns[-1].calls:
                reply: Reply = self._call(
                    "reply",
                    message,
                    admit=check_reply,
                    tools=tools,
                    **self._whose("reply", user),
                )
                turns.append(self._check_account(reply, offered=True))
                tools.answer(reply.calls)
        tools.note_changes()
        return join_turns(turns)

    def _whose(self, method: str, user: str) -> dict[str, Any]:
        """Return the arguments that tell a method of the agent the user of a message."""
        if not user:
            return {}
        scope = Scope(user=user, at=self._told_time)
        arguments: dict[str, Any] = look(
            lambda: user_arguments(getattr(self.agent, method), scope), {}
        )
        return arguments

    def _check_account(self, reply: Reply, *, offered: bool = False) -> Reply:
        """Return a usable reply.

        Raises AgentFault for one that was cut off, filtered, or empty except for
        thoughts or calls.

        A plain empty text is silence, which is scored.
        """
        outcome = account_of(
            reply.text,
            reply.finish_reason,
            thoughts=reply.thoughts,
            calls=len(reply.calls) if offered or not reply.text else 0,
            offered=offered,
            says=self._reading.says_something,
        )
        is_silence = not (reply.text or reply.thoughts or outcome.reason or reply.calls)
        if outcome.account in SCORED or is_silence:
            return reply
        fault = self._door.refusal(_NO_REPLY[outcome.account].format(outcome.reason))
        fault.usage = reply.usage
        fault.account = outcome.account
        cause = TransientFault(str(fault), taken=True) if outcome.passing else None
        raise fault from cause

    def _accept(self, exchange: _ToldExchange) -> Reply:
        result: Reply = self._call(
            "accept",
            exchange.message,
            exchange.reply,
            admit=check_taking,
            **self._whose("accept", exchange.user),
        )
        # A server that reports zero usage for an exchange is not replaced by an
        # estimate.
        return _without_zero(result)

    def _persist(
        self,
        attempt: Callable[[], Reply],
        message: str,
        *,
        exchange: _ToldExchange | None = None,
        leaves_no_trace: bool = False,
    ) -> Reply:
        """Return the attempt's result with its usage; retry after transient faults, with the agent restored.

        `exchange`: the one that the attempt tells; the agent is then saved only if
        saving is cheap, and restored only if a state is known. `leaves_no_trace`: the
        agent need not be restored.
        """
        began = stopwatch_seconds() - self._saving
        usage_before = self.usage()
        state = None
        told_since: list[_ToldExchange] = []
        if self._door.persists and not leaves_no_trace:
            state = self._state() if exchange is None else self._state_before_telling()
            # From here on the known state is outdated, whether or not the attempt
            # succeeds.
            told_since = self._told_since
            self._note_state(None)

        def restore() -> None:
            nonlocal usage_before
            if state is not None:
                self._call("load", state)
                self._tell_again(told_since)
                if self._told_time is not None:
                    self._call("tell_time", self._told_time)
            usage_before = self.usage()

        def used() -> Usage | None:
            with suppress(AgentFault):
                if usage_before is None:
                    return None
                return self._used_since(usage_before)
            return None

        try:
            anew = (
                leaves_no_trace or state is not None or "Stateless" in self.capabilities
            )
            with self._errors.collected():
                reply = self._door.persist(
                    attempt, sent=message, anew=anew, ready=restore, used=used
                )
            if exchange is not None and state is not None and self._can_tell_again:
                told_since.append(exchange)
                self._note_state(state, told_since)
            if logged := self._errors.take():
                reply = replace(reply, mishaps=reply.mishaps + logged)
            return self._add_usage(reply, message, usage_before)
        except AgentFault:
            # the agent may run in a new process, which does not know the time
            self._knows_time = False
            raise
        finally:
            self._talking += stopwatch_seconds() - self._saving - began

    def _add_usage(
        self, reply: Reply, message: str, usage_before: Usage | None
    ) -> Reply:
        """Return a reply with its usage: reported and completed, or counted by the agent since `usage_before`."""
        if reply.usage is not None:
            usage = self._door.complete_usage(reply.usage, message, reply.text)
            return replace(reply, usage=usage)
        if usage_before is None:
            return reply
        return replace(reply, usage=self._used_since(usage_before))

    def _state(self) -> bytes | None:
        """Return the agent's current state; None if it has no state worth saving, or saving fails."""
        if not self.capabilities.saves:
            return None
        if self._saved is not None and not self._told_since:
            return self._saved
        try:
            return self.save()
        except AgentFault:
            # a failure surfaces when it matters; the reply comes first
            return None

    def _state_before_telling(self) -> bytes | None:
        """Return a state from which `_told_since` leads to the current one; None if none is known."""
        is_known = self._saved is not None and self.capabilities.rewinds
        if self.saves_cheaply and not is_known:
            return self._state()
        return self._saved

    def _note_state(
        self, state: bytes | None, told_since: list[_ToldExchange] | None = None
    ) -> None:
        """Remember the agent's state, and the exchanges told after it was saved."""
        self._saved = state
        self._told_since = [] if told_since is None else told_since

    def _tell_again(self, exchanges: Sequence[_ToldExchange]) -> None:
        """Replay exchanges to the agent; the tokens that this uses count as lost."""
        for exchange in exchanges:
            if exchange.at is not None:
                self._call("tell_time", exchange.at)
            result = self._accept(exchange)
            if result.usage is not None:
                self._door.lost = result.usage + self._door.lost

    def _used_since(self, usage_before: Usage) -> Usage | None:
        """Return the usage since `usage_before`; None if a count has decreased, so that it is unknown."""
        usage = self.usage()
        if usage is None:
            return None
        more = usage - usage_before
        if (
            min(more.input_tokens, more.output_tokens, more.cached_tokens, more.calls)
            >= 0
        ):
            return more
        return None

    def _limit(self) -> int:
        if "LimitsMessages" not in self.capabilities:
            return MAX_MESSAGE_TOKENS
        limit: int = self._examine(partial(read_limit, self.agent))
        return limit

    def _examine(self, function: Callable[[], Any]) -> Any:
        """Return the result of a function that inspects the agent."""
        return self._door.examine("could not be examined", function)

    def _must(self, capability: str) -> None:
        if capability not in self.capabilities:
            raise LtmInternalError(
                f"{self._door.who} was used as {capability}, which it is not"
            )


def _name_of(agent: object) -> str:
    """Return the name of an agent without a label."""
    name = read_attribute(agent, "__name__")
    if inherits(name, str):
        return str.__str__(name)
    return class_name(agent)


def _without_zero(reply: Reply) -> Reply:
    """Return a reply without a usage of zero."""
    if reply.usage is not None and not reply.usage.total:
        return replace(reply, usage=None)
    return reply


def join_turns(turns: Sequence[Reply]) -> Reply:
    """Return the last turn of a reply, with the thoughts, usage and cost of all its turns."""
    *earlier, last = turns
    if not earlier:
        return last
    used = [turn.usage for turn in turns if turn.usage is not None]
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    mishaps: dict[str, Mishap] = {}
    for turn in turns:
        add_mishaps(mishaps, turn.mishaps)
    return replace(
        last,
        usage=sum(used[1:], start=used[0]) if used else None,
        cost_usd=sum(costs) if costs else None,
        thoughts="\n".join(turn.thoughts for turn in turns if turn.thoughts),
        mishaps=tuple(mishaps.values()),
    )


def check_summary(value: object, refuse: Refuse) -> Reply:
    """Return the result of `compact()` as a reply; None becomes an empty one."""
    return Reply("") if value is None else check_reply(value, refuse)


def check_taking(value: object, refuse: Refuse) -> Reply:
    """Return the usage and cost that `accept()` reported, as a reply without a text."""
    if inherits(value, Usage):
        return Reply("", check_usage(value, refuse))
    if inherits(value, Reply):
        return replace(check_reply(value, refuse), text="")
    return _TAKEN


def read_limit(agent: object) -> int:
    """Return the maximum tokens of a message to an agent.

    Raises AgentError for anything but a positive whole number.
    """
    limit: Any = exact_scalar(read_attribute(agent, "max_message_tokens"))
    if not is_count(limit) or limit < 1:
        raise AgentError(
            f"agent {class_name(agent)}: max_message_tokens is a positive whole number, not {shown(limit)}"
        )
    return int(limit)
