"""A journal as a reader wants it: exchanges in order, when examples began and ended, and how time jumped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from pytest_ltm._clock import START
from pytest_ltm._transcript import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._transcript import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """Time that passed at once, because nobody could speak."""

    position: int
    """Tokens of the conversation before it."""
    before: datetime
    to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What one example took up of the conversation, in tokens; `end` is None if it never ended."""

    begin: int
    end: int | None = None


@dataclass(frozen=True, kw_only=True)
class Log:
    """What was said in one conversation."""

    exchanges: tuple[Exchange, ...]
    jumps: tuple[Jump, ...]
    stretches: Mapping[str, Stretch]
    """By example: `colours/0`."""
    faults: Mapping[int, str]
    """What the agent did instead of replying, by exchange."""
    unanswered: tuple[Exchange, ...]
    """Messages without any reply: the last before the agent was gone, say."""

    @cached_property
    def numbered(self) -> Mapping[int, Exchange]:
        """All of them by number, those without a reply, too."""
        return {each.number: each for each in (*self.exchanges, *self.unanswered)}

    @cached_property
    def _speakers(self) -> Mapping[str, list[Exchange]]:
        found: dict[str, list[Exchange]] = {}
        for each in self.numbered.values():
            found.setdefault(each.by, []).append(each)
        return found

    def of(self, example: str) -> Sequence[Exchange]:
        """Return the exchanges of one example, those without a reply last."""
        return self._speakers.get(example, [])

    def between(self, number: int, other: int) -> Sequence[Exchange]:
        """Return the exchanges that have a reply, after one of that number and before the other."""
        first = bisect_right(self.exchanges, number, key=attrgetter("number"))
        return self.exchanges[first : bisect_left(self.exchanges, other, key=attrgetter("number"))]


@dataclass(slots=True)
class _Reading:
    """Where a reader of the journal stands."""

    exchanges: dict[int, Exchange] = field(default_factory=dict)
    open: dict[int, Exchange] = field(default_factory=dict)
    jumps: list[Jump] = field(default_factory=list)
    stretches: dict[str, Stretch] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    position: int = 0
    now: datetime = START


def log_of(events: Iterable[dict[str, Any]]) -> Log:
    """Return the log that a journal's events make; what an event of this format lacks is a KeyError."""
    reading = _Reading()
    for event in events:
        read = _READERS.get(event["event"])
        if read is not None:
            read(reading, event)
    return Log(
        exchanges=tuple(reading.exchanges[number] for number in sorted(reading.exchanges)),
        jumps=tuple(reading.jumps),
        stretches=reading.stretches,
        faults=reading.faults,
        unanswered=tuple(each for number, each in reading.open.items() if number not in reading.exchanges),
    )


def _message(reading: _Reading, event: Mapping[str, Any]) -> None:
    reading.now = datetime.fromisoformat(event["now"])
    reading.position = event["position"]
    reading.open[event["exchange"]] = Exchange(
        number=event["exchange"],
        by=event["by"],
        kind=cast("Kind", event["kind"]),
        message=event["text"],
        reply="",
        start=event["position"],
        message_tokens=event["tokens"],
        reply_tokens=0,
        now=reading.now,
    )


def _reply(reading: _Reading, event: Mapping[str, Any]) -> None:
    asked = reading.open[event["exchange"]]
    _add(reading, asked, reply=event["text"], tokens=event["tokens"], told=False)


def _filler(reading: _Reading, event: Mapping[str, Any]) -> None:
    asked = Exchange(
        number=event["exchange"],
        by="",
        kind="history" if "history" in event else "filler",
        message=event["message"],
        reply="",
        start=reading.position,
        message_tokens=event["message_tokens"],
        reply_tokens=0,
        now=reading.now,
    )
    _add(reading, asked, reply=event["reply"], tokens=event["reply_tokens"], told=True)


def _add(reading: _Reading, asked: Exchange, *, reply: str, tokens: int, told: bool) -> None:
    exchange = Exchange(
        number=asked.number,
        by=asked.by,
        kind=asked.kind,
        message=asked.message,
        reply=reply,
        start=asked.start,
        message_tokens=asked.message_tokens,
        reply_tokens=tokens,
        now=asked.now,
        told=told,
    )
    reading.exchanges[exchange.number] = exchange
    reading.position = exchange.end


def _jump(reading: _Reading, event: Mapping[str, Any]) -> None:
    to = datetime.fromisoformat(event["to"])
    reading.jumps.append(Jump(position=reading.position, before=reading.now, to=to))
    reading.now = to


def _begin(reading: _Reading, event: Mapping[str, Any]) -> None:
    reading.now = datetime.fromisoformat(event["now"])
    reading.stretches[event["example"]] = Stretch(begin=event["position"])


def _end(reading: _Reading, event: Mapping[str, Any]) -> None:
    example = event.get("example")
    if example in reading.stretches:
        begin = reading.stretches[example].begin
        reading.stretches[example] = Stretch(begin=begin, end=reading.position)


def _fault(reading: _Reading, event: Mapping[str, Any]) -> None:
    reading.faults[event["exchange"]] = event["text"]


_READERS: dict[str, Callable[[_Reading, dict[str, Any]], None]] = {
    "message": _message,
    "reply": _reply,
    "filler": _filler,
    "jump": _jump,
    "begin": _begin,
    "end": _end,
    "fault": _fault,
}
