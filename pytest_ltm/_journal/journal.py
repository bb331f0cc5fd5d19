"""Journal: the conversation on disk, one event a line.

A conversation that was interrupted is played again, and its journal says what came from outside: a journal that is
`resuming` compares what is written with what is recorded until that is used up, and grows from there. So it has no
marks of interruptions: those stand in `timings.jsonl` ("resumed").
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, TypeVar

from pytest_ltm._journal import events
from pytest_ltm._journal.checksum_chain import Chain
from pytest_ltm._storage.disk import Appender, append_line, open_regular
from pytest_ltm._storage.errors import ConversationOver, Divergence, LtmError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typing_extensions import Self

E = TypeVar("E", bound=events.Event)
# What is paid for, and what it takes to make use of it.
FSYNCED_EVENTS = (events.Header, events.ReplyReceived, events.ModelAsked)


class Journal:
    """Writes events, each handed to the operating system before the next message is sent.

    A killed process loses nothing that was written; what is in FSYNCED_EVENTS outlives a loss of power, too (see
    `_storage/disk.py`). Without a file nothing is kept; a file that was given (`io.StringIO`, say) stays open.
    """

    def __init__(self, file: IO[str] | Appender | None = None, recorded: Iterator[bytes] | None = None) -> None:
        self._file = file
        self._chain = Chain()
        self._recorded: Iterator[bytes] = iter(()) if recorded is None else recorded
        self._number = 0
        self._next = self._opened()
        self._event: events.Event | None = None
        """The next recorded event, decoded on demand."""
        self.observers: list[Callable[[events.Event], object]] = []
        """Are told each event once it is written."""
        self.over: ConversationOver | None = None
        """Why nothing more can be written: the conversation diverged from the record, or the disk failed."""

    @classmethod
    def at(cls, path: Path) -> Self:
        """Begin a journal in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> Self:
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

    def write(self, event: events.Event) -> None:
        """Append one event or, while replaying, compare it with the recorded one.

        Raises Divergence if they differ, DiskFault if it cannot be kept, and the same again from then on.
        """
        if self.over is not None:
            raise self.over
        try:
            if self._next is not None:
                self._compare(events.encode_event(event), self._next)
                self._next, self._event = self._opened(), None
            elif self._file is not None:
                append_line(
                    self._file,
                    self._chain.seal_line(events.encode_event(event)),
                    lasting=isinstance(event, FSYNCED_EVENTS),
                )
        except ConversationOver as over:
            self.over = over
            raise
        for observer in self.observers:
            observer(event)

    def note(self, event: events.Event) -> None:
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
            raise Divergence(f"the conversation cannot be resumed: line {self._number} of its journal is damaged")
        return text

    def _compare(self, line: str, recorded: bytes) -> None:
        if recorded == line.encode():
            return
        then, now = self._upcoming(recorded), events.decode_event(line, "the event")
        if then != now:
            raise Divergence(
                f"the conversation cannot be resumed: line {self._number} of its journal was not repeated. "
                f"{_event_difference(then, now)}. Messages may depend only on the definition, replies, ltm.random and "
                "ltm.now; otherwise, some other fixture has changed"
            )

    def _upcoming(self, line: bytes) -> events.Event:
        if self._event is None:
            try:
                self._event = events.decode_event(line, f"line {self._number} of the journal")
            except LtmError as error:
                raise Divergence(str(error)) from error
        return self._event


def _read_lines(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        yield from file


def _event_difference(recorded: events.Event, new: events.Event) -> str:
    """Return the recorded and the new value of the first field that differs."""
    if type(recorded) is not type(new):
        return f"Recorded: {_show_field(recorded)}; now: {_show_field(new)}"
    name = next(each for each in new.__struct_fields__ if getattr(recorded, each) != getattr(new, each))
    by = getattr(recorded, "by", "") or getattr(recorded, "example", "") or "the conversation"
    then, now = _show_field(getattr(recorded, name)), _show_field(getattr(new, name))
    return f"{type(new).__struct_config__.tag} of {by}, {name}: recorded {then}, now {now}"


def _show_field(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST = 200
