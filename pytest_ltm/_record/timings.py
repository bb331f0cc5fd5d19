"""Timings: latencies, retries and interruptions, apart from the journal so that equal runs have equal journals."""

# Annotations are evaluated here, because they say how each field is read.

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TypeAlias, TypeVar, get_args

from msgspec.structs import replace

from pytest_ltm._engine.agent import Usage
from pytest_ltm._record.codec import Line, Lines, NonNegativeInt, encode, whole_lines
from pytest_ltm._storage.clock import wall_time
from pytest_ltm._storage.disk import Appender, append_line


class _Timing(Line, frozen=True, kw_only=True):
    """What was timed."""

    at: datetime | None = None
    """The time on the wall, which only people read; `Timings` sets it."""


class ReplyTime(_Timing, frozen=True, kw_only=True, tag="reply"):
    """How long the agent took."""

    exchange: NonNegativeInt
    seconds: float


class Retry(_Timing, frozen=True, kw_only=True, tag="retry"):
    """An attempt to send a message that is followed by another."""

    exchange: NonNegativeInt
    attempt: NonNegativeInt
    waited: float
    """Seconds."""
    error: str


class JudgeTime(_Timing, frozen=True, kw_only=True, tag="judge"):
    """How long the judge took, and what it used; `remembered`: it was not asked, the cache was."""

    example: str
    vote: NonNegativeInt
    remembered: bool
    seconds: float
    usage: Usage | None = None
    cost_usd: float | None = None
    lost: Usage | None = None
    """What attempts before it used that came to nothing."""


class JudgeRetry(_Timing, frozen=True, kw_only=True, tag="judge_retry"):
    """An attempt to ask the judge that is followed by another."""

    attempt: NonNegativeInt
    wait: float
    """Seconds."""
    error: str


class UserTime(_Timing, frozen=True, kw_only=True, tag="user"):
    """How long the model of a simulated user took, and what it used."""

    example: str
    model: str
    seconds: float
    usage: Usage | None = None
    cost_usd: float | None = None
    lost: Usage | None = None
    """What attempts before it used that came to nothing."""


class UserRetry(JudgeRetry, frozen=True, kw_only=True, tag="user_retry"):
    """An attempt to ask the model of a simulated user that is followed by another."""


class Resumed(_Timing, frozen=True, kw_only=True, tag="resumed"):
    """The conversation is resumed."""

    kept: NonNegativeInt
    """Bytes of its journal."""
    cut: str
    """What was cut off it."""


Timing: TypeAlias = ReplyTime | Retry | JudgeTime | JudgeRetry | UserTime | UserRetry | Resumed
_LINES: Lines[Timing] = Lines(get_args(Timing), "these timings")
T = TypeVar("T", ReplyTime, Retry, JudgeTime, JudgeRetry, UserTime, UserRetry, Resumed)


class Timings:
    """Writes `timings.jsonl`, each line with the time on the wall. Without a file nothing is kept."""

    def __init__(self, file: IO[str] | Appender | None = None) -> None:
        self._file = file

    @classmethod
    def at(cls, path: Path) -> "Timings":
        """Begin timings in a new file."""
        return cls(Appender(path, new=True))

    @classmethod
    def resuming(cls, path: Path) -> "Timings":
        """Resume timings; a torn last line is taken away."""
        if path.exists():
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                with path.open("r+b") as file:
                    file.truncate(whole)
        return cls(Appender(path, new=False))

    def write(self, timing: Timing) -> None:
        """Append what was timed; DiskFault if it cannot be kept."""
        if self._file is not None:
            append_line(self._file, encode(replace(timing, at=wall_time()), clean=isinstance(timing, ReplyTime)))

    def sync(self) -> None:
        """Ask the disk to keep what is there."""
        if isinstance(self._file, Appender):
            self._file.sync()

    def close(self) -> None:
        """Make sure that everything is on disk."""
        if isinstance(self._file, Appender):
            self._file.close()


def decode(line: bytes, where: str) -> Timing:
    """Return what a line times; LtmError that begins with `where` if it is none."""
    return _LINES.decode(line, where)


def read(path: Path, kind: type[T]) -> Iterator[T]:
    """Yield the timings of one kind; LtmError, with file and line, for what is none. No file holds none."""
    if path.is_file():
        for number, line in whole_lines(path):
            timing = decode(line, f"{path}, line {number}")
            if isinstance(timing, kind):
                yield timing
