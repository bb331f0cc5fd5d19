"""Timings: latencies, retries and interruptions, apart from the journal so that equal runs have equal journals."""

# Annotations are evaluated here, because they say how each field is read.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

from pytest_ltm._engine.agent import Usage
from pytest_ltm._record.codec import from_json, from_line, to_json, to_line, whole_lines
from pytest_ltm._storage.clock import wall_time
from pytest_ltm._storage.disk import Appender, append_line
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTime:
    """How long the agent took."""

    exchange: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """An attempt to send a message that is followed by another."""

    exchange: int
    attempt: int
    waited: float
    """Seconds."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTime:
    """How long the judge took, and what it used; `remembered`: it was not asked, the cache was."""

    example: str
    vote: int
    remembered: bool
    seconds: float
    usage: Usage | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRetry:
    """An attempt to ask the judge that is followed by another."""

    attempt: int
    wait: float
    """Seconds."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The conversation is resumed."""

    kept: int
    """Bytes of its journal."""
    cut: str
    """What was cut off it."""


Timing: TypeAlias = ReplyTime | Retry | JudgeTime | JudgeRetry | Resumed
KINDS: Mapping[str, type[Timing]] = {
    "reply": ReplyTime, "retry": Retry, "judge": JudgeTime, "judge_retry": JudgeRetry, "resumed": Resumed,
}  # fmt: skip
_NAMES: Mapping[type[Timing], str] = {kind: name for name, kind in KINDS.items()}
T = TypeVar("T", ReplyTime, Retry, JudgeTime, JudgeRetry, Resumed)


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
            fields = {**to_json(timing), "at": wall_time().isoformat()}
            append_line(self._file, to_line(_NAMES[type(timing)], fields, clean=isinstance(timing, ReplyTime)))

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
    name, found = from_line(line, where)
    if name not in KINDS:
        raise LtmError(f"{where}: {shown(name)} is not a timing that this version of pytest-ltm knows")
    try:
        found.pop("at", None)  # the time on the wall, which only people read
        timing: Timing = from_json(KINDS[name], found)
    except ValueError as error:
        raise LtmError(f"{where}: a damaged {name!r}: {error}") from error
    return timing


def read(path: Path, kind: type[T]) -> Iterator[T]:
    """Yield the timings of one kind; LtmError, with file and line, for what is none. No file holds none."""
    if path.is_file():
        for number, line in whole_lines(path):
            timing = decode(line, f"{path}, line {number}")
            if isinstance(timing, kind):
                yield timing
