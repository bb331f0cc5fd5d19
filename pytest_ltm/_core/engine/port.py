"""Port: who answers in a conversation. `Live` asks an agent, `Recorded` takes what is recorded before it asks.

A port may take its time: a conversation that asks one may be suspended meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm._core.calls.trace_context import carry_trace
from pytest_ltm._core.engine.agent_bill import AgentBill
from pytest_ltm._core.engine.held_agent import (
    AgentLine,
    Checkpoints,
    HeldAgent,
    RecordedAgent,
)
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
    Capabilities,
    ExpectedReply,
    MemoryOperation,
    Reply,
)
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.tools import AnsweredCall, Tools, format_call
from pytest_ltm._core.model.transcript import Kind, Transcript
from pytest_ltm._core.storage.clock import Clock, stopwatch_seconds
from pytest_ltm._core.storage.errors import AgentFault

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
        """The agent itself; AgentError if there is none."""

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


# The number of faults in a row after which the agent counts as gone: more messages
# would only cost.
MAX_CONSECUTIVE_FAULTS = 3


class _Answer(NamedTuple):
    """A reply, the seconds that it took, and what the agent shows of its memory."""

    reply: Reply
    seconds: float
    retrieved: tuple[str, ...] | None
    in_context: tuple[str, ...]
    memory: tuple[MemoryOperation, ...]


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
        self._counter = counter
        self._clock = clock
        self._timings = timings
        self._watch = watch
        self._calling = calling
        self._traces = traced
        self._bill = AgentBill(tariff or Tariff(), account)
        self._held = HeldAgent(
            make, known, checkpoints or Checkpoints(None), self._bill
        )
        self._exchange = -1
        """The number of the last message that went out."""
        self._asked: tuple[events.MessageSent, float] | None = None
        """The last message that was answered, and the seconds that it took."""

    @property
    def agent(self) -> Any:
        """The agent itself; it is made on first use."""
        return self._held.line.agent

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do beyond replying."""
        return self._held.capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self._held.max_message_tokens

    def upcoming(self, kind: type[E]) -> E | None:  # noqa: ARG002 - the protocol's signature
        """Return None: nothing is recorded."""
        return None

    def open(self, said: Transcript) -> None:
        """Keep what an agent that is made later has to know."""
        self._held.said = said

    def ready(self, by: str) -> None:
        """Have the agent there, and look at the clock; ConversationOver where the budget is spent."""
        # Before the agent is made, since making one may cost as well.
        self._bill.check()
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

        def ask() -> _Answer:
            line = self._held.use()
            if "Settles" in self.capabilities and self._held.said:
                # its own seconds: they are not the reply's
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
                self._held.stray()
            try:
                with self._tracing(message.exchange):
                    if message.kind == "compact":
                        reply = line.compact()
                    else:
                        reply = line.ask(
                            message.text,
                            enclosed.images,
                            message.user,
                            alone=message.alone and not strays,
                            tools=enclosed.tools,
                        )
            finally:
                self._bill.lose(line.lost)
            seconds = self._watch() - began
            # The reply is paid for; a fault in what is asked about it must not hide
            # that.
            with self._bill.losing(reply.usage):
                retrieved = line.retrieved()
                in_context = line.in_context()
                if enclosed.deletes and "DeletesRecords" in self.capabilities:
                    with self._tracing(message.exchange):
                        for record in enclosed.deletes:
                            line.delete(record)
                memory = line.written() + self._traced(patient=message.kind == "ask")
                if not message.alone:
                    self._held.save_state(message.exchange)
            return _Answer(reply, seconds, retrieved, in_context, memory)

        with self._accounting():
            answer = self._calling(message.by, ask)
        reply = answer.reply
        retrieved = answer.retrieved
        self._asked = message, answer.seconds
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
            else self._places(message, retrieved, answer.in_context),
            now=self._clock.tick(),
            lost=self._bill.charge_lost(),
            finish_reason=reply.finish_reason,
            thoughts=reply.thoughts,
            account="" if account == "whole" else account,
            mishaps=reply.mishaps,
            memory=_as_asked(answer.memory, message.kind),
            calls=self._counted_calls(enclosed.tools),
        )

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell the agent, and save it unless telling it again is cheaper."""
        self._exchange = told.exchange
        self._have("")

        def tell() -> tuple[Reply, float, tuple[MemoryOperation, ...]]:
            began = stopwatch_seconds()
            line = self._held.line
            with self._tracing(told.exchange):
                took = self._held.tell(told.message, told.reply, self._clock.now)
            seconds = stopwatch_seconds() - began
            memory = line.written() + self._traced()
            with self._bill.losing(took.usage):
                self._held.save_if_cheap(told.exchange)
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
            lost=self._bill.charge_lost(),
            mishaps=took.mishaps,
            memory=_as_asked(memory, "filler"),
        )
        self._bill.charge(told, calls=0)
        return told

    def written(self, reply: events.ReplyReceived) -> None:
        """Write down what the reply took, and charge it."""
        if self._asked is None:
            return
        # Only now: a run that is resumed reads from the journal what it has spent,
        # which must not be less.
        (message, seconds) = self._asked
        self._asked = None
        self._timings.write(
            ReplyTime(exchange=reply.exchange, seconds=round(seconds, 6))
        )
        self._bill.charge(reply, calls=1, counted=(message.tokens, reply.tokens))

    def new_session(self) -> str | None:
        """Let the agent go, saved; the next message goes to another. One that has heard nothing stays as it is."""
        return self._calling("", self._held.renew)

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
        self._bill.release()
        return self._held.close()

    # --- the agent, as the conversation needs it

    def _have(self, by: str) -> None:
        if not self._held.is_ready:
            self._calling(by, self.restore)

    def restore(self) -> None:
        """Have an agent there that has heard what was said, and nothing else; ConversationOver if that cannot be."""
        self._held.restore()

    def _tracing(self, exchange: int) -> contextlib.AbstractContextManager[None]:
        """Have spans of what is called within belong to an exchange."""
        if self._traces is None:
            return contextlib.nullcontext()
        return carry_trace(self._traces.begin_exchange(exchange))

    def _traced(self, *, patient: bool = False) -> tuple[MemoryOperation, ...]:
        if self._traces is None:
            return ()
        return self._traces.operations(self._exchange, patient=patient)

    # --- what its replies are made of

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
        earlier_needles = [self._held.said.number(number) for number in message.about]
        # What is said may have a watcher, which asks for all that was said before: the
        # last hundred on that chance.
        if message.kind == "say":
            earlier = self._held.said.exchanges_of(message.by)[-100:]
        else:
            earlier = earlier_needles
        needles = {exchange.number: exchange.message for exchange in earlier}
        if needles:
            return tuple(
                retrieval_ranks(retrieved, in_context, needles, self._held.said).items()
            )
        return ()

    @contextlib.contextmanager
    def _accounting(self) -> Iterator[None]:
        """Keep the books of a call that fails."""
        try:
            yield
        except AgentFault as fault:
            self._held.note_fault(fault)
            fault.usage = self._bill.charge_lost()
            self._bill.release()
            raise
        except BaseException:  # Ctrl-C: what was sent is on its way
            self._bill.charge_reserved()
            raise


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
        self._recorded = recorded
        self._clock = clock
        self._then = then
        self.upcoming = recorded.upcoming
        self.open = then.open
        self.written = then.written
        self.close = then.close

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
            repeated_fault.passing = fault.passing
            repeated_fault.usage = fault.lost
            repeated_fault.leak = fault.leak
            raise repeated_fault
        result = self.upcoming(kind)
        if result is None:
            return None
        self._follow(result.now)
        if result.exchange == number:
            return result
        return replace(result, exchange=number)

    def _follow(self, recorded: datetime | None) -> None:
        if recorded is not None and self._clock.real:
            self._clock.jump_to_recorded(recorded)
