"""Timings: latencies, retries and interruptions, apart from the journal so that equal runs have equal journals.

Only sums of seconds depend on them: unreadable lines are skipped and reported. Each
line has a checksum of its own, so a damaged one does not affect others.
"""

# Annotations are evaluated here, because they define how each field is read.

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TypeAlias, TypeVar, get_args

from msgspec.structs import replace

from pytest_ltm._core.journal.codec import (
    Chain,
    JournalRecord,
    NonNegativeInt,
    RecordCodec,
    encode_record,
    iter_readable,
    whole_lines,
)
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.disk import Appender, append_line, read_regular
from pytest_ltm._core.storage.errors import LtmError


class _Timing(JournalRecord, frozen=True, kw_only=True):
    """A timed event."""

    at: datetime | None = None
    """The wall time, for human readers only; `Timings` sets it."""


class _ExchangeTime(_Timing, frozen=True, kw_only=True):
    exchange: NonNegativeInt
    seconds: float


class ReplyTime(_ExchangeTime, frozen=True, kw_only=True, tag="reply"):
    """The duration of an agent's reply."""


class TellTime(_ExchangeTime, frozen=True, kw_only=True, tag="told"):
    """The duration of telling the agent an exchange."""


class SettleTime(_ExchangeTime, frozen=True, kw_only=True, tag="settled"):
    """The duration until everything told before that exchange could be found."""


class Retry(_Timing, frozen=True, kw_only=True, tag="retry"):
    """A failed attempt to send a message that was retried."""

    exchange: NonNegativeInt
    attempt: NonNegativeInt
    waited: float
    """Seconds."""
    error: str


class JudgeTime(_Timing, frozen=True, kw_only=True, tag="judge"):
    """The duration and usage of a judge's reply; `remembered`: it came from the cache."""

    example: str
    vote: NonNegativeInt
    remembered: bool
    seconds: float
    usage: Usage | None = None
    cost_usd: float | None = None
    lost: Usage | None = None
    """The usage of failed attempts before it."""


class JudgeRetry(_Timing, frozen=True, kw_only=True, tag="judge_retry"):
    """A failed attempt to ask the judge that was retried."""

    attempt: NonNegativeInt
    wait: float
    """Seconds."""
    error: str


class UserTime(_Timing, frozen=True, kw_only=True, tag="user"):
    """The duration and usage of a reply by a simulated user's model."""

    example: str
    model: str
    seconds: float
    usage: Usage | None = None
    cost_usd: float | None = None
    lost: Usage | None = None
    """The usage of failed attempts before it."""


class UserRetry(JudgeRetry, frozen=True, kw_only=True, tag="user_retry"):
    """A failed attempt to ask a simulated user's model that was retried."""


class Resumed(_Timing, frozen=True, kw_only=True, tag="resumed"):
    """The conversation is resumed."""

    kept: NonNegativeInt
    """The size of its journal in bytes."""
    cut: str
    """The part that was cut off."""


class Began(_Timing, frozen=True, kw_only=True, tag="began"):
    """A part of the run begins: the run itself, or a resumption."""

    after: float
    """Seconds since its process began."""


class Ended(_Timing, frozen=True, kw_only=True, tag="ended"):
    """A part of the run has ended normally; a killed one has no end."""

    seconds: float
    """Since its process began."""


Timing: TypeAlias = (
    ReplyTime
    | TellTime
    | SettleTime
    | Retry
    | JudgeTime
    | JudgeRetry
    | UserTime
    | UserRetry
    | Resumed
    | Began
    | Ended
)
# Characters of lines that a killed process may lose.
_AT_ONCE = 8_000
_LINES: RecordCodec[Timing] = RecordCodec(get_args(Timing), "these timings")
T = TypeVar("T", bound=Timing)


class Timings:
    """Writes `timings.jsonl`, each line with its wall time. Without a file nothing is kept."""

    def __init__(self, file: IO[str] | Appender | None = None) -> None:
        self._file = file
        self._unwritten = ""

    @classmethod
    def at(cls, path: Path) -> "Timings":
        """Begin timings in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> "Timings":
        """Resume timings; a torn last line is dropped, as nothing has read it."""
        if path.is_file():
            os.truncate(path, read_regular(path).rfind(b"\n") + 1)
        return cls(Appender(path, new=False))

    def write(self, timing: Timing) -> None:
        """Append a timing, those of told exchanges many at once; DiskFault if it cannot be written."""
        if self._file is None:
            return
        line = encode_record(
            replace(timing, at=wall_time()), clean=isinstance(timing, _ExchangeTime)
        )
        self._unwritten += Chain().seal_line(line)
        if not isinstance(timing, TellTime) or len(self._unwritten) > _AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Ensure that everything is on disk."""
        self._flush()
        if isinstance(self._file, Appender):
            self._file.close()

    def _flush(self) -> None:
        lines = self._unwritten
        self._unwritten = ""
        if lines:
            append_line(self._file, lines)


def decode_timing(line: bytes, where: str) -> Timing:
    """Decode a line; LtmError that begins with `where` if it is not a timing or was changed."""
    text = Chain().verify_line(line)
    if text is None:
        raise LtmError(f"{where}: its checksum does not fit")
    return _LINES.decode(text, where)


def iter_timings(path: Path, kind: type[T]) -> Iterator[T]:
    """Yield the readable timings of one kind; nothing if the file does not exist."""
    for timing in iter_readable(path, decode_timing):
        if isinstance(timing, kind):
            yield timing


def load_all_timings(path: Path) -> tuple[list[Timing], str]:
    """Return all readable timings, and a description of the file's problem, "" if there is none."""
    timings: list[Timing] = []
    lost_lines = 0
    try:
        for _, line in whole_lines(path):
            try:
                timings.append(decode_timing(line, ""))
            except LtmError:
                lost_lines += 1
    except LtmError as error:
        return timings, str(error)
    lines = "a line" if lost_lines == 1 else f"{lost_lines:,} lines"
    return timings, f"{path}: {lines} cannot be read" if lost_lines else ""


def wall_seconds(parts: Iterable[Timing], seen: Iterable[datetime]) -> float:
    """Return the total duration of a run's parts, from `Began` and `Ended` in order.

    A part that was killed lasted at least until the last time that was `seen` in it.
    """
    times = sorted(seen)
    total = 0.0
    open_at = list[Began]()

    def until_killed(end: int) -> float:
        last = times[end - 1] if end else None
        began = open_at.pop()
        if last and began.at:
            return began.after + max((last - began.at).total_seconds(), 0.0)
        return began.after

    for part in parts:
        if isinstance(part, Ended):
            total += part.seconds
            open_at.clear()
        elif isinstance(part, Began):
            if open_at and part.at is not None:
                total += until_killed(bisect_left(times, part.at))
            open_at = [part]
    return total + (until_killed(len(times)) if open_at else 0.0)
