"""AgentCaller: talks to the agent of one conversation, and turns all that can go wrong into one kind of error."""

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
    look,
    own_thread,
    read_attribute,
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

# For pytest: who reads of an agent's exception wants the agent's frames, not these.
__tracebackhide__ = True

# The size of the largest message to an agent that does not say how much it takes.
MAX_MESSAGE_TOKENS = 4096
# Seconds that saving an agent may take in all, however fast the agent is.
SAVING = 0.1
# Of the time that telling takes, the part that saving may take where what was told since
# can be told again: then as little is lost to a kill as saving would have cost.
SAVING_SHARE = 1 / 16
# Bytes of a state from which an agent is told again what it was told, so that its state
# need not be in memory.
VAST = 2**23


class _ToldExchange(NamedTuple):
    """An exchange that an agent was told."""

    message: str
    reply: str
    user: str
    at: datetime | None
    """The time that the agent was told before, if it wants to know."""


_NO_REPLY = {
    "broken off": "broke off its reply (finish_reason {!r})",
    "kept back": "kept its reply back (finish_reason {!r})",
    "asked for a tool": "called a tool instead of replying (finish_reason {!r})",
    "nothing said": "said nothing: its reply has only thoughts, calls of tools, marks or white space",
}


class AgentCaller:
    """Talks to the agent of one conversation; close it at the end.

    `timeout` is in seconds for each call (None: no limit). `fatal` exceptions pass
    through, all others become AgentFault. `name` is what messages call the agent.
    `owned`: close the agent, too, at the end. `retries`: how passing faults are tried
    again (None: never); `retried` is told of each attempt that is followed by another.
    `count`: the tokens of a text, where an attempt used what nobody reports. `reading`:
    what of a reply is read, so what is none. `placed`: errors say where the agent's
    code raised, as nobody will see the traceback. What the agent says comes out without
    secrets, so that record and score agree.
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
        self._call = partial(self._door.call_method, agent)
        self._reading = reading
        self._errors = LoggedErrors()
        self._saved: bytes | None = None
        """The agent's last state, where that is known; since then it was told `_told_since`, and nothing else."""
        self._told_since: list[_ToldExchange] = []
        self._state_bytes = 0
        """Of its last state, and of what it was told since."""
        self._told_time: datetime | None = None
        self._knows_time = False
        """Whether the agent still goes by the time that it was told last."""
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
        """Return the reply to a message of this user, and to the images in these files; AgentFault if there is none.

        `alone`: it leaves no trace; only agents that can do that are asked so. `tools`:
        what a TakesTools agent may call before it replies.
        """
        leaves_no_trace = alone and "AnswersAlone" in self.capabilities
        attempt = partial(self._reply, message, images, user, alone=leaves_no_trace)
        if tools is not None:
            attempt = partial(self._reply_with_tools, message, user, tools)
        if self._takes_turns is not None and own_thread() is not None:
            attempt = partial(self._in_own_thread, attempt)
        return self._persist(attempt, message, leaves_no_trace=leaves_no_trace)

    def compact(self) -> Reply:
        """Have a Compacts agent compact; return its summary, "" where it shows none."""
        self._must("Compacts")

        def attempt() -> Reply:
            summary: Reply = self._call("compact", admit=check_summary)
            return summary

        return self._persist(attempt, "")

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an AcceptsHistory agent an exchange of this user; AgentFault if it will not have it.

        Returns what that took as a reply without a text.
        """
        self._must("AcceptsHistory")
        if user and not self._examine(lambda: takes_user(self.agent.accept)):  # type: ignore[attr-defined]
            raise AgentFault(
                f"{self._door.who} cannot be told whose message it was: its accept() has no parameter `user`"
            )
        # Not measured: saving, only to know the size, is what this is to avoid.
        self._state_bytes += len(message) + len(reply)
        told = _ToldExchange(message, reply, user, self._told_time)
        took = self._persist(
            partial(self._accept, told), f"{message}\n{reply}", told=told
        )
        # An agent that reports its usage and used nothing is as one that reports none:
        # nothing is to be recorded.
        if took.usage is not None and not took.usage.total:
            return replace(took, usage=None)
        return took

    def save(self, keep: Callable[[bytes], object] = lambda _: None) -> bytes:
        """Return the state of a Checkpointable agent; AgentFault if it does not give it.

        `keep` puts it where it is kept: what that takes is a part of saving.
        """
        self._must("Checkpointable")
        # By the clock, not by size: a small state may take long to make.
        began = stopwatch_seconds()
        state: bytes = self._call("save", admit=check_bytes)
        keep(state)
        self._saving += stopwatch_seconds() - began
        self._note_state(state)
        self._state_bytes = len(state)
        return state

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving has taken a small part of the time for talking, or next to none, and the state is not vast."""
        allowed = self._talking
        if self.capabilities.rewinds:
            allowed *= SAVING_SHARE
        return self._saving <= allowed + SAVING and self._state_bytes <= VAST

    @property
    def _can_tell_again(self) -> bool:
        """Whether a saved state undoes what was told since, and is worth its place in memory."""
        return self.capabilities.rewinds and self._state_bytes <= VAST

    def reset(self) -> None:
        """Have a Resettable agent forget everything; AgentFault if it will not."""
        self._must("Resettable")
        self._knows_time = False
        self._call("reset")
        self._note_state(None)

    def load(self, state: bytes) -> None:
        """Put a Checkpointable agent back to what `save` returned; AgentFault if it will not go."""
        self._must("Checkpointable")
        self._knows_time = False
        self._call("load", state)
        self._note_state(state)

    def tell_time(self, now: datetime) -> None:
        """Tell a TimeAware agent the time if it has moved, and the process of one that has its own."""
        if self._apart is not None:
            self._apart.note_time(now)
        if "TimeAware" not in self.capabilities:
            return
        # a stateless one may serve other conversations meanwhile, at other times
        is_shared = "Stateless" in self.capabilities
        if is_shared or not self._knows_time or now != self._told_time:
            self._told_time = now
            self._call("tell_time", now)
            self._knows_time = True

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
        usage: Usage = self._call("usage", admit=check_usage)
        return usage

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what a ShowsRetrieval agent retrieved for its last reply, None for any other."""
        if "ShowsRetrieval" not in self.capabilities:
            return None
        return self._texts("retrieved")

    def in_context(self) -> tuple[str, ...]:
        """Return what stood before a ShowsContext agent for its last reply without being retrieved."""
        if "ShowsContext" not in self.capabilities:
            return ()
        return self._texts("in_context")

    def _texts(self, method: str) -> tuple[str, ...]:
        texts: tuple[str, ...] = self._call(
            method, admit=partial(check_texts, method=method)
        )
        return texts

    def settle(self) -> None:
        """Wait until what a Settles agent was told can be found."""
        if "Settles" in self.capabilities:
            self._call("settle")

    def written(self) -> tuple[MemoryOperation, ...]:
        """Return what the memory of a ShowsWrites agent did since this was last asked, nothing for any other."""
        if "ShowsWrites" not in self.capabilities:
            return ()
        operations: tuple[MemoryOperation, ...] = self._call(
            "written", admit=check_written
        )
        return operations

    def delete(self, record: str) -> None:
        """Have a DeletesRecords agent delete a record of its memory."""
        self._must("DeletesRecords")
        self._call("delete", record)

    def close(self) -> str | None:
        """Close the agent (its `aclose` or `close`, if any) and its loop; return a notice if that failed."""
        try:
            # Only the first time: what is closed twice may raise the second time.
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
        """Make a whole attempt in the conversation's thread, where waiting for a turn holds up nobody."""
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
        """Return the reply that comes once the agent calls no more tools, with what all its turns took."""
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
        """Return how a method of the agent is told whose message it is."""
        if not user:
            return {}
        scope = Scope(user=user, at=self._told_time)
        arguments: dict[str, Any] = look(
            lambda: user_arguments(getattr(self.agent, method), scope), {}
        )
        return arguments

    def _check_account(self, reply: Reply, *, offered: bool = False) -> Reply:
        """Return a reply that is one; AgentFault for one that was broken off, kept back, or says nothing.

        An agent may answer with an empty text: that is silence, and scored.
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

    def _accept(self, told: _ToldExchange) -> Reply:
        took: Reply = self._call(
            "accept",
            told.message,
            told.reply,
            admit=check_taking,
            **self._whose("accept", told.user),
        )
        # Nothing is made up of an adapter's server that reports nothing on what it was
        # told.
        if took.usage is not None and not took.usage.total:
            return replace(took, usage=None)
        return took

    def _persist(
        self,
        attempt: Callable[[], Reply],
        message: str,
        *,
        told: _ToldExchange | None = None,
        leaves_no_trace: bool = False,
    ) -> Reply:
        """Return the attempt's result, and what it used; made again after passing faults, the agent as it was.

        `told`: what the attempt tells; the agent is then saved only if that is cheap,
        and restored only if a state is known. `leaves_no_trace`: it need not be
        restored.
        """
        began = stopwatch_seconds() - self._saving
        usage_before = self.usage()
        state = None
        told_since: list[_ToldExchange] = []
        if self._door.persists and not leaves_no_trace:
            state = self._state() if told is None else self._state_before_telling()
            # From here on the state that was known is not the agent's any more,
            # whatever comes of the attempt.
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
            if told is not None and state is not None and self._can_tell_again:
                told_since.append(told)
                self._note_state(state, told_since)
            if logged := self._errors.take():
                reply = replace(reply, mishaps=reply.mishaps + logged)
            return self._add_usage(reply, message, usage_before)
        except AgentFault:
            self._knows_time = False  # it may be another process by now
            raise
        finally:
            self._talking += stopwatch_seconds() - self._saving - began

    def _add_usage(
        self, reply: Reply, message: str, usage_before: Usage | None
    ) -> Reply:
        """Return a reply with what it used: as it says, completed, or what the agent counts since then."""
        if reply.usage is not None:
            usage = self._door.complete_usage(reply.usage, message, reply.text)
            return replace(reply, usage=usage)
        if usage_before is None:
            return reply
        return replace(reply, usage=self._used_since(usage_before))

    def _state(self) -> bytes | None:
        """Return what puts the agent back to where it is; None where nothing needs to or can."""
        if not self.capabilities.saves:
            return None
        if self._saved is not None and not self._told_since:
            return self._saved
        try:
            return self.save()
        except AgentFault:
            # it will be told when it matters: what it replies is asked for first
            return None

    def _state_before_telling(self) -> bytes | None:
        """Return a state from which the agent gets to where it is by `_told_since`; None where none is known."""
        is_known = self._saved is not None and self.capabilities.rewinds
        if self.saves_cheaply and not is_known:
            return self._state()
        return self._saved

    def _note_state(
        self, state: bytes | None, told_since: list[_ToldExchange] | None = None
    ) -> None:
        """Remember the agent's state, and what it was told after it was saved."""
        self._saved = state
        self._told_since = [] if told_since is None else told_since

    def _tell_again(self, exchanges: Sequence[_ToldExchange]) -> None:
        """Tell the agent what it was told before; what that uses is lost."""
        for told in exchanges:
            if told.at is not None:
                self._call("tell_time", told.at)
            took = self._accept(told)
            if took.usage is not None:
                self._door.lost = took.usage + self._door.lost

    def _used_since(self, usage_before: Usage) -> Usage | None:
        """Return what was used since then; None where the sum has decreased, so that it is unknown."""
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
        """Return what a function of ours finds out about the agent."""
        return self._door.examine("could not be examined", function)

    def _must(self, capability: str) -> None:
        if capability not in self.capabilities:
            raise LtmInternalError(
                f"{self._door.who} was used as {capability}, which it is not"
            )


def _name_of(agent: object) -> str:
    """Return what an agent without a label is called."""
    name = read_attribute(agent, "__name__")
    if inherits(name, str):
        return str.__str__(name)
    return class_name(agent)


def join_turns(turns: Sequence[Reply]) -> Reply:
    """Return the last of the turns of one reply, with what all of them thought, used and cost."""
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
    """Return what `compact()` returned as a reply; None is an empty one."""
    return Reply("") if value is None else check_reply(value, refuse)


def check_taking(value: object, refuse: Refuse) -> Reply:
    """Return what `accept()` took, as a reply without a text."""
    if inherits(value, Usage):
        return Reply("", check_usage(value, refuse))
    if inherits(value, Reply):
        return replace(check_reply(value, refuse), text="")
    return Reply("")


def read_limit(agent: object) -> int:
    """Return the tokens that a message to an agent may have; AgentError for what is not a number."""
    limit: Any = exact_scalar(read_attribute(agent, "max_message_tokens"))
    if not is_count(limit) or limit < 1:
        raise AgentError(
            f"agent {class_name(agent)}: max_message_tokens is a positive whole number, not {shown(limit)}"
        )
    return int(limit)
