"""Events: the lines of a journal, one frozen struct for each kind; Journal: the file that they are written to.

The header has "format" first. Each line ends in a checksum (`_core/journal/codec.py`).
Differences between equal runs (latencies, wall times) are not events: see
`timings.jsonl`.
"""

# Annotations are evaluated here, because they define how each field is read.

import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, TypeVar, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from pytest_ltm._core.journal import codec
from pytest_ltm._core.journal.codec import (
    Chain,
    JournalRecord,
    NonNegativeInt,
    RecordCodec,
    find_damages,
    strip_checksum,
    whole_lines,
)
from pytest_ltm._core.model.account import Account
from pytest_ltm._core.model.agent import MemoryOperation, Mishap, Usage
from pytest_ltm._core.model.tools import AnsweredCall
from pytest_ltm._core.model.transcript import Kind
from pytest_ltm._core.storage.disk import (
    Appender,
    append_line,
    open_regular,
    read_regular,
)
from pytest_ltm._core.storage.errors import ConversationOver, Divergence, LtmError
from pytest_ltm._core.storage.schema import ReportedDollars

FORMAT = 3

# --- the kinds of events


class AgentFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A header's data about the agent, which decides what may be sent to it and what it may remember."""

    spec: str
    configuration: object
    """JSON values, without secrets; None if it reports none."""
    capabilities: tuple[str, ...]
    """Sorted."""
    max_message_tokens: NonNegativeInt
    """0 if the agent could not be created."""


class Header(JournalRecord, frozen=True, kw_only=True):
    """The first event: the conditions at the beginning of the conversation."""

    # Unlike a default, a factory's value is always written.
    format: NonNegativeInt = field(default_factory=lambda: FORMAT)
    plan: Mapping[str, Any]
    plan_fingerprint: str
    agent_fingerprint: str
    now: datetime | None = None
    """The conversation's time at its beginning; None in an imported conversation."""
    agent: AgentFacts | None = None
    """None in an imported conversation."""


class Begin(JournalRecord, frozen=True, kw_only=True):
    """An example begins."""

    example: str
    position: NonNegativeInt
    """Tokens of the conversation before it."""
    now: datetime


class MessageSent(JournalRecord, tag="message", frozen=True, kw_only=True):
    """A message, written before it is sent."""

    exchange: NonNegativeInt
    by: str
    """The example that speaks, or "" for opening, filler and history."""
    kind: Kind
    text: str
    tokens: NonNegativeInt
    position: NonNegativeInt
    """Tokens of the conversation before it."""
    now: datetime
    about: tuple[NonNegativeInt, ...] = ()
    """The numbers of the exchanges that a question depends on."""
    images: tuple[str, ...] = ()
    """Names of the files that an AcceptsImages agent sees in addition to the text."""
    user: str = ""
    """The sender, for an agent that SeparatesUsers."""
    alone: bool = False
    """A question that leaves no trace: the agent's state is then as before."""


class ReplyReceived(JournalRecord, tag="reply", frozen=True, kw_only=True):
    """The agent's reply to the message of that number."""

    exchange: NonNegativeInt
    text: str
    tokens: NonNegativeInt
    usage: Usage | None = None
    cost_usd: ReportedDollars | None = None
    hypothetical: bool = False
    """Usage and cost are hypothetical: nothing is spent."""
    retrieved: tuple[str, ...] | None = None
    """The texts that the agent retrieved, best first; None if it does not report them. Long texts are cut."""
    places: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] = ()
    """The number of each earlier exchange that may be a needle, as far as known, and the rank, from 1, of the first
    retrieved text that contains its whole message; 0 if none does."""
    now: datetime | None = None
    """The time of arrival, if the clock is real."""
    lost: Usage | None = None
    """The usage of failed attempts before it."""
    finish_reason: str = ""
    """How it ended, as reported by the agent's provider: `stop`, `length`; "" if not reported."""
    thoughts: str = ""
    """The thoughts behind it, separate from the text."""
    account: Account | Literal[""] = ""
    """How it was produced, if it is not whole: cut, or unknown; older records have only `finish_reason`."""
    mishaps: tuple[Mishap, ...] = ()
    """Problems within the agent that did not become a fault."""
    memory: tuple[MemoryOperation, ...] = ()
    """Memory operations since the previous exchange, as far as reported."""
    calls: tuple[AnsweredCall, ...] = ()
    """The tools that it called before it replied, in order."""


class FillerSent(JournalRecord, tag="filler", frozen=True, kw_only=True):
    """An exchange that the agent was told, without generating a reply."""

    exchange: NonNegativeInt
    message: str
    message_tokens: NonNegativeInt
    reply: str
    reply_tokens: NonNegativeInt
    history: str = ""
    """Its id in the conversation's history, if it is part of that."""
    now: datetime | None = None
    """The time after it was told, if the clock is real."""
    usage: Usage | None = None
    """The usage for storing it, if the agent reports that."""
    cost_usd: ReportedDollars | None = None
    hypothetical: bool = False
    """Usage and cost are hypothetical: nothing is spent."""
    lost: Usage | None = None
    """The usage of failed attempts before it."""
    mishaps: tuple[Mishap, ...] = ()
    """Problems within the agent that did not become a fault."""
    memory: tuple[MemoryOperation, ...] = ()
    """Memory operations since the previous exchange."""


class WaitBegan(JournalRecord, tag="wait", frozen=True, kw_only=True):
    """An example waits until all three conditions are met."""

    example: str
    tokens: NonNegativeInt
    """The position to reach, in tokens that count towards spans."""
    time: datetime
    history: NonNegativeInt = 0
    """The number of exchanges of the history to be told."""


class TimeJumped(JournalRecord, tag="jump", frozen=True, kw_only=True):
    """Time jumps, because no example could speak."""

    to: datetime


class SessionBegan(JournalRecord, tag="session", frozen=True, kw_only=True):
    """The user's next session begins: a new agent starts with its own memory only."""

    example: str = ""
    """The example that asked for it; "": it was due."""


class Watcher(JournalRecord, frozen=True, kw_only=True):
    """An example begins to watch."""

    example: str
    replies: NonNegativeInt | None
    """The number of replies that it counts; None: it lasts until the end of the conversation."""


class ModelAsked(JournalRecord, tag="asked", frozen=True, kw_only=True):
    """An example asked a model other than the agent: it replied or failed."""

    example: str
    name: str
    """The name of the prompt."""
    version: NonNegativeInt
    """The version of the prompt."""
    prompt: str
    """The hash of the whole question."""
    vote: NonNegativeInt
    reply: str | None = None
    usage: Usage | None = None
    cost_usd: ReportedDollars | None = None
    fault: str | None = None
    """Why there is no reply."""

    def __post_init__(self) -> None:
        if (self.reply is None) == (self.fault is None):
            raise ValueError("a model that is asked either replies or has a fault")


class JudgeAsked(ModelAsked, tag="judge", frozen=True, kw_only=True):
    """An example asked the judge."""


class JudgeChecked(ModelAsked, tag="check", frozen=True, kw_only=True):
    """The judge was asked about an answer with a known grade, independent of the examples."""

    example: str = ""
    question: str
    reference: str
    """A correct answer."""
    answer: str
    passes: bool
    """Whether the judge should pass it."""
    kind: str = ""
    """The kind of answer, such as `vague`; "" in older records."""


class UserModelAsked(ModelAsked, tag="user", frozen=True, kw_only=True):
    """A simulated user's model was asked for its next message."""

    model: str
    """The model's name in the scenario."""


class VerdictRecorded(JournalRecord, tag="verdict", frozen=True, kw_only=True):
    """The outcome of an example."""

    example: str
    score: float | None
    """None: unscored."""
    reason: str
    rule: str
    evidence: str
    checks: tuple[tuple[str, bool | None], ...]
    """Labels, and whether each check passed; None: undecided."""
    upper: float | None = None
    """The score if all open parts passed; None: no part is open."""


class Fault(JournalRecord, frozen=True, kw_only=True):
    """The agent refused a message or a told exchange, or did not reply."""

    exchange: NonNegativeInt
    text: str
    fatal: bool = False
    """The conversation cannot continue after it."""
    passing: bool = False
    """The same message may be answered later, so a resumed run sends it again."""
    lost: Usage | None = None
    """The usage despite the failure."""
    account: Account | Literal[""] = ""
    """How an unusable reply was produced: broken off, kept back ...; "" if no reply came."""
    leak: bool = False
    """The agent revealed another user's data: the example fails, and the conversation continues."""


class End(JournalRecord, frozen=True, kw_only=True):
    """An example has ended, or the conversation has."""

    example: str | None = None
    reason: str | None = None
    """Why the conversation ended: `complete`, `interrupted` or a sentence."""

    def __post_init__(self) -> None:
        if (self.example is None) == (self.reason is None):
            raise ValueError(
                "an end has either an example or, for the conversation, a reason"
            )


Event: TypeAlias = (
    Header
    | Begin
    | MessageSent
    | ReplyReceived
    | FillerSent
    | WaitBegan
    | TimeJumped
    | SessionBegan
    | Watcher
    | JudgeAsked
    | JudgeChecked
    | UserModelAsked
    | VerdictRecorded
    | Fault
    | End
)
_LINES: RecordCodec[Event] = RecordCodec(get_args(Event), f"journal format {FORMAT}")
# The kinds by their "event" member.
KINDS: Mapping[str, type[Event]] = _LINES.kinds
# Events with only names and numbers, and the agent's replies, which were redacted on
# arrival.
_CLEAN = frozenset({Begin, WaitBegan, TimeJumped, SessionBegan, Watcher, ReplyReceived})

# --- to and from lines


def encode_event(event: Event) -> str:
    """Encode an event as its line, without secrets."""
    return codec.encode_record(event, clean=type(event) in _CLEAN)


def decode_event(line: bytes | str, where: str) -> Event:
    """Decode a line; LtmError that begins with `where` if it is not an event of this format."""
    event = _LINES.decode(line, where)
    if isinstance(event, Header) and event.format != FORMAT:
        raise LtmError(
            f"{where}: a journal of format {event.format}; this version of pytest-ltm reads format {FORMAT}. Read it "
            "with the version that wrote it"
        )
    return event


def without_texts(event: Event) -> Event:
    """Return an event with only its names and numbers."""
    match event:
        case MessageSent():
            return replace(event, text="")
        case ReplyReceived():
            calls = tuple(
                [replace(call, arguments={}, result="") for call in event.calls]
            )
            return replace(
                event, text="", retrieved=None, thoughts="", memory=(), calls=calls
            )
        case FillerSent():
            return replace(event, message="", reply="", memory=())
        # The event requires either a reply or a fault.
        case ModelAsked(reply=str()):
            return replace(event, prompt="", reply="")
        case ModelAsked():
            return replace(event, prompt="", fault="")
        case _:
            return event


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, header first; a torn last line is dropped.

    Raises LtmError, with file and line, if the file is not an unchanged journal of this
    format.
    """
    for _, _, event in iter_event_lines(path):
        yield event


def iter_event_lines(path: Path) -> Iterator[tuple[int, str, Event]]:
    """Yield the events of a journal like `read_events`, each with the file offset of its end and its checksum."""
    end = 0
    chain = Chain()
    for number, line in whole_lines(path):
        where = f"{path}, line {number}"
        text = chain.verify_line(line)
        if text is None:
            if number == 1 and line == strip_checksum(line):
                # A journal of another format, or not a journal.
                decode_event(line, where)
            raise LtmError(describe_damage(path))
        event = decode_event(text, where)
        if (number == 1) != isinstance(event, Header):
            raise LtmError(
                f"{where}: {'not the' if number == 1 else 'a second'} header of a journal"
            )
        end += len(line)
        yield end, chain.head, event


def last_checksum(path: Path) -> str:
    """Return the last checksum of a journal; LtmError as in `read_events`."""
    chain = Chain()
    for _, line in whole_lines(path):
        if chain.verify_line(line) is None:
            raise LtmError(describe_damage(path))
    return chain.head


def iter_readable_events(path: Path) -> Iterator[Event]:
    """Yield the readable events of a journal, damaged or not, if it exists."""
    return codec.iter_readable(
        path, lambda line, where: decode_event(strip_checksum(line), where)
    )


def describe_damage(path: Path) -> str:
    """Describe the first damage in a journal, with a cure; "" if there is none."""
    damage = next(find_damages(read_regular(path)), None)
    if damage is None:
        return ""
    if damage.flipped:
        cure = "Put it back"
    else:
        cure = "Restore a copy of the file, or cut it there"
    repair = f"ltm doctor --repair {shlex.quote(str(path.parent))}"
    return f"{path}, line {damage.line}: {damage.what}. {cure}, keeping the damaged file: {repair}"


# --- Journal: the conversation on disk, one event per line. An interrupted conversation
# is replayed, with the outside's answers taken from its journal: a `resuming` journal
# compares each written event with the recorded one until the record is used up, and
# then grows. So it has no marks of interruptions: those are in `timings.jsonl`
# ("resumed").


E = TypeVar("E", bound=Event)
# Events that cost money, and those needed to make use of them.
FSYNCED_EVENTS = (Header, ReplyReceived, ModelAsked)


class Journal:
    """Writes events, each handed to the operating system before the next message is sent.

    A killed process loses nothing that was written; FSYNCED_EVENTS also survive a loss
    of power (see `_core/storage/disk.py`). Without a file nothing is kept; a file given
    by the caller (such as `io.StringIO`) stays open.
    """

    def __init__(
        self,
        file: IO[str] | Appender | None = None,
        recorded: Iterator[bytes] | None = None,
    ) -> None:
        self._file = file
        self._chain = Chain()
        self._recorded: Iterator[bytes] = iter(()) if recorded is None else recorded
        self._number = 0
        self._next = self._opened()
        self._event: Event | None = None
        """The next recorded event, decoded on demand."""
        self.observers: list[Callable[[Event], object]] = []
        """Called with each event after it is written."""
        self.over: ConversationOver | None = None
        """Why nothing more can be written: the conversation diverged from the record, or the disk failed."""

    @classmethod
    def at(cls, path: Path) -> "Journal":
        """Begin a journal in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> "Journal":
        """Resume a journal, which may be empty or missing; it must end with a whole line."""
        return cls(Appender(path, new=False), _read_lines(path))

    @property
    def head(self) -> str:
        """The checksum of the last line; "" if nothing is kept."""
        return self._chain.head

    @property
    def replaying(self) -> bool:
        """Whether recorded events are left, so that neither agent nor models are asked."""
        return self._next is not None

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the next recorded event if it is of this kind, to use in place of a call; else None."""
        if self.over is not None:
            raise self.over
        event = None if self._next is None else self._upcoming(self._next)
        return event if isinstance(event, kind) else None

    def write(self, event: Event) -> None:
        """Append an event or, while replaying, compare it with the recorded one.

        Raises Divergence if they differ, DiskFault if it cannot be written, and the
        same error on every later call.
        """
        if self.over is not None:
            raise self.over
        try:
            if self._next is not None:
                self._compare(encode_event(event), self._next)
                self._next = self._opened()
                self._event = None
            elif self._file is not None:
                line = self._chain.seal_line(encode_event(event))
                append_line(self._file, line, lasting=isinstance(event, FSYNCED_EVENTS))
        except ConversationOver as over:
            # Events after a gap would be taken for successors of the event before it.
            self.over = over
            raise
        for observer in self.observers:
            observer(event)

    def note(self, event: Event) -> None:
        """Write an event of an ending, unless writing has failed already."""
        if self.over is None:
            self.write(event)

    def close(self) -> None:
        """Ensure that everything is on disk."""
        if isinstance(self._file, Appender):
            self._file.close()

    def _opened(self) -> bytes | None:
        """Return the next recorded line; None at the end."""
        line = next(self._recorded, None)
        if line is None:
            return None
        self._number += 1
        text = self._chain.verify_line(line)
        if text is None:
            raise Divergence(
                f"the conversation cannot be resumed: line {self._number} of its journal is damaged"
            )
        return text

    def _compare(self, line: str, recorded: bytes) -> None:
        if recorded == line.encode():
            return
        # Other bytes may mean the same: an older version wrote fields that are now left
        # out.
        recorded_event = self._upcoming(recorded)
        event = decode_event(line, "the event")
        if recorded_event != event:
            raise Divergence(
                f"the conversation cannot be resumed: line {self._number} of its journal was not repeated. "
                f"{_event_difference(recorded_event, event)}. Messages may depend only on the definition, "
                "replies, ltm.random and ltm.now; otherwise, some other fixture has changed"
            )

    def _upcoming(self, line: bytes) -> Event:
        if self._event is None:
            try:
                self._event = decode_event(line, f"line {self._number} of the journal")
            except LtmError as error:
                raise Divergence(str(error)) from error
        return self._event


def _read_lines(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        yield from file


def _event_difference(recorded: Event, new: Event) -> str:
    """Return the recorded and the new value of the first field that differs."""
    if type(recorded) is not type(new):
        return f"Recorded: {_show_field(recorded)}; now: {_show_field(new)}"
    fields = new.__struct_fields__
    name = next(
        name for name in fields if getattr(recorded, name) != getattr(new, name)
    )
    by = (
        getattr(recorded, "by", "")
        or getattr(recorded, "example", "")
        or "the conversation"
    )
    then = _show_field(getattr(recorded, name))
    new_value = _show_field(getattr(new, name))
    return f"{type(new).__struct_config__.tag} of {by}, {name}: recorded {then}, now {new_value}"


def _show_field(value: object) -> str:
    text = repr(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[: _LONGEST_SHOWN - 1]}…"


_LONGEST_SHOWN = 200
