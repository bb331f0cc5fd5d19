"""Events: what a journal says, one frozen struct for each kind of line; Journal: the file that they are written to.

The header says "format" first. Each line ends in a checksum (`_core/journal/codec.py`). What
differs between equal runs (latencies, the time on the wall) is not an event: see
`timings.jsonl`.
"""

# Annotations are evaluated here, because they say how each field is read.

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

# --- what is said


class AgentFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a header says of the agent: what decides what may be sent to it, and what it may remember."""

    spec: str
    configuration: object
    """JSON values, without secrets; None where it reports none."""
    capabilities: tuple[str, ...]
    """Sorted."""
    max_message_tokens: NonNegativeInt
    """0 if the agent could not be made."""


class Header(JournalRecord, frozen=True, kw_only=True):
    """The first event: what the conversation was begun with."""

    # unlike a default it is always written
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
    """A message, written down before it is sent."""

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
    """Names of the files that an AcceptsImages agent sees beside it."""
    user: str = ""
    """Whose message it is, as an agent that SeparatesUsers is told."""
    alone: bool = False
    """A question that leaves no trace: the agent is then as it was before."""


class ReplyReceived(JournalRecord, tag="reply", frozen=True, kw_only=True):
    """The agent's reply to the message of that number."""

    exchange: NonNegativeInt
    text: str
    tokens: NonNegativeInt
    usage: Usage | None = None
    cost_usd: ReportedDollars | None = None
    hypothetical: bool = False
    """Nothing is spent: usage and cost are what they would be."""
    retrieved: tuple[str, ...] | None = None
    """What the agent says that it retrieved, best first; None where it does not report it. Long texts are cut."""
    places: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] = ()
    """Of earlier exchanges that may be needles, as far as that is known: the number of each, and which of the texts
    retrieved was the first to hold its whole message, from 1; 0 if none did."""
    now: datetime | None = None
    """When it came, where the clock is the one on the wall."""
    lost: Usage | None = None
    """What failed attempts before it used."""
    finish_reason: str = ""
    """How it ended, as the agent's provider says it: `stop`, `length`; "" where nobody does."""
    thoughts: str = ""
    """What was thought for it, apart from the text."""
    account: Account | Literal[""] = ""
    """How it came to be, where it is not whole: cut, or unknown; what older records say by `finish_reason` only."""
    mishaps: tuple[Mishap, ...] = ()
    """What went wrong within the agent on the way, without making it a fault."""
    memory: tuple[MemoryOperation, ...] = ()
    """What the agent's memory did since the exchange before, as far as anybody says."""
    calls: tuple[AnsweredCall, ...] = ()
    """The tools that it called before it replied, in order."""


class FillerSent(JournalRecord, tag="filler", frozen=True, kw_only=True):
    """An exchange that the agent was told and generated nothing for."""

    exchange: NonNegativeInt
    message: str
    message_tokens: NonNegativeInt
    reply: str
    reply_tokens: NonNegativeInt
    history: str = ""
    """Its id in the conversation's history, if it is part of that."""
    now: datetime | None = None
    """When it had been told, where the clock is the one on the wall."""
    usage: Usage | None = None
    """What taking it in used, where the agent reports that."""
    cost_usd: ReportedDollars | None = None
    hypothetical: bool = False
    """Nothing is spent: usage and cost are what they would be."""
    lost: Usage | None = None
    """What failed attempts before it used."""
    mishaps: tuple[Mishap, ...] = ()
    """What went wrong within the agent on the way."""
    memory: tuple[MemoryOperation, ...] = ()
    """What the agent's memory did since the exchange before."""


class WaitBegan(JournalRecord, tag="wait", frozen=True, kw_only=True):
    """An example waits until all three are over."""

    example: str
    tokens: NonNegativeInt
    """What must have been said, of what counts towards spans."""
    time: datetime
    history: NonNegativeInt = 0
    """How many exchanges of the history must have been told."""


class TimeJumped(JournalRecord, tag="jump", frozen=True, kw_only=True):
    """Time jumps, because no example could speak."""

    to: datetime


class SessionBegan(JournalRecord, tag="session", frozen=True, kw_only=True):
    """The user's next session begins: the agent is made anew, and has its own memory only."""

    example: str = ""
    """The example that asked for it; "": it was due."""


class Watcher(JournalRecord, frozen=True, kw_only=True):
    """An example begins to watch."""

    example: str
    replies: NonNegativeInt | None
    """How many replies it counts; None: it lasts to the end of the conversation."""


class ModelAsked(JournalRecord, tag="asked", frozen=True, kw_only=True):
    """An example had a model beside the agent asked something: it replied or it failed."""

    example: str
    name: str
    """Of the prompt."""
    version: NonNegativeInt
    """Of the prompt."""
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
    """The judge was asked about an answer with a known grade, on behalf of no example."""

    example: str = ""
    question: str
    reference: str
    """A right answer."""
    answer: str
    passes: bool
    """Whether the judge is to pass it."""
    kind: str = ""
    """What sort of answer it is, as `vague`; "" in older records."""


class UserModelAsked(ModelAsked, tag="user", frozen=True, kw_only=True):
    """A simulated user's model was asked for its next message."""

    model: str
    """Which one, as the scenario names it."""


class VerdictRecorded(JournalRecord, tag="verdict", frozen=True, kw_only=True):
    """The outcome of an example."""

    example: str
    score: float | None
    """None: unscored."""
    reason: str
    rule: str
    evidence: str
    checks: tuple[tuple[str, bool | None], ...]
    """Label and whether it passed; None: that is open."""
    upper: float | None = None
    """The score if all open parts passed; None: no part is open."""


class Fault(JournalRecord, frozen=True, kw_only=True):
    """The agent did not take a message or what it was told, or did not reply."""

    exchange: NonNegativeInt
    text: str
    fatal: bool = False
    """The conversation cannot go on after it."""
    passing: bool = False
    """The same message may be answered later, so a resumed run sends it again."""
    lost: Usage | None = None
    """What was used all the same."""
    account: Account | Literal[""] = ""
    """How a reply came to be that is not an answer: broken off, kept back ...; "" where none came."""
    leak: bool = False
    """The agent served what belongs to somebody else: the example fails, and the conversation goes on."""


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
# By what "event" says.
KINDS: Mapping[str, type[Event]] = _LINES.kinds
# Events of names and numbers, and what an agent said, which is redacted on arrival and
# not again.
_CLEAN = frozenset({Begin, WaitBegan, TimeJumped, SessionBegan, Watcher, ReplyReceived})

# --- from and to a line


def encode_event(event: Event) -> str:
    """Return an event as its line, without secrets."""
    return codec.encode_record(event, clean=type(event) in _CLEAN)


def decode_event(line: bytes | str, where: str) -> Event:
    """Return the event of a line; LtmError that begins with `where` if it is not one of this format."""
    event = _LINES.decode(line, where)
    if isinstance(event, Header) and event.format != FORMAT:
        raise LtmError(
            f"{where}: a journal of format {event.format}; this version of pytest-ltm reads format {FORMAT}. Read it "
            "with the version that wrote it"
        )
    return event


def without_texts(event: Event) -> Event:
    """Return an event with its names and numbers only."""
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
        # One of reply and fault must stay, as the event requires.
        case ModelAsked(reply=str()):
            return replace(event, prompt="", reply="")
        case ModelAsked():
            return replace(event, prompt="", fault="")
        case _:
            return event


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, header first; a torn last line is dropped.

    Raises LtmError, with file and line, for anything else that is not a journal of this
    format, as it was written.
    """
    for _, event in iter_event_lines(path):
        yield event


def iter_event_lines(path: Path) -> Iterator[tuple[int, Event]]:
    """Yield the events of a journal as `read` does, each with the bytes of the file up to its end."""
    end = 0
    chain = Chain()
    for number, line in whole_lines(path):
        where = f"{path}, line {number}"
        text = chain.verify_line(line)
        if text is None:
            if number == 1 and line == strip_checksum(line):
                decode_event(line, where)  # of another format, or no journal at all
            raise LtmError(describe_damage(path))
        event = decode_event(text, where)
        if (number == 1) != isinstance(event, Header):
            raise LtmError(
                f"{where}: {'not the' if number == 1 else 'a second'} header of a journal"
            )
        end += len(line)
        yield end, event


def last_checksum(path: Path) -> str:
    """Return the last checksum of a journal; LtmError as `read` raises it."""
    chain = Chain()
    for _, line in whole_lines(path):
        if chain.verify_line(line) is None:
            raise LtmError(describe_damage(path))
    return chain.head


def iter_readable_events(path: Path) -> Iterator[Event]:
    """Yield what can be read of a journal, damaged or not, if there is one."""
    return codec.iter_readable(
        path, lambda line, where: decode_event(strip_checksum(line), where)
    )


def describe_damage(path: Path) -> str:
    """Return where a journal is damaged first, and what can be done; "" if it is not."""
    damage = next(find_damages(read_regular(path)), None)
    if damage is None:
        return ""
    if damage.flipped:
        cure = "Put it back"
    else:
        cure = "Restore a copy of the file, or cut it there"
    repair = f"ltm doctor --repair {shlex.quote(str(path.parent))}"
    return f"{path}, line {damage.line}: {damage.what}. {cure}, keeping the damaged file: {repair}"


# --- Journal: the conversation on disk, one event a line.

# A conversation that was interrupted is played again, and its journal says what came
# from outside: a journal that is `resuming` compares what is written with what is
# recorded until that is used up, and grows from there. So it has no marks of
# interruptions: those stand in `timings.jsonl` ("resumed").


E = TypeVar("E", bound=Event)
# What is paid for, and what it takes to make use of it.
FSYNCED_EVENTS = (Header, ReplyReceived, ModelAsked)


class Journal:
    """Writes events, each handed to the operating system before the next message is sent.

    A killed process loses nothing that was written; what is in FSYNCED_EVENTS outlives
    a loss of power, too (see `_core/storage/disk.py`). Without a file nothing is kept; a
    file that was given (`io.StringIO`, say) stays open.
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
        """Are told each event once it is written."""
        self.over: ConversationOver | None = None
        """Why nothing more can be written: the conversation diverged from the record, or the disk failed."""

    @classmethod
    def at(cls, path: Path) -> "Journal":
        """Begin a journal in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> "Journal":
        """Resume a journal, be it empty or not there yet; it must end with a whole line."""
        return cls(Appender(path, new=False), _read_lines(path))

    @property
    def head(self) -> str:
        """The checksum of the last line, "" where nothing is kept."""
        return self._chain.head

    @property
    def replaying(self) -> bool:
        """Whether there are recorded events left: nothing is asked of anybody outside."""
        return self._next is not None

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the recorded event to take instead of asking, if the next one is of that kind, else None."""
        if self.over is not None:
            raise self.over
        event = None if self._next is None else self._upcoming(self._next)
        return event if isinstance(event, kind) else None

    def write(self, event: Event) -> None:
        """Append one event or, while replaying, compare it with the recorded one.

        Raises Divergence if they differ, DiskFault if it cannot be kept, and the same
        again from then on.
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
            # Whatever came after the gap would be taken for what followed it.
            self.over = over
            raise
        for observer in self.observers:
            observer(event)

    def note(self, event: Event) -> None:
        """Write an event of the end, which may come after the end of all writing."""
        if self.over is None:
            self.write(event)

    def close(self) -> None:
        """Make sure that everything is on disk."""
        if isinstance(self._file, Appender):
            self._file.close()

    def _opened(self) -> bytes | None:
        """Return the next recorded line, None at the end."""
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
        # Other bytes may still say the same: an older version wrote fields that are
        # left out today.
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
    name = next(
        struct_field
        for struct_field in new.__struct_fields__
        if getattr(recorded, struct_field) != getattr(new, struct_field)
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
