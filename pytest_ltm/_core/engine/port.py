"""Port: answers in a conversation. `LivePort` asks an agent; `Recorded` replays a record first.

A port may block: the conversation that calls it may be suspended until it answers.
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
    """The traces of an agent's memory in one conversation, as seen from outside."""

    def begin_exchange(self, number: int, /) -> str:
        """Return the `traceparent` of an exchange, which begins now."""

    def operations(
        self, number: int, /, *, patient: bool
    ) -> tuple[MemoryOperation, ...]:
        """Return the operations received since the last call; `patient`: wait for those that are due."""


class Enclosed(Struct, frozen=True):
    """Attachments of a message."""

    images: Sequence[str] = ()
    """Files that are sent in addition to its text."""
    prompts: Sequence[ExpectedReply] = ()
    """The expected replies, for a control that is Prompted."""
    deletes: Sequence[str] = ()
    """The records to delete afterwards, for an agent that DeletesRecords."""
    tools: Tools | None = None
    """The tools that the agent may call before it replies."""


NOTHING = Enclosed()


class Port(Protocol):
    """Answers the messages of one conversation."""

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities beyond replying."""

    @property
    def max_message_tokens(self) -> int:
        """The maximum length of one message."""

    @property
    def agent(self) -> Any:
        """The agent itself; AgentError if there is none."""

    @property
    def replaying(self) -> bool:
        """Whether the next event is recorded, so that nothing is sent."""

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the next recorded event if it is of this kind."""

    def open(self, said: Transcript) -> None:
        """Begin the conversation; `said` has its exchanges, including later ones."""

    def ready(self, by: str) -> None:
        """Prepare for the next message of an example; ConversationOver if it cannot be sent.

        Called before any of the message is written to the journal.
        """

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Return the reply to a message; AgentFault if there is none."""

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell the agent an exchange that needs no answer and return the event; AgentFault if the agent refuses it."""

    def written(self, reply: events.ReplyReceived) -> None:
        """Called when the reply is in the journal."""

    def new_session(self) -> str | None:
        """Send the next message to a new agent with its own memory.

        Returns a notice if closing the previous one failed; AgentFault if it cannot be
        saved.
        """

    def close(self) -> str | None:
        """Close the agent; return a notice if closing failed."""


# The number of faults in a row after which the agent counts as gone: further messages
# would only cost money.
MAX_CONSECUTIVE_FAULTS = 3


class _Answer(NamedTuple):
    """A reply, its duration in seconds, and what the agent shows of its memory."""

    reply: Reply
    seconds: float
    retrieved: tuple[str, ...] | None
    in_context: tuple[str, ...]
    memory: tuple[MemoryOperation, ...]


class Calling(Protocol):
    """Makes a call of the agent on behalf of an example."""

    def __call__(self, by: str, call: Callable[[], T], /) -> T:
        """Make the call and return its result."""


def call_now(_by: str, call: Callable[[], T]) -> T:
    """Make the call directly and return its result."""
    return call()


class LivePort:
    """Asks an agent, which `make` creates on first use, within budget and time limits.

    `known`: the agent of the recorded conversation that is resumed. A Checkpointable
    agent is saved after each exchange in `checkpoints`. Every call of the agent goes
    through `calling`, which can add a context around the call and suspend the
    conversation. `tariff`: token prices, used where the agent does not report a cost;
    `account`: its budget. `watch`: the stopwatch for replies.
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
        """The number of the last message sent."""
        self._asked: tuple[events.MessageSent, float] | None = None
        """The last answered message, and the duration of its reply in seconds."""

    @property
    def agent(self) -> Any:
        """The agent itself, created on first use."""
        return self._held.line.agent

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities beyond replying."""
        return self._held.capabilities

    @property
    def max_message_tokens(self) -> int:
        """The maximum length of one message."""
        return self._held.max_message_tokens

    def upcoming(self, kind: type[E]) -> E | None:  # noqa: ARG002 - the protocol's signature
        """Return None: nothing is recorded."""
        return None

    def open(self, said: Transcript) -> None:
        """Keep the transcript for an agent that is created later."""
        self._held.said = said

    def ready(self, by: str) -> None:
        """Ensure that the agent is ready, and tick the clock; ConversationOver if the budget is spent."""
        # Before the agent is created, since creating one may cost money, too.
        self._bill.check()
        self._have(by)
        self._clock.tick()

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Ask the agent; if it remembers a question asked alone, it is restored before the next message."""
        self._exchange = message.exchange
        self._have(message.by)
        # An agent that can answer without a trace does so; any other is restored
        # afterwards.
        strays = message.alone and not self.capabilities.leaves_no_trace

        def ask() -> _Answer:
            line = self._held.use()
            if "Settles" in self.capabilities and self._held.said:
                # Timed separately: settling is not part of the reply.
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
            # The reply is paid for; a fault in a follow-up query must not hide that.
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
        self._asked = message, answer.seconds
        account = sort_end(reply.finish_reason)
        return events.ReplyReceived(
            exchange=message.exchange,
            text=reply.text,
            tokens=self._counter.count(reply.text),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            hypothetical=reply.hypothetical,
            retrieved=answer.retrieved,
            places=self._places(message, answer),
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
        """Tell the agent an exchange, and save its state unless telling it again is cheaper."""
        self._exchange = told.exchange
        self._have("")
        line = self._held.line

        def tell() -> tuple[Reply, tuple[MemoryOperation, ...]]:
            began = stopwatch_seconds()
            with self._tracing(told.exchange):
                took = self._held.tell(told.message, told.reply, self._clock.now)
            seconds = round(stopwatch_seconds() - began, 6)
            self._timings.write(TellTime(exchange=told.exchange, seconds=seconds))
            memory = line.written() + self._traced()
            with self._bill.losing(took.usage):
                self._held.save_if_cheap(told.exchange)
            return took, memory

        calling = call_now if line.is_told_directly else self._calling
        with self._accounting():
            took, memory = calling("", tell)
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
        """Record the reply's duration, and charge its cost."""
        if self._asked is None:
            return
        # Only now: a resumed run reads its spending from the journal, which must not
        # show less.
        (message, seconds) = self._asked
        self._asked = None
        self._timings.write(
            ReplyTime(exchange=reply.exchange, seconds=round(seconds, 6))
        )
        self._bill.charge(reply, calls=1, counted=(message.tokens, reply.tokens))

    def new_session(self) -> str | None:
        """Save and close the agent; the next message goes to a new one. An unused agent is kept."""
        return self._calling("", self._held.renew)

    def note_retry(self, attempt: int, waited: float, error: BaseException) -> None:
        """Record a failed attempt that is retried, in the timings: the exchange counts once."""
        self._timings.write(
            Retry(
                exchange=self._exchange,
                attempt=attempt,
                waited=waited,
                error=str(error),
            )
        )

    def close(self) -> str | None:
        """Close the agent, if it was created; return a notice if closing failed."""
        self._bill.release()
        return self._held.close()

    # --- the agent, as the conversation needs it

    def _have(self, by: str) -> None:
        if not self._held.is_ready:
            self._calling(by, self.restore)

    def restore(self) -> None:
        """Bring the agent in step: it has heard the conversation and nothing else; ConversationOver if impossible."""
        self._held.restore()

    def _tracing(self, exchange: int) -> contextlib.AbstractContextManager[None]:
        """Assign the spans of calls made inside to an exchange."""
        if self._traces is None:
            return contextlib.nullcontext()
        return carry_trace(self._traces.begin_exchange(exchange))

    def _traced(self, *, patient: bool = False) -> tuple[MemoryOperation, ...]:
        if self._traces is None:
            return ()
        return self._traces.operations(self._exchange, patient=patient)

    # --- the parts of a reply

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
        self, message: events.MessageSent, answer: _Answer
    ) -> tuple[tuple[int, int], ...]:
        """Return the retrieval ranks of the needles, while the texts are whole: the record shortens them."""
        if answer.retrieved is None:
            return ()
        said = self._held.said
        # A watcher may follow a statement and ask about everything said before; so the
        # last hundred are looked up.
        if message.kind == "say":
            earlier = said.exchanges_of(message.by)[-100:]
        else:
            earlier = [said.number(number) for number in message.about]
        needles = {exchange.number: exchange.message for exchange in earlier}
        if not needles:
            return ()
        ranks = retrieval_ranks(answer.retrieved, answer.in_context, needles, said)
        return tuple(ranks.items())

    @contextlib.contextmanager
    def _accounting(self) -> Iterator[None]:
        """Record the cost of a call that fails."""
        try:
            yield
        except AgentFault as fault:
            self._held.note_fault(fault)
            fault.usage = self._bill.charge_lost()
            self._bill.release()
            raise
        except BaseException:  # Ctrl-C: the message has already been sent
            self._bill.charge_reserved()
            raise


def _as_asked(
    memory: Sequence[MemoryOperation], kind: Kind
) -> tuple[MemoryOperation, ...]:
    """Return the operations to keep: search results count only if they belong to a question."""
    return tuple(
        operation
        for operation in memory
        if operation.what != "found" or kind == "ask" or operation.exchange is not None
    )


class RecordedEvents(Protocol):
    """The recorded events of a conversation, from the current position."""

    @property
    def replaying(self) -> bool:
        """Whether the next event is recorded."""

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the next event if it is of this kind."""


class Recorded:
    """Answers from the record until its end, then from `then`."""

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
        """The agent's capabilities beyond replying."""
        return self._then.capabilities

    @property
    def max_message_tokens(self) -> int:
        """The maximum length of one message."""
        return self._then.max_message_tokens

    @property
    def agent(self) -> Any:
        """The agent that continues after the record."""
        return self._then.agent

    @property
    def replaying(self) -> bool:
        """Whether the next event is recorded."""
        return self._recorded.replaying

    def ready(self, by: str) -> None:
        """Set the clock to the time of the recorded message, or prepare the next port."""
        if not self.replaying:
            self._then.ready(by)
        elif (message := self.upcoming(events.MessageSent)) is not None:
            self._follow(message.now)

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed = NOTHING
    ) -> events.ReplyReceived:
        """Return the recorded reply or raise the recorded fault; a message without either is sent again."""
        return self._taken(events.ReplyReceived, message.exchange) or self._then.reply(
            message, enclosed
        )

    def new_session(self) -> str | None:
        """Begin a new session of the continuing agent; a recorded agent no longer exists."""
        return None if self.replaying else self._then.new_session()

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Return the recorded event, or tell the exchange after the record's end."""
        return self._taken(events.FillerSent, told.exchange) or self._then.tell(told)

    def _taken(self, kind: type[R], number: int) -> R | None:
        fault = self.upcoming(events.Fault)
        if fault is not None:
            # With its lost usage, so that the event written for it equals the recorded
            # one.
            repeated_fault = AgentFault(fault.text, fatal=fault.fatal)
            repeated_fault.passing = fault.passing
            repeated_fault.usage = fault.lost
            repeated_fault.leak = fault.leak
            raise repeated_fault
        result = self.upcoming(kind)
        if result is None:
            return None
        self._follow(result.now)
        return replace(result, exchange=number)

    def _follow(self, recorded: datetime | None) -> None:
        if recorded is not None and self._clock.real:
            self._clock.jump_to_recorded(recorded)
