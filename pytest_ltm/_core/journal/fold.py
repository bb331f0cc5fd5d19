"""The fold: turns the events of a journal into the state of its conversation; every reader of journals uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, convert, field

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.memory_ledger import MemoryLedger
from pytest_ltm._core.model.account import ACCOUNTS, Account, sort_end
from pytest_ltm._core.model.agent import CUT_OFF, ENDED_SOMEHOW, Mishap, add_mishaps
from pytest_ltm._core.model.transcript import RAW, Exchange, Reading, Transcript
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import LtmError

if TYPE_CHECKING:
    from typing_extensions import Self


class Leap(Struct, frozen=True, kw_only=True):
    """A jump in time, made because no example could speak."""

    position: int
    """Tokens of the conversation before it."""
    before: datetime
    to: datetime


class Example(Struct):
    """The recorded events of one example, apart from its exchanges."""

    begin: int | None = None
    """Tokens of the conversation before it; None if it never began."""
    end: int | None = None
    """Tokens of the conversation at its end; None if it has not ended."""
    waits: list[events.WaitBegan] = field(default_factory=list)
    watchers: list[events.Watcher] = field(default_factory=list)
    judged: list[events.JudgeAsked] = field(default_factory=list)
    """Its calls of the judge, including failed ones."""
    voiced: list[events.UserModelAsked] = field(default_factory=list)
    """Its calls of simulated users' models, including failed ones."""
    verdict: events.VerdictRecorded | None = None


class ConversationRecord(Struct):
    """A conversation as described by its events: its exchanges, their senders and times, and its end."""

    header: events.Header | None = None
    reading: Reading = RAW
    """How the agent's replies are read, as in the plan."""
    transcript: Transcript = field(default_factory=Transcript)
    """The exchanges; a message without a reply is not among them."""
    messages: dict[int, events.MessageSent] = field(default_factory=dict)
    """All messages that were sent, by their exchange."""
    replies: dict[int, events.ReplyReceived] = field(default_factory=dict)
    """The replies that the agent generated, by exchange."""
    faults: dict[int, events.Fault] = field(default_factory=dict)
    """The faults by exchange."""
    jumps: list[Leap] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    """Tokens of the conversation before each session but the first."""
    examples: dict[str, Example] = field(default_factory=dict)
    """By name (`colours/0`), in the order of their first events."""
    position: int = 0
    """Tokens of the conversation so far."""
    now: datetime = START
    """The conversation's time."""
    speaking: str = ""
    """The example that sent the last message, or began after it; "" for filler or none."""
    last: int | None = None
    """The number of the last message or told exchange."""
    faults_in_a_row: int = 0
    """Faults since the last reply."""
    memory: MemoryLedger = field(default_factory=MemoryLedger)
    """The operations of the agent's memory."""
    mishaps: dict[str, Mishap] = field(default_factory=dict)
    """Problems within the agent that did not become faults, summed up by kind."""
    reason: str | None = None
    """Why the conversation ended; None until its end is the last event."""
    head: str = ""
    """The checksum of the last line that was read from a journal."""

    @classmethod
    def read_record(cls, path: Path) -> Self:
        """Read a journal; LtmError, with file and line, if it cannot be read."""
        record = cls()
        for _ in record.follow_journal(path):
            pass
        return record

    @classmethod
    def after(cls, said: Iterable[events.Event]) -> Self:
        """Return the state after these events; ValueError if one cannot follow its predecessors."""
        record = cls()
        for event in said:
            record.add(event)
        return record

    def follow_journal(self, path: Path) -> Iterator[tuple[int, events.Event]]:
        """Apply a journal's events; after each one, yield it and the file offset of its end."""
        for number, (end, head, event) in enumerate(
            events.iter_event_lines(path), start=1
        ):
            try:
                self.add(event)
            except ValueError as error:
                raise LtmError(f"{path}, line {number}: {error}") from error
            self.head = head
            yield end, event

    @property
    def unanswered(self) -> dict[int, Exchange]:
        """The messages without a reply, as exchanges with an empty one."""
        return {
            number: _fold_exchange(message)
            for number, message in self.messages.items()
            if number not in self.replies
        }

    def count_accounts(self) -> tuple[tuple[Account, int], ...]:
        """Count the replies by how they were produced, including unscored ones; () if all are whole.

        A message that was sent again counts once, by its last outcome.
        """
        counts = Counter(
            exchange.account for exchange in self.transcript if not exchange.told
        )
        for number, fault in self.faults.items():
            if fault.account and number not in self.replies:
                counts[fault.account] += 1
        if not set(counts) - {"whole"}:
            return ()
        return tuple((name, counts[name]) for name in ACCOUNTS if counts[name])

    @property
    def complete(self) -> bool:
        """Whether the conversation is complete."""
        return self.reason == "complete"

    @property
    def ended_early(self) -> str:
        """Why the conversation ended early, such as a lost agent or a spent budget; "" if it did not."""
        if self.reason in {None, "complete", "interrupted"}:
            return ""
        return str(self.reason)

    @property
    def fatal(self) -> bool:
        """Whether the last fault ended the conversation, and no reply followed."""
        return self.faults_in_a_row > 0 and next(reversed(self.faults.values())).fatal

    @property
    def seconds(self) -> float:
        """The conversation's own time since its beginning; 0 if that is not recorded."""
        began = self.header and self.header.now
        return (self.now - began).total_seconds() if began else 0.0

    def example(self, name: str) -> Example:
        """Return the record of an example."""
        return self.examples.setdefault(name, Example())

    def exchange(self, number: int) -> Exchange | None:
        """Return the exchange of that number, with an empty reply if it has none; None if there is no such message."""
        try:
            return self.transcript.number(number)
        except KeyError:
            message = self.messages.get(number)
            if message is None:
                return None
            return _fold_exchange(message)

    def fault(self, number: int) -> str:
        """Return the fault of that message; "" if it did not fail."""
        if number in self.faults:
            return self.faults[number].text
        return ""

    def add(self, event: events.Event) -> None:
        """Apply the next event; ValueError if it cannot follow its predecessors."""
        self.reason = None
        match event:  # the most frequent kinds first
            case events.MessageSent():
                self.messages[event.exchange] = event
                self.position = event.position
                self.now = event.now
                self.speaking = event.by
                self.last = event.exchange
            case events.ReplyReceived():
                self._add_reply(event)
            case events.FillerSent():
                self.speaking = ""
                self.last = event.exchange
                self._add_exchange(_fold_told(event, self.position, self.now), event)
            case events.TimeJumped():
                self.jumps.append(
                    Leap(position=self.position, before=self.now, to=event.to)
                )
                self.now = event.to
            case events.Fault():
                # So that the latest fault is last.
                self.faults.pop(event.exchange, None)
                self.faults[event.exchange] = event
                # An agent that leaks still answers, so it does not count as gone.
                self.faults_in_a_row += not event.leak
            case events.SessionBegan():
                self.sessions.append(self.position)
            case events.Header():
                self._begin(event)
            case events.End(reason=str() as reason):
                self.reason = reason
            case _:
                self._add_to_example(event)

    def _add_to_example(self, event: events.Event) -> None:
        match event:  # a judge's check belongs to the run, not to an example
            case events.WaitBegan():
                self.example(event.example).waits.append(event)
            case events.Begin():
                self.example(event.example).begin = event.position
                self.now = event.now
                self.speaking = event.example
            case events.End(example=str() as name):
                self.example(name).end = self.position
            case events.JudgeAsked():
                self.example(event.example).judged.append(event)
            case events.UserModelAsked():
                self.example(event.example).voiced.append(event)
            case events.VerdictRecorded():
                self.example(event.example).verdict = event
            case events.Watcher():
                self.example(event.example).watchers.append(event)

    def _begin(self, header: events.Header) -> None:
        self.header = header
        self.now = header.now or self.now
        if not self.transcript:
            self.transcript.counts = header.plan.get("count", "all")
            self.reading = convert(header.plan.get("reading", {}), Reading)

    def _add_reply(self, event: events.ReplyReceived) -> None:
        message = self.messages.get(event.exchange)
        if message is None or event.exchange in self.replies:
            raise ValueError(
                f"a reply to no message: no message {event.exchange} waits for one"
            )
        self.replies[event.exchange] = event
        exchange = _fold_exchange(message, event, self.reading)
        # Unless the agent has reported it itself: one cut reply is one mishap.
        if exchange.account == "cut" and not any(
            mishap.what.startswith(CUT_OFF) for mishap in event.mishaps
        ):
            add_mishaps(self.mishaps, [Mishap(f"{CUT_OFF}its limit")])
        if exchange.account == "unknown":
            cure = f"if that is as good as 'stop', give ends={event.finish_reason}"
            mishap = Mishap(f"{ENDED_SOMEHOW}{event.finish_reason!r} ({cure})")
            add_mishaps(self.mishaps, [mishap])
        self._add_exchange(exchange, event)

    def _add_exchange(
        self, exchange: Exchange, event: events.ReplyReceived | events.FillerSent
    ) -> None:
        add_mishaps(self.mishaps, event.mishaps)
        self.memory.add(event.exchange, event.memory)
        self.transcript.append(exchange)
        self.position = self.transcript.position
        self.now = event.now or self.now
        self.faults_in_a_row = 0


def _fold_told(event: events.FillerSent, start: int, now: datetime) -> Exchange:
    return Exchange(
        number=event.exchange,
        by="",
        kind="history" if event.history else "filler",
        message=event.message,
        reply=event.reply,
        start=start,
        message_tokens=event.message_tokens,
        reply_tokens=event.reply_tokens,
        now=now,
        told=True,
    )


def _fold_exchange(
    message: events.MessageSent,
    reply_event: events.ReplyReceived | None = None,
    read: Reading = RAW,
) -> Exchange:
    received = reply_event or events.ReplyReceived(
        exchange=message.exchange, text="", tokens=0
    )
    reply = read(received.text)
    return Exchange(
        number=message.exchange,
        by=message.by,
        kind=message.kind,
        message=message.text,
        reply=reply,
        start=message.position,
        message_tokens=message.tokens,
        reply_tokens=received.tokens,
        now=message.now,
        retrieved=received.retrieved,
        places=received.places,
        user=message.user,
        unread=None if reply == received.text else received.text,
        account=received.account or sort_end(received.finish_reason),
        alone=message.alone,
        calls=received.calls,
    )
