"""Port: who answers in a conversation. `Live` asks an agent, `Recorded` takes what is recorded before it asks.

A port may take its time: a conversation that asks one may be suspended meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm._core.calls.trace_context import carry_trace
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import Account, Tariff
from pytest_ltm._core.journal.retrieval import retrieval_ranks
from pytest_ltm._core.journal.timings import (
    ReplyTime,
    Retry,
    SettleTime,
    TellTime,
    Timings,
)
from pytest_ltm._core.model.account import sort_end
from pytest_ltm._core.model.agent import (
    NOT_RESTORABLE,
    Capabilities,
    ExpectedReply,
    MemoryOperation,
    Reply,
    Usage,
)
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.tools import AnsweredCall, Tools, format_call
from pytest_ltm._core.model.transcript import Exchange, Kind, Transcript
from pytest_ltm._core.storage.clock import Clock, stopwatch_seconds
from pytest_ltm._core.storage.disk import disk_fault, read_regular, write_whole
from pytest_ltm._core.storage.errors import AgentError, AgentFault, ConversationOver

E = TypeVar("E", bound=events.Event)
T = TypeVar("T")
R = TypeVar("R", events.ReplyReceived, events.FillerSent)


class TracedConversation(Protocol):
    """What is seen from outside of an agent's memory in one conversation."""

    def begin_exchange(self, number: int, /) -> str:
        """Return the `traceparent` of an exchange, which begins now."""

    def operations(
        self, number: int, /, *, patient: bool
    ) -> tuple[MemoryOperation, ...]:
        """Return what came in since the last question; `patient`: what is due is waited for."""


class AgentLine(Protocol):
    """Talks to one agent; whatever goes wrong there is an AgentFault."""

    agent: Any
    capabilities: Capabilities
    max_message_tokens: int

    @property
    def lost(self) -> Usage | None:
        """What attempts that came to nothing have used, in the last call of `ask` or `tell`."""

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving takes less time in all than talking does."""

    def ask(
        self,
        message: str,
        images: Sequence[str] = (),
        user: str = "",
        *,
        alone: bool = False,
        tools: Tools | None = None,
    ) -> Reply:
        """Return the agent's reply; `user`: whose message it is. `alone`: have it leave no trace by itself.

        `tools`: what it may call before it replies.
        """

    def compact(self) -> Reply:
        """Have the agent compact; return the summary that it continues from."""

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an exchange, and return what that took as a reply without a text."""

    def save(self) -> bytes:
        """Return the agent's state."""

    def load(self, state: bytes) -> None:
        """Put the agent back into a state."""

    def reset(self) -> None:
        """Have the agent forget everything."""

    def tell_time(self, now: datetime) -> None:
        """Tell the time, if the agent wants to know."""

    def announce(self, example: str) -> None:
        """Say whose message comes next, if the agent wants to know."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Hand a control what full marks ask for in reply to the next message."""

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what the agent retrieved for its last reply, if it shows that."""

    def in_context(self) -> tuple[str, ...]:
        """Return what stood before the agent for its last reply anyway, as far as it shows that."""

    def settle(self) -> None:
        """Wait until what the agent was told can be found, if it says when that is."""

    def written(self) -> tuple[MemoryOperation, ...]:
        """Return what the agent's memory did since this was last asked, if it shows that."""

    def delete(self, record: str) -> None:
        """Have the agent delete a record of its memory."""

    def close(self) -> str | None:
        """Let the agent go; returns a notice if it would not go quietly."""


class Enclosed(Struct, frozen=True):
    """What goes with a message."""

    images: Sequence[str] = ()
    """Files that are sent beside its text."""
    prompts: Sequence[ExpectedReply] = ()
    """What full marks ask for in reply, for a control that is Prompted."""
    deletes: Sequence[str] = ()
    """The records that an agent that DeletesRecords is to delete after it."""
    tools: Tools | None = None
    """What the agent may call before it replies."""


NOTHING = Enclosed()


class Port(Protocol):
    """Answers the messages of one conversation."""

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do beyond replying."""

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""

    @property
    def agent(self) -> Any:
        """The agent itself; AgentError if there is none to be had."""

    @property
    def replaying(self) -> bool:
        """Whether what comes next is recorded: nothing is sent."""

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the recorded event that comes next, if there is one of that kind."""

    def open(self, said: Transcript) -> None:
        """The conversation begins; `said` has its exchanges, also those to come."""

    def ready(self, by: str) -> None:
        """Have everything there that a message of an example needs; ConversationOver if it cannot be sent.

        It comes before a word of the message is written down.
        """

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Return the reply to a message; AgentFault if there is none."""

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell an exchange that needs no answer and return what was told; AgentFault if the agent will not have it."""

    def written(self, reply: events.ReplyReceived) -> None:
        """The reply is in the journal."""

    def new_session(self) -> str | None:
        """Have the next message go to an agent made anew, which has its own memory.

        Returns a notice if the one before would not go quietly; AgentFault if it cannot
        be saved.
        """

    def close(self) -> str | None:
        """Let the agent go; returns a notice if it would not go quietly."""


class Checkpoints:
    """States in a folder, `<exchange>.bin`; without a folder the last ones are held in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[int, bytes] = {}
        """By exchange; the state itself where there is no folder."""
        if folder is not None and folder.is_dir():
            self._held = {
                int(path.stem): b""
                for path in folder.glob("*.bin")
                if path.stem.isdecimal()
            }

    @property
    def is_empty(self) -> bool:
        """Whether no state is kept."""
        return not self._held

    def has_state(self, number: int) -> bool:
        """Return whether the state after an exchange is kept."""
        return number in self._held

    def keep_state(self, number: int, state: bytes) -> None:
        """Keep the state after an exchange, and forget all but the last two; DiskFault if that cannot be."""
        if self._folder is not None:
            try:
                self._folder.mkdir(exist_ok=True)
            except OSError as error:
                raise disk_fault(self._folder, error) from error
            write_whole(self._folder / f"{number}.bin", state)
        # Written before older ones go: a process that is killed in between has the
        # state that it needs.
        self._held[number] = b"" if self._folder is not None else state
        # Two are kept: that of the last exchange in the journal, and the one that was
        # about to get there.
        for old in sorted(self._held)[:-2]:
            del self._held[old]
            if self._folder is not None:
                (self._folder / f"{old}.bin").unlink(missing_ok=True)

    def state(self, number: int) -> bytes:
        """Return the state after an exchange that is kept."""
        if self._folder is None:
            return self._held[number]
        try:
            return read_regular(self._folder / f"{number}.bin")
        except OSError as error:
            raise disk_fault(self._folder / f"{number}.bin", error) from error


NOT_COMPACTED_AGAIN = (
    "the agent has compacted, and its context cannot be told again: it is not Checkpointable "
    "(save, load)"
)
# The number of faults in a row after which the agent counts as gone: more messages
# would only cost.
MAX_CONSECUTIVE_FAULTS = 3


class RecordedAgent(Struct, frozen=True):
    """What a journal knows of an agent that need not be there."""

    capabilities: Capabilities
    max_message_tokens: int


class Calling(Protocol):
    """Carries out a call of the agent on behalf of an example."""

    def __call__(self, by: str, call: Callable[[], T], /) -> T:
        """Return what the call returns."""


def call_now(_by: str, call: Callable[[], T]) -> T:
    """Return what the call returns, with nothing around it."""
    return call()


class LivePort:
    """Asks an agent through what `make` makes when it is first needed: within the budget, and in time.

    `known`: of the recorded conversation that the agent resumes. A Checkpointable agent
    is saved after each exchange in `checkpoints`. `calling` has every call of the
    agent: what surrounds one is put in place there, and there a conversation can be
    suspended. `tariff`: what the agent's tokens cost where it does not say; `account`:
    where its budget is kept. `watch`: what times replies.
    """

    replaying = False

    def __init__(
        self,
        make: Callable[[], AgentLine],
        counter: TokenCounter,
        clock: Clock,
        timings: Timings,
        *,
        known: RecordedAgent | None = None,
        checkpoints: Checkpoints | None = None,
        calling: Calling = call_now,
        tariff: Tariff | None = None,
        account: Account | None = None,
        watch: Callable[[], float] = stopwatch_seconds,
        traced: TracedConversation | None = None,
    ) -> None:
        self._make, self._known, self._checkpoints = (
            make,
            known,
            checkpoints or Checkpoints(None),
        )
        self._counter, self._clock, self._timings, self._watch = (
            counter,
            clock,
            timings,
            watch,
        )
        self._calling, self._tariff, self._account = (
            calling,
            tariff or Tariff(),
            account,
        )
        self._traces = traced
        self._said = Transcript()
        self._line: AgentLine | None = None
        self._first: bytes | None = None
        """The state before the first message."""
        self._used = False
        """The agent has heard something since it was made."""
        # What is recorded was said to another process's agent; this one has heard
        # nothing of it.
        self._behind = known is not None
        self._strayed = False
        """All that keeps the agent from being where the conversation is are questions meant to be asked alone."""
        self._lost: Usage | None = None
        """What was used and came to nothing, and is not charged yet."""
        self._exchange = -1
        """The number of the last message that went out."""
        self._asked: tuple[events.MessageSent, float] | None = None
        """The last message that was answered, and the seconds that it took."""

    @property
    def line(self) -> AgentLine:
        """What talks to the agent; AgentError if the agent cannot be made."""
        if self._line is None:
            self._line = self._make()
        return self._line

    @property
    def agent(self) -> Any:
        """The agent itself; it is made on first use."""
        return self.line.agent

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do beyond replying."""
        return (self._known or self.line).capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return (self._known or self.line).max_message_tokens

    def upcoming(self, kind: type[E]) -> E | None:  # noqa: ARG002 - the protocol's signature
        """Return None: nothing is recorded."""
        return None

    def open(self, said: Transcript) -> None:
        """Keep what an agent that is made later has to know."""
        self._said = said

    def ready(self, by: str) -> None:
        """Have the agent there, and look at the clock; ConversationOver where the budget is spent."""
        if self._account is not None:
            # Before the agent is made, since making one may cost as well.
            self._account.check()
        self._have(by)
        self._clock.tick()

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Ask the agent; one that remembers a question to be asked alone is put back before the next message."""
        self._exchange = message.exchange
        self._have(message.by)
        # An agent that can answer without a trace does so; any other is put back
        # afterwards.
        strays = message.alone and not self.capabilities.leaves_no_trace

        def ask() -> tuple[
            Reply,
            float,
            tuple[str, ...] | None,
            tuple[str, ...],
            tuple[MemoryOperation, ...],
        ]:
            line, self._used = self.line, True
            if (
                "Settles" in self.capabilities and self._said
            ):  # its own seconds: they are not the reply's
                began = self._watch()
                line.settle()
                self._timings.write(
                    SettleTime(
                        exchange=self._exchange, seconds=round(self._watch() - began, 6)
                    )
                )
            began = self._watch()
            line.announce(message.by)
            if enclosed.prompts:
                line.prompt(enclosed.prompts)
            line.tell_time(self._clock.now)
            if strays:
                self._hold_state()
            try:
                with self._tracing(message.exchange):
                    reply = (
                        line.compact()
                        if message.kind == "compact"
                        else line.ask(
                            message.text,
                            enclosed.images,
                            message.user,
                            alone=message.alone and not strays,
                            tools=enclosed.tools,
                        )
                    )
            finally:
                self._lose(line.lost)
            seconds = self._watch() - began
            # The reply is paid for; a fault in what is asked about it must not hide
            # that.
            with self._losing(reply.usage):
                retrieved, in_context = line.retrieved(), line.in_context()
                if enclosed.deletes and "DeletesRecords" in self.capabilities:
                    with self._tracing(message.exchange):
                        for record in enclosed.deletes:
                            line.delete(record)
                memory = line.written() + self._traced(patient=message.kind == "ask")
                if self.capabilities.saves and not message.alone:
                    self._checkpoints.keep_state(message.exchange, line.save())
            return reply, seconds, retrieved, in_context, memory

        with self._accounting():
            reply, seconds, retrieved, in_context, memory = self._calling(
                message.by, ask
            )
        self._asked = message, seconds
        account = sort_end(reply.finish_reason)
        return events.ReplyReceived(
            exchange=message.exchange,
            text=reply.text,
            tokens=self._counter.count(reply.text),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            hypothetical=reply.hypothetical,
            retrieved=retrieved,
            places=()
            if retrieved is None
            else self._places(message, retrieved, in_context),
            now=self._clock.tick(),
            lost=self._charge_lost(),
            finish_reason=reply.finish_reason,
            thoughts=reply.thoughts,
            account="" if account == "whole" else account,
            mishaps=reply.mishaps,
            memory=_as_asked(memory, message.kind),
            calls=self._counted_calls(enclosed.tools),
        )

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell the agent.

        It is saved unless it is cheaper to tell it again than to save it: saving takes
        no more time in all than talking does, else a long history would cost the square
        of its length.
        """
        self._exchange = told.exchange
        self._have("")

        def tell() -> tuple[Reply, float, tuple[MemoryOperation, ...]]:
            began, line = stopwatch_seconds(), self.line
            with self._tracing(told.exchange):
                took = self._tell(told.message, told.reply, self._clock.now)
            seconds = stopwatch_seconds() - began
            memory = line.written() + self._traced()
            if self.capabilities.saves and (
                self._checkpoints.is_empty or line.saves_cheaply
            ):
                with self._losing(took.usage):
                    self._checkpoints.keep_state(told.exchange, line.save())
            return took, seconds, memory

        with self._accounting():
            took, seconds, memory = self._calling("", tell)
        self._timings.write(TellTime(exchange=told.exchange, seconds=round(seconds, 6)))
        told = replace(
            told,
            reply_tokens=self._counter.count(told.reply),
            now=self._clock.tick(),
            usage=took.usage,
            cost_usd=took.cost_usd,
            hypothetical=took.hypothetical,
            lost=self._charge_lost(),
            mishaps=took.mishaps,
            memory=_as_asked(memory, "filler"),
        )
        self._charge(told, calls=0)
        return told

    def written(self, reply: events.ReplyReceived) -> None:
        """Write down what the reply took, and charge it."""
        if self._asked is None:
            return
        # Only now: a run that is resumed reads from the journal what it has spent,
        # which must not be less.
        (message, seconds), self._asked = self._asked, None
        self._timings.write(
            ReplyTime(exchange=reply.exchange, seconds=round(seconds, 6))
        )
        self._charge(reply, calls=1, counted=(message.tokens, reply.tokens))

    def new_session(self) -> str | None:
        """Let the agent go, saved; the next message goes to another. One that has heard nothing stays as it is."""

        def renew() -> str | None:
            if self._line is None or not self._used or not self._said.remembered:
                return None
            saves, last = self.capabilities.saves, self._said.remembered[-1].number
            if saves and not self._checkpoints.has_state(last):
                self._checkpoints.keep_state(last, self._line.save())
            self._behind, self._used = (
                saves and "KeepsUsers" not in self.capabilities,
                False,
            )
            notice, self._line = self._line.close(), None
            return notice

        return self._calling("", renew)

    def note_retry(self, attempt: int, waited: float, error: BaseException) -> None:
        """Note an attempt that is followed by another, in the timings: the exchange counts once."""
        self._timings.write(
            Retry(
                exchange=self._exchange,
                attempt=attempt,
                waited=waited,
                error=str(error),
            )
        )

    def close(self) -> str | None:
        """Let the agent go, if it was ever there; returns a notice if it would not go quietly."""
        if self._account is not None:
            self._account.release()
        return None if self._line is None else self._line.close()

    # --- the agent, as the conversation needs it

    def _have(self, by: str) -> None:
        fresh = (
            not self._used and self._line is not None and not self.capabilities.saves
        )
        if self._behind or not (self._used or fresh):
            self._calling(by, self.restore)

    def restore(self) -> None:
        """Have an agent there that has heard what was said, and nothing else; ConversationOver if that cannot be."""
        try:
            line = self.line
        except AgentError as error:
            raise ConversationOver(str(error)) from error
        if self._behind:
            try:
                can, exchanges = self.capabilities, self._said.remembered
                strayed = self._strayed or len(exchanges) < len(self._said)
                # A state holds questions asked alone, too, unless the agent can be put
                # back before them.
                if can.rewinds or (can.saves and not strayed):
                    self._load()
                elif "AcceptsHistory" in can and "Stateless" not in can:
                    if any(exchange.kind == "compact" for exchange in exchanges):
                        raise ConversationOver(NOT_COMPACTED_AGAIN)
                    self._tell_all()
                elif exchanges and not can.restorable:
                    raise ConversationOver(NOT_RESTORABLE)
            except AgentError as error:
                raise ConversationOver(
                    f"the agent cannot be restored to where it was: {error}"
                ) from error
        elif not self._used and self.capabilities.saves:
            with contextlib.suppress(
                AgentFault
            ):  # it will be told after the first message
                self._first = line.save()
        self._behind, self._strayed, self._used = False, False, True
        with contextlib.suppress(AgentFault):
            self.line.written()  # what telling it all again wrote is known

    def _hold_state(self) -> None:
        """Before the agent strays, keep the state that it is put back to; without one it is told all again."""
        if self.capabilities.rewinds:
            remembered = self._said.remembered
            if not remembered:
                self._first = self.line.save() if self._first is None else self._first
            elif not self._checkpoints.has_state(remembered[-1].number):
                self._checkpoints.keep_state(remembered[-1].number, self.line.save())
        self._behind = self._strayed = True

    def _load(self) -> None:
        remembered, checkpoints, tells = (
            self._said.remembered,
            self._checkpoints,
            "AcceptsHistory" in self.capabilities,
        )
        if not remembered:
            if self._first is not None:
                self.line.load(self._first)
            return
        place = len(remembered) - 1
        # What was told can be told again, so the state may be older than the last
        # exchange.
        while (
            remembered[place].told
            and place
            and not checkpoints.has_state(remembered[place].number)
        ):
            place -= 1
        number = remembered[place].number
        if not checkpoints.has_state(number) and tells:
            self._tell_all()
            return
        if not checkpoints.has_state(number) or (
            remembered[-1].number != number and not tells
        ):
            raise AgentError(
                f"there is no checkpoint of exchange {remembered[-1].number}"
            )
        self.line.load(checkpoints.state(number))
        self._tell_again(remembered[place + 1 :])

    def _tell_all(self) -> None:
        if self._strayed:
            self.line.reset()
        elif self._used and self._line is not None:
            self._line.close()
            self._line = None
        self._tell_again(self._said.remembered)

    def _tell_again(self, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            self._lose(
                self._tell(
                    exchange.message, exchange.raw_reply, exchange.now, exchange.user
                ).usage
            )

    def _tell(self, message: str, reply: str, now: datetime, user: str = "") -> Reply:
        line, self._used = self.line, True
        line.tell_time(now)
        try:
            return line.tell(message, reply, user)
        finally:
            self._lose(line.lost)

    def _tracing(self, exchange: int) -> contextlib.AbstractContextManager[None]:
        """Have spans of what is called within belong to an exchange."""
        return (
            contextlib.nullcontext()
            if self._traces is None
            else carry_trace(self._traces.begin_exchange(exchange))
        )

    def _traced(self, *, patient: bool = False) -> tuple[MemoryOperation, ...]:
        return (
            ()
            if self._traces is None
            else self._traces.operations(self._exchange, patient=patient)
        )

    # --- its replies and what they cost

    def _counted_calls(self, tools: Tools | None) -> tuple[AnsweredCall, ...]:
        """Return the calls of a reply with their tokens."""
        count = self._counter.count
        return tuple(
            [
                replace(
                    call,
                    tokens=count(format_call(call.name, call.arguments)),
                    result_tokens=count(call.result),
                )
                for call in (() if tools is None else tools.answered)
            ]
        )

    def _places(
        self,
        message: events.MessageSent,
        retrieved: Sequence[str],
        in_context: Sequence[str],
    ) -> tuple[tuple[int, int], ...]:
        """Return where what a question may depend on was found: texts are whole here, and cut in the record."""
        earlier_needles = [self._said.number(number) for number in message.about]
        # What is said may have a watcher, which asks for all that was said before: the
        # last hundred on that chance.
        earlier = (
            self._said.exchanges_of(message.by)[-100:]
            if message.kind == "say"
            else earlier_needles
        )
        needles = {exchange.number: exchange.message for exchange in earlier}
        return (
            tuple(retrieval_ranks(retrieved, in_context, needles, self._said).items())
            if needles
            else ()
        )

    @contextlib.contextmanager
    def _accounting(self) -> Iterator[None]:
        """Keep the books of a call that fails."""
        try:
            yield
        except AgentFault as fault:
            # It may have heard a message that it did not reply to: it is restored
            # before the next.
            can = self.capabilities
            self._behind |= can.saves or (fault.interrupted and "AcceptsHistory" in can)
            self._strayed = False
            fault.usage = self._charge_lost()
            if self._account is not None:
                self._account.release()
            raise
        except BaseException:  # Ctrl-C: what was sent is on its way
            if self._account is not None:
                self._account.charge_reserved()
            raise

    def _charge(
        self,
        took: events.ReplyReceived | events.FillerSent,
        *,
        calls: int,
        counted: tuple[int, int] = (0, 0),
    ) -> None:
        """Charge what was answered or told; what was told and used nothing is free."""
        if self._account is None:
            return
        if took.hypothetical or not (
            calls or took.usage is not None or took.cost_usd is not None
        ):
            self._account.release()
            return
        usd, tokens = self._tariff.charged_amounts(took, counted=counted)
        metered = (
            took.usage is not None or took.cost_usd is not None or self._tariff.free
        )
        self._account.add("agent", usd=usd, tokens=tokens, calls=calls, metered=metered)

    def _lose(self, usage: Usage | None) -> None:
        if usage is not None:
            self._lost = usage + self._lost

    @contextlib.contextmanager
    def _losing(self, usage: Usage | None) -> Iterator[None]:
        """Note what a reply used as lost if the agent cannot be asked what belongs to it."""
        try:
            yield
        except AgentFault:
            self._lose(usage)
            raise

    def _charge_lost(self) -> Usage | None:
        """Return what was used and came to nothing, and charge it."""
        lost_usage, self._lost = self._lost, None
        if lost_usage is not None and self._account is not None:
            self._account.charge_wasted(
                usd=self._tariff.dollars_for(lost_usage), tokens=lost_usage.total
            )
        return lost_usage


def _as_asked(
    memory: Sequence[MemoryOperation], kind: Kind
) -> tuple[MemoryOperation, ...]:
    """Return what is kept of operations: what was found matters where it answers a question."""
    return tuple(
        operation
        for operation in memory
        if operation.what != "found" or kind == "ask" or operation.exchange is not None
    )


class RecordedEvents(Protocol):
    """What is recorded of a conversation, from where it is."""

    @property
    def replaying(self) -> bool:
        """Whether what comes next is recorded."""

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the event that comes next, if it is of that kind."""


class Recorded:
    """Answers from the record to its end; after that `then` answers."""

    def __init__(self, recorded: RecordedEvents, clock: Clock, then: Port) -> None:
        self._recorded, self._clock, self._then = recorded, clock, then
        self.upcoming, self.open, self.written, self.close = (
            recorded.upcoming,
            then.open,
            then.written,
            then.close,
        )

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do beyond replying."""
        return self._then.capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self._then.max_message_tokens

    @property
    def agent(self) -> Any:
        """The agent that goes on."""
        return self._then.agent

    @property
    def replaying(self) -> bool:
        """Whether what comes next is recorded."""
        return self._recorded.replaying

    def ready(self, by: str) -> None:
        """Be where the recorded message was sent."""
        if not self.replaying:
            self._then.ready(by)
        elif (message := self.upcoming(events.MessageSent)) is not None:
            self._follow(message.now)

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Return the recorded reply, or raise the recorded fault; a message that was in flight is sent again."""
        return self._taken(events.ReplyReceived, message.exchange) or self._then.reply(
            message, enclosed
        )

    def new_session(self) -> str | None:
        """Have the agent that goes on made anew; one of the record is gone."""
        return None if self.replaying else self._then.new_session()

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Return what was told then."""
        return self._taken(events.FillerSent, told.exchange) or self._then.tell(told)

    def _taken(self, kind: type[R], number: int) -> R | None:
        fault = self.upcoming(events.Fault)
        if fault is not None:
            # With what was lost, since the event that is written for it must be the
            # recorded one.
            repeated_fault = AgentFault(fault.text, fatal=fault.fatal)
            repeated_fault.passing, repeated_fault.usage = fault.passing, fault.lost
            repeated_fault.leak = fault.leak
            raise repeated_fault
        result = self.upcoming(kind)
        if result is None:
            return None
        self._follow(result.now)
        return result if result.exchange == number else replace(result, exchange=number)

    def _follow(self, recorded: datetime | None) -> None:
        if recorded is not None and self._clock.real:
            self._clock.jump_to_recorded(recorded)
