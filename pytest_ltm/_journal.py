"""Journal: the conversation on disk, one JSON event a line; what differs between equal runs goes to timings.

Events of `journal.jsonl` (format 1), each an object with the key "event":
header   format, plan, plan_fingerprint, agent_fingerprint, now,
         agent: spec, configuration, powers, max_message_tokens
begin    example, position, now
message  exchange, by, kind, text, tokens, position, now[, about: numbers of the exchanges it depends on]
reply    exchange, text, tokens[, usage][, cost_usd][, hypothetical: true, it is not spent][, retrieved]
         [, now: where the clock is on the wall]
filler   exchange, message, message_tokens, reply, reply_tokens[, history: its id there][, now]: told, not generated
wait     example, tokens, time: until both targets
jump     to
watcher  example, replies: null lasts to the end
judge    example, name and version of the prompt, prompt: hash of the question, vote, reply[, usage][, cost_usd] | fault
verdict  example, score (null: unscored), reason, rule, evidence, checks
fault    exchange, text[, fatal: true]
end      example | reason: of an example, or of the conversation

A conversation that was interrupted is played again, and its journal says what came from outside: a journal that is
`resuming` compares what is written with what is recorded until that is used up, and grows from there. So it has no
marks of interruptions: those stand in `timings.jsonl` ("resumed").
"""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

from pytest_ltm._clock import stopwatch, wall_time
from pytest_ltm._disk import Appender, refused
from pytest_ltm._errors import ConversationOver, Divergence, LtmError
from pytest_ltm._secrets import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from typing_extensions import Self

FORMAT = 1
LASTING = frozenset({"header", "reply", "judge"})
"""What is paid for, and what it takes to make use of it."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Journal:
    """Writes events, each handed to the operating system before the next message is sent.

    A killed process loses nothing that was written; what is LASTING outlives a loss of power, too (see `_disk`).
    Without a file nothing is kept; a file that was given (`io.StringIO`, say) stays open.
    """

    def __init__(self, file: IO[str] | Appender | None = None, recorded: Iterator[bytes] | None = None) -> None:
        self._file = file
        self._recorded: Iterator[bytes] = iter(()) if recorded is None else recorded
        self._next = next(self._recorded, None)
        self._number = 1
        self.over: ConversationOver | None = None
        """Why nothing more can be written: what is recorded is not said again, or the disk takes nothing."""

    @classmethod
    def at(cls, path: Path) -> Self:
        """Begin a journal in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> Self:
        """Go on with a journal, be it empty or not there yet; it must end with a whole line."""
        return cls(Appender(path, new=False), _lines(path))

    @property
    def replaying(self) -> bool:
        """Whether there are recorded events left: nothing is asked of anybody outside."""
        return self._next is not None

    def upcoming(self, event: str) -> dict[str, Any] | None:
        """Return the recorded event to take instead of asking, if the next one is of that kind, else None."""
        if self.over is not None:
            raise self.over
        found = self._parsed() if self._next is not None else {}
        return found if found.get("event") == event else None

    def write(self, event: str, **fields: Any) -> None:
        """Append one event or, while replaying, compare it with the recorded one.

        Raises Divergence if they differ, DiskFault if it cannot be kept, and the same again from then on.
        """
        if self.over is not None:
            raise self.over
        if self._file is None and self._next is None:
            return
        text = line(event, **fields)
        try:
            if self._next is None:
                self._append(text, lasting=event in LASTING)
            else:
                self._compare(text)
                self._next, self._number = next(self._recorded, None), self._number + 1
        except ConversationOver as over:
            self.over = over
            raise

    def note(self, event: str, **fields: Any) -> None:
        """Write an event of the end, which may come after the end of all writing."""
        if self.over is None:
            self.write(event, **fields)

    def close(self) -> None:
        """Make sure that everything is on disk."""
        if isinstance(self._file, Appender):
            self._file.close()

    def _append(self, text: str, *, lasting: bool) -> None:
        if isinstance(self._file, Appender):
            self._file.append(text.encode(), lasting=lasting)
        elif self._file is not None:
            try:
                self._file.write(text)
                self._file.flush()
            except (OSError, ValueError) as error:  # ValueError: it is closed
                raise refused(getattr(self._file, "name", "the journal"), str(error)) from error

    def _compare(self, text: str) -> None:
        if self._next == text.encode():
            return
        recorded, new = self._parsed(), json.loads(text)
        if recorded != new:
            raise Divergence(
                f"the conversation cannot be resumed: line {self._number} of its journal is not said again. "
                f"{_contrast(recorded, new)}. What is said may depend on definition, replies, ltm.random and ltm.now "
                "only, or a fixture of another kind has changed"
            )

    def _parsed(self) -> dict[str, Any]:
        try:
            found = json.loads(self._next or b"null")
        except (ValueError, RecursionError) as error:
            raise Divergence(f"line {self._number} of the journal is no JSON event: {error}") from error
        return found if isinstance(found, dict) else {}


class Timings(Journal):
    """`timings.jsonl`: wall times and latencies, apart from the journal so that equal runs have equal journals."""

    @classmethod
    def resuming(cls, path: Path) -> Self:
        """Go on with timings; a torn last line is taken away."""
        if path.exists():
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                with path.open("r+b") as file:
                    file.truncate(whole)
        return cls(Appender(path, new=False))

    def write(self, event: str, **fields: Any) -> None:
        """Append one event with the time on the wall."""
        if self._file is not None:
            super().write(event, **fields, at=wall_time().isoformat())

    def sync(self) -> None:
        """Ask the disk to keep what is there."""
        if isinstance(self._file, Appender):
            self._file.sync()

    @staticmethod
    def clock() -> float:
        """Return seconds for measuring a latency."""
        return stopwatch()


_WITHOUT_SECRETS = frozenset({"begin", "wait", "jump", "watcher", "reply"})
"""Events of names and numbers, and what an agent said, which is redacted as it comes in: nobody looks again."""


def line(event: str, **fields: Any) -> str:
    """Return one event as its line, without secrets."""
    whole = {"event": event, **fields}
    text = (_compact(whole) if event in _WITHOUT_SECRETS else written(whole, _compact)) + "\n"
    # A lone surrogate, which UTF-8 cannot hold, is an escape in JSON.
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _contrast(recorded: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what stands in the record and what would be written, of the first field that differs."""
    if recorded.get("event") != new.get("event"):
        return f"Recorded: {_shown(recorded)}; now: {_shown(new)}"
    name = next(key for key in {**recorded, **new} if recorded.get(key) != new.get(key))
    where = f"{recorded.get('event')} of {recorded.get('by') or recorded.get('example') or 'the conversation'}, {name}"
    return f"{where}: recorded {_shown(recorded.get(name))}, now {_shown(new.get(name))}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST = 200


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a journal; a torn last line is dropped, any other broken line is an LtmError."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                event = json.loads(raw)
            except (ValueError, RecursionError) as error:
                if not raw.endswith(b"\n"):
                    return
                raise LtmError(f"{path}, line {number}: not a JSON event: {error}") from error
            yield event
