"""Port: who answers in a conversation. `Live` asks an agent, `Recorded` takes what is recorded before it asks.

A port may take its time: a conversation that asks one may be suspended meanwhile.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm._journal import events
from pytest_ltm._journal.cost import Tariff
from pytest_ltm._journal.retrieval_recall import places
from pytest_ltm._journal.timings import ReplyTime, Retry, TellTime
from pytest_ltm._model.transcript import Transcript
from pytest_ltm._storage.clock import stopwatch
from pytest_ltm._storage.disk import refused, write_whole
from pytest_ltm._storage.errors import AgentError, AgentFault, ConversationOver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from typing_extensions import Self

    from pytest_ltm._journal.cost import Account
    from pytest_ltm._journal.timings import Timings
    from pytest_ltm._model.agent import ExpectedReply, Reply, Usage
    from pytest_ltm._model.tokens import TokenCounter
    from pytest_ltm._model.transcript import Exchange
    from pytest_ltm._storage.clock import Clock

E = TypeVar("E", bound=events.Event)
T = TypeVar("T")
R = TypeVar("R", events.ReplyReceived, events.FillerSent)
_NEEDLES = 100
"""Messages at most that are looked for on the chance that a watcher follows."""


class AgentLine(Protocol):
    """Talks to one agent; whatever goes wrong there is an AgentFault."""

    agent: Any
    capabilities: frozenset[str]
    max_message_tokens: int
    lost: Usage | None
    """What attempts that came to nothing have used, in the last call of `ask` or `tell`."""

    @property
    def saves_cheaply(self) -> bool:
        """Whether saving takes less time in all than talking does."""

    def ask(self, message: str, images: Sequence[str] = (), user: str = "") -> Reply:
        """Return the agent's reply; `user`: whose message it is."""

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        """Tell an exchange, and return what that took as a reply without a text."""

    def save(self) -> bytes:
        """Return the agent's state."""

    def load(self, state: bytes) -> None:
        """Put the agent back into a state."""

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

    def close(self) -> str | None:
        """Let the agent go; returns a notice if it would not go quietly."""


class Port(Protocol):
    """Answers the messages of one conversation."""

    @property
    def capabilities(self) -> frozenset[str]:
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
        self, message: events.MessageSent, images: Sequence[str] = (), prompts: Sequence[ExpectedReply] = ()
    ) -> events.ReplyReceived:
        """Return the reply to a message and the images in these files; AgentFault if there is none.

        `prompts`: what full marks ask for, for a control that is Prompted.
        """

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell an exchange that needs no answer and return what was told; AgentFault if the agent will not have it."""

    def written(self, reply: events.ReplyReceived) -> None:
        """The reply is in the journal."""

    def new_session(self) -> str | None:
        """Have the next message go to an agent made anew, which has its own memory.

        Returns a notice if the one before would not go quietly; AgentFault if it cannot be saved.
        """

    def close(self) -> str | None:
        """Let the agent go; returns a notice if it would not go quietly."""


KEPT = 2
"""The number of states kept: that of the last exchange in the journal, and the one that was about to get there."""


class Checkpoints:
    """States in a folder, `<exchange>.bin`; without a folder the last ones are held in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[int, bytes] = {}
        """By exchange; the state itself where there is no folder."""
        if folder is not None and folder.is_dir():
            self._held = {int(path.stem): b"" for path in folder.glob("*.bin") if path.stem.isdecimal()}

    @property
    def is_empty(self) -> bool:
        """Whether no state is kept."""
        return not self._held

    def has(self, number: int) -> bool:
        """Return whether the state after an exchange is kept."""
        return number in self._held

    def keep(self, number: int, state: bytes) -> None:
        """Keep the state after an exchange, and forget all but the last two; DiskFault if that cannot be."""
        if self._folder is not None:
            try:
                self._folder.mkdir(exist_ok=True)
            except OSError as error:
                raise refused(self._folder, error) from error
            write_whole(self._folder / f"{number}.bin", state)
        self._held[number] = b"" if self._folder is not None else state
        for old in sorted(self._held)[:-KEPT]:
            del self._held[old]
            if self._folder is not None:
                (self._folder / f"{old}.bin").unlink(missing_ok=True)

    def state(self, number: int) -> bytes:
        """Return the state after an exchange that is kept."""
        if self._folder is None:
            return self._held[number]
        try:
            return (self._folder / f"{number}.bin").read_bytes()
        except OSError as error:
            raise refused(self._folder / f"{number}.bin", error) from error


PATIENCE = 3
"""The number of faults in a row after which the agent counts as gone: more messages would only cost."""
PUT_BACK = ("Stateless", "Checkpointable", "AcceptsHistory")
"""Capabilities by which an agent's state can be restored, in order of preference."""


class RecordedAgent(Struct, frozen=True):
    """What a journal knows of an agent that need not be there."""

    capabilities: frozenset[str]
    max_message_tokens: int


def cannot_be_put_back(capabilities: frozenset[str]) -> str:
    """Return why an agent with these capabilities cannot resume a recorded conversation, or ""."""
    if capabilities & set(PUT_BACK):
        return ""
    return (
        "the agent cannot be restored to where it was: it is neither Checkpointable (save, load) nor AcceptsHistory "
        "(accept) nor Stateless (stateless = True)"
    )


class Connection:
    """Talks to the agent of one conversation through a speaker that `make` makes when it is first needed.

    `known`: of the recorded conversation that the agent resumes. A Checkpointable agent is saved after each
    exchange in `checkpoints`, one that is Stateless, too, is not: it has nothing to save.
    """

    def __init__(
        self,
        make: Callable[[], AgentLine],
        *,
        known: RecordedAgent | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._make, self._known = make, known
        self._checkpoints = checkpoints or Checkpoints(None)
        self._speaker: AgentLine | None = None
        self._first: bytes | None = None
        """The state before the first message."""
        self._used = False
        """It has heard something since it was made."""
        self._behind = known is not None
        self._lost: Usage | None = None

    @classmethod
    def of(cls, speaker: AgentLine) -> Self:
        """Return the connection of an agent that is there already."""
        connection = cls(lambda: speaker)
        connection._speaker = speaker
        return connection

    @property
    def speaker(self) -> AgentLine:
        """What talks to the agent; AgentError if the agent cannot be made."""
        if self._speaker is None:
            self._speaker = self._make()
        return self._speaker

    @property
    def agent(self) -> Any:
        """The agent itself."""
        return self.speaker.agent

    @property
    def capabilities(self) -> frozenset[str]:
        """What the agent can do beyond replying."""
        return self.speaker.capabilities if self._known is None else self._known.capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self.speaker.max_message_tokens if self._known is None else self._known.max_message_tokens

    @property
    def is_ready(self) -> bool:
        """Whether `ready` has nothing to do."""
        fresh = not self._used and self._speaker is not None and not self._saves
        return (self._used or fresh) and not self._behind

    def ready(self, said: Sequence[Exchange]) -> None:
        """Have an agent there that has heard what was said, and nothing else; ConversationOver if that cannot be."""
        try:
            speaker = self.speaker
        except AgentError as error:
            raise ConversationOver(str(error)) from error
        if self._behind:
            try:
                self._put_back(said)
            except AgentError as error:
                raise ConversationOver(f"the agent cannot be restored to where it was: {error}") from error
        elif not self._used and self._saves:
            with contextlib.suppress(AgentFault):  # it will be told after the first message
                self._first = speaker.save()
        self._behind, self._used = False, True

    def ask(
        self,
        by: str,
        text: str,
        now: datetime,
        images: Sequence[str] = (),
        prompts: Sequence[ExpectedReply] = (),
        user: str = "",
    ) -> Reply:
        """Return the agent's reply to a message and the images in these files; AgentFault if there is none."""
        self._used = True
        speaker = self.speaker
        speaker.announce(by)
        if prompts:
            speaker.prompt(prompts)
        speaker.tell_time(now)
        try:
            return speaker.ask(text, images, user)
        finally:
            self.lose(speaker.lost)

    def lose(self, usage: Usage | None) -> None:
        """Note what was used and came to nothing."""
        if usage is not None:
            self._lost = usage + self._lost

    def lost(self) -> Usage | None:
        """Return what was used and came to nothing since this was called last."""
        lost, self._lost = self._lost, None
        return lost

    def retrieved(self) -> tuple[str, ...] | None:
        """Return what the agent retrieved for its last reply, if it shows that."""
        return self.speaker.retrieved()

    def in_context(self) -> tuple[str, ...]:
        """Return what stood before the agent for its last reply anyway, as far as it shows that."""
        return self.speaker.in_context()

    def tell(self, message: str, reply: str, now: datetime, user: str = "") -> Reply:
        """Tell an AcceptsHistory agent an exchange; AgentFault if it will not have it."""
        self._used = True
        self.speaker.tell_time(now)
        try:
            return self.speaker.tell(message, reply, user)
        finally:
            self.lose(self.speaker.lost)

    def keep(self, number: int) -> None:
        """Save a Checkpointable agent after an exchange; AgentFault if it cannot be, DiskFault if the disk is full."""
        if self._saves:
            self._checkpoints.keep(number, self.speaker.save())

    def keep_told(self, number: int) -> None:
        """Save an agent after an exchange that it was told, unless it is cheaper to tell it again than to save it.

        Saving takes no more time in all than talking does: else a long history would cost the square of its length.
        """
        if self._saves and (self._checkpoints.is_empty or self.speaker.saves_cheaply):
            self.keep(number)

    def faulted(self, fault: AgentFault) -> None:
        """Note that the agent may have heard a message that it did not reply to: it is restored before the next."""
        if self._saves or (fault.interrupted and "AcceptsHistory" in self.capabilities):
            self._behind = True

    def renew(self, said: Sequence[Exchange]) -> str | None:
        """Let the agent go for another that has its memory; returns a notice if it would not go quietly.

        AgentFault if it cannot be saved. One that is not there, or has heard nothing, stays as it is.
        """
        if self._speaker is None or not self._used or not said:
            return None
        if self._saves and not self._checkpoints.has(said[-1].number):
            self.keep(said[-1].number)
        self._behind, self._used = self._saves and "KeepsUsers" not in self.capabilities, False
        notice, self._speaker = self.close(), None
        return notice

    def close(self) -> str | None:
        """Let the agent go, if it was ever there; returns a notice if it would not go quietly."""
        return None if self._speaker is None else self._speaker.close()

    @property
    def _saves(self) -> bool:
        return "Checkpointable" in self.capabilities and "Stateless" not in self.capabilities

    def _put_back(self, said: Sequence[Exchange]) -> None:
        if self._saves:
            self._load(said)
        elif "AcceptsHistory" in self.capabilities and "Stateless" not in self.capabilities:
            self._tell_all(said)
        elif said and "Stateless" not in self.capabilities:
            raise ConversationOver(cannot_be_put_back(self.capabilities))

    def _load(self, said: Sequence[Exchange]) -> None:
        if not said:
            if self._first is not None:
                self.speaker.load(self._first)
            return
        place = len(said) - 1
        while said[place].told and place and not self._checkpoints.has(said[place].number):
            place -= 1
        number = said[place].number
        if not self._checkpoints.has(number) and "AcceptsHistory" in self.capabilities:
            self._tell_all(said)
            return
        if not self._checkpoints.has(number) or (
            said[-1].number != number and "AcceptsHistory" not in self.capabilities
        ):
            raise AgentError(f"there is no checkpoint of exchange {said[-1].number}")
        self.speaker.load(self._checkpoints.state(number))
        self._tell_again(said[place + 1 :])

    def _tell_all(self, said: Sequence[Exchange]) -> None:
        if self._used:
            self.close()
            self._speaker = None
        self._tell_again(said)

    def _tell_again(self, said: Sequence[Exchange]) -> None:
        for exchange in said:
            self.lose(self.tell(exchange.message, exchange.reply, exchange.now, exchange.user).usage)


class Calling(Protocol):
    """Carries out a call of the agent on behalf of an example."""

    def __call__(self, by: str, call: Callable[[], T], /) -> T:
        """Return what the call returns."""


def _at_once(_by: str, call: Callable[[], T]) -> T:
    return call()


class LivePort:
    """Asks an agent, within the budget, and times it.

    `calling` has every call of the agent: what surrounds one is put in place there, and there a conversation can be
    suspended. `tariff`: what the agent's tokens cost where it does not say; `account`: where its budget is kept.
    `watch`: what times replies.
    """

    replaying = False

    def __init__(
        self,
        connection: Connection,
        counter: TokenCounter,
        clock: Clock,
        timings: Timings,
        *,
        calling: Calling = _at_once,
        tariff: Tariff | None = None,
        account: Account | None = None,
        watch: Callable[[], float] = stopwatch,
    ) -> None:
        self._watch = watch
        self._connection, self._counter, self._clock, self._timings = connection, counter, clock, timings
        self._calling, self._tariff, self._account = calling, tariff or Tariff(), account
        self._said = Transcript()
        self._exchange = -1
        """The number of the last message that went out."""
        self._asked: tuple[events.MessageSent, float] | None = None
        """The last message that was answered, and the seconds that it took."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What the agent can do beyond replying."""
        return self._connection.capabilities

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self._connection.max_message_tokens

    @property
    def agent(self) -> Any:
        """The agent itself; it is made on first use."""
        return self._connection.agent

    def upcoming(self, kind: type[E]) -> E | None:  # noqa: ARG002 - the protocol's signature
        """Return None: nothing is recorded."""
        return None

    def open(self, said: Transcript) -> None:
        """Keep what an agent that is made later has to know."""
        self._said = said

    def ready(self, by: str) -> None:
        """Have the agent there, and look at the clock; ConversationOver where the budget is spent."""
        if self._account is not None:
            self._account.check()
        self._have(by)
        self._clock.tick()

    def reply(
        self, message: events.MessageSent, images: Sequence[str] = (), prompts: Sequence[ExpectedReply] = ()
    ) -> events.ReplyReceived:
        """Ask the agent."""
        self._exchange = message.exchange
        self._have(message.by)

        def ask() -> tuple[Reply, float, tuple[str, ...] | None, tuple[str, ...]]:
            began = self._watch()
            reply = self._connection.ask(message.by, message.text, self._clock.now, images, prompts, message.user)
            seconds = self._watch() - began
            try:
                retrieved, in_context = self._connection.retrieved(), self._connection.in_context()
                self._connection.keep(message.exchange)
            except AgentFault:
                self._connection.lose(reply.usage)
                raise
            return reply, seconds, retrieved, in_context

        reply, seconds, retrieved, in_context = self._attempt(message.by, ask)
        self._asked = message, seconds
        return events.ReplyReceived(
            exchange=message.exchange, text=reply.text, tokens=self._counter.count(reply.text), usage=reply.usage,
            cost_usd=reply.cost_usd, hypothetical=reply.hypothetical, retrieved=retrieved,
            places=() if retrieved is None else self._places(message, retrieved, in_context), now=self._clock.tick(),
            lost=self._spent_in_vain(), finish_reason=reply.finish_reason, thoughts=reply.thoughts,
            mishaps=reply.mishaps,
        )  # fmt: skip

    def _places(
        self, message: events.MessageSent, retrieved: Sequence[str], in_context: Sequence[str]
    ) -> tuple[tuple[int, int], ...]:
        """Return where what a question may depend on was found: texts are whole here, and cut in the record."""
        about = [self._said.number(number) for number in message.about]
        # what is said may have a watcher, which asks for all that was said before
        earlier = self._said.of(message.by)[-_NEEDLES:] if message.kind == "say" else about
        needles = {one.number: one.message for one in earlier}
        return tuple(places(retrieved, in_context, needles, self._said).items()) if needles else ()

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Tell the agent."""
        self._exchange = told.exchange
        self._have("")

        def tell() -> tuple[Reply, float]:
            began = stopwatch()
            took = self._connection.tell(told.message, told.reply, self._clock.now)
            seconds = stopwatch() - began
            try:
                self._connection.keep_told(told.exchange)
            except AgentFault:
                self._connection.lose(took.usage)
                raise
            return took, seconds

        took, seconds = self._attempt("", tell)
        self._timings.write(TellTime(exchange=told.exchange, seconds=round(seconds, 6)))
        told = replace(
            told, reply_tokens=self._counter.count(told.reply), now=self._clock.tick(), usage=took.usage,
            cost_usd=took.cost_usd, hypothetical=took.hypothetical, lost=self._spent_in_vain(),
            mishaps=took.mishaps,
        )  # fmt: skip
        self._charge(told, calls=0)
        return told

    def written(self, reply: events.ReplyReceived) -> None:
        """Write down what the reply took, and charge it."""
        if self._asked is None:
            return
        (message, seconds), self._asked = self._asked, None
        self._timings.write(ReplyTime(exchange=reply.exchange, seconds=round(seconds, 6)))
        self._charge(reply, calls=1, counted=(message.tokens, reply.tokens))

    def new_session(self) -> str | None:
        """Let the agent go; the next message goes to another."""
        return self._calling("", lambda: self._connection.renew(self._said))

    def retried(self, attempt: int, waited: float, error: BaseException) -> None:
        """Note an attempt that is followed by another, in the timings: the exchange counts once."""
        self._timings.write(Retry(exchange=self._exchange, attempt=attempt, waited=waited, error=str(error)))

    def close(self) -> str | None:
        """Let the agent go."""
        if self._account is not None:
            self._account.release()
        return self._connection.close()

    def _have(self, by: str) -> None:
        if not self._connection.is_ready:
            self._calling(by, lambda: self._connection.ready(self._said))

    def _attempt(self, by: str, call: Callable[[], T]) -> T:
        try:
            return self._calling(by, call)
        except AgentFault as fault:
            self._connection.faulted(fault)
            fault.usage = self._spent_in_vain()
            if self._account is not None:
                self._account.release()
            raise
        except BaseException:  # Ctrl-C: what was sent is on its way
            if self._account is not None:
                self._account.vanish()
            raise

    def _charge(
        self, took: events.ReplyReceived | events.FillerSent, *, calls: int, counted: tuple[int, int] = (0, 0)
    ) -> None:
        """Charge what was answered or told; what was told and used nothing is free."""
        if self._account is None:
            return
        if took.hypothetical or not (calls or took.usage is not None or took.cost_usd is not None):
            self._account.release()
            return
        usd, tokens = self._tariff.spent(took, counted=counted)
        metered = took.usage is not None or took.cost_usd is not None or self._tariff.free
        self._account.add("agent", usd=usd, tokens=tokens, calls=calls, metered=metered)

    def _spent_in_vain(self) -> Usage | None:
        """Return what was used and came to nothing, and charge it."""
        lost = self._connection.lost()
        if lost is not None and self._account is not None:
            self._account.lose(usd=self._tariff.of(lost), tokens=lost.total)
        return lost


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
        self.upcoming, self.open, self.written, self.close = recorded.upcoming, then.open, then.written, then.close

    @property
    def capabilities(self) -> frozenset[str]:
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
        self, message: events.MessageSent, images: Sequence[str] = (), prompts: Sequence[ExpectedReply] = ()
    ) -> events.ReplyReceived:
        """Return the recorded reply, or raise the recorded fault; a message that was in flight is sent again."""
        return self._taken(events.ReplyReceived, message.exchange) or self._then.reply(message, images, prompts)

    def new_session(self) -> str | None:
        """Have the agent that goes on made anew; one of the record is gone."""
        return None if self.replaying else self._then.new_session()

    def tell(self, told: events.FillerSent) -> events.FillerSent:
        """Return what was told then."""
        return self._taken(events.FillerSent, told.exchange) or self._then.tell(told)

    def _taken(self, kind: type[R], number: int) -> R | None:
        fault = self.upcoming(events.Fault)
        if fault is not None:
            again = AgentFault(fault.text, fatal=fault.fatal)
            again.usage = fault.lost
            raise again
        found = self.upcoming(kind)
        if found is None:
            return None
        self._follow(found.now)
        return found if found.exchange == number else replace(found, exchange=number)

    def _follow(self, recorded: datetime | None) -> None:
        if recorded is not None and self._clock.real:
            self._clock.follow(recorded)
