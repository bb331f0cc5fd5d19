"""Recording: what the folder of a conversation that was begun holds, and how much of it is kept when it goes on.

What came from outside (replies, told filler, judge calls, faults) is kept. What follows the last of it comes of
itself when the conversation is played again, so it is cut off; where the agent was gone its last faults are, too, so
that it may be asked again. What is cut off goes to `timings.jsonl` first: a kill at any instant loses nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._disk import refused
from pytest_ltm._errors import LtmError
from pytest_ltm._journal import FORMAT, Timings
from pytest_ltm._seat import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

JOURNAL, TIMINGS, RESULTS, CHECKPOINTS = "journal.jsonl", "timings.jsonl", "results.json", "checkpoints"
_OUTSIDE = frozenset({"reply", "filler", "judge", "fault"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A journal that can be gone on with."""

    header: Mapping[str, Any]
    kept: int
    """So many bytes are kept when it is resumed."""
    size: int
    """Bytes of the file."""
    torn: int
    """Bytes of a last line that is not whole."""
    complete: bool
    """The conversation has come to its end: there is nothing to send."""
    exchanges: int
    """Replies and told filler among what is kept."""
    last: int | None
    """The number of the last of them."""
    heard: bool
    """The agent has heard something: one that starts afresh would not know it."""


@dataclass(slots=True)
class _Reading:
    """Where a reader of the journal stands."""

    offset: int = 0
    header: Mapping[str, Any] | None = None
    outside: int = 0
    """The end of the last event that came from outside."""
    faults: int = 0
    """In a row."""
    fatal: bool = False
    before_faults: int = 0
    """`outside` before the first of them."""
    exchanges: int = 0
    last: int | None = None
    end: str | None = None
    """With what the conversation ended, if that is the last event."""


def read_recording(path: Path) -> Recording | None:
    """Return what a journal holds; None if there is none or it has no whole header.

    A torn last line is as good as none. LtmError for what is no journal of this version.
    """
    if not path.is_file():
        return None
    reading = _Reading()
    for number, raw in _whole_lines(path):
        _read(reading, raw, f"{path}, line {number}")
    if reading.header is None:
        return None
    complete = reading.end == "complete"
    gone = reading.fatal or reading.faults >= PATIENCE or reading.end not in {None, "complete", "interrupted"}
    kept = reading.outside
    if complete:
        kept = reading.offset
    elif gone and reading.faults:
        kept = reading.before_faults
    size = path.stat().st_size
    return Recording(
        header=reading.header,
        kept=kept,
        size=size,
        torn=size - reading.offset,
        complete=complete,
        exchanges=reading.exchanges,
        last=reading.last,
        heard=reading.exchanges > 0 or (reading.faults > 0 and not gone),
    )


def cut_back(folder: Path, recording: Recording | None) -> None:
    """Cut a journal back to what is kept of it, once what is cut off stands in the timings."""
    path, kept = folder / JOURNAL, recording.kept if recording else 0
    if not path.exists() or path.stat().st_size == kept:
        return
    with path.open("rb") as file:
        file.seek(kept)
        cut = file.read().decode("utf-8", "backslashreplace")
    timings = Timings.resuming(folder / TIMINGS)
    try:
        timings.write("resumed", kept=kept, cut=cut)
        timings.sync()
    finally:
        timings.close()
    try:
        with path.open("r+b") as file:
            file.truncate(kept)
    except OSError as error:
        raise refused(path, error) from error


def _whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.endswith(b"\n"):
                    yield number, raw
    except OSError as error:
        raise LtmError(f"{path}: cannot be read: {error.strerror}") from error


def _read(reading: _Reading, raw: bytes, where: str) -> None:
    try:
        event = json.loads(raw)
        kind = event["event"]
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise LtmError(f"{where}: not a JSON event: {error}") from error
    reading.offset += len(raw)
    if reading.header is None:
        _read_header(reading, event, where)
    reading.end = event.get("reason") if kind == "end" and "example" not in event else None
    if kind == "fault":
        _read_fault(reading, fatal=event.get("fatal") is True)
    elif kind in {"reply", "filler"}:
        _read_exchange(reading, event.get("exchange"), where)
    if kind in _OUTSIDE:
        reading.outside = reading.offset


def _read_header(reading: _Reading, event: Mapping[str, Any], where: str) -> None:
    if event["event"] != "header" or event.get("format") != FORMAT or not isinstance(event.get("agent"), dict):
        raise LtmError(f"{where}: not the header of a journal that this version can go on with")
    reading.header, reading.outside = event, reading.offset


def _read_fault(reading: _Reading, *, fatal: bool) -> None:
    if not reading.faults:
        reading.before_faults = reading.outside
    reading.faults, reading.fatal = reading.faults + 1, fatal


def _read_exchange(reading: _Reading, number: object, where: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise LtmError(f"{where}: exchange {number!r} is no number")
    reading.exchanges, reading.last, reading.faults, reading.fatal = reading.exchanges + 1, number, 0, False
