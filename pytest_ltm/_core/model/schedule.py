"""The schedule: `Agenda.decide` is a pure function of plain records; every change is a verb. Sessions are below.

The rules are those of the LTM Benchmark (Castillo-Bolado et al., 2024, section 3.3 and
appendix C): a waiting example whose wait is over continues first, then a new one
starts; only if no example can continue, time jumps, then filler is sent. If the
conversation has a history (the dated sessions of a data set), that is told in place of
filler, and time jumps only up to its dates. A decision costs O(1), a change O(log n).
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

from pytest_ltm._core.storage.clock import duration
from pytest_ltm._core.storage.errors import ConfigurationError, ScenarioError


class Start(Struct, frozen=True):
    """Begin this example."""

    lane: int


class ResumeLane(Struct, frozen=True):
    """Resume this example: its wait is over."""

    lane: int


class JumpTime(Struct, frozen=True):
    """Let time pass until then: no example can continue earlier."""

    to: datetime


class Tell(Struct, frozen=True):
    """Tell the next exchange of the history."""

    number: int
    """Its number, from 0."""


class Fill(Struct, frozen=True):
    """Send filler."""

    tokens: int
    """The distance to the nearest token target; 0: the smallest filler, for a watcher that counts replies."""


class Finish(Struct, frozen=True):
    """Every example has ended, or lasts until the end of the conversation."""


Decision: TypeAlias = "Start | ResumeLane | JumpTime | Tell | Fill | Finish"


class AgendaEntry(Struct, frozen=True, kw_only=True):
    """The agenda's data about one example; its lane is its place in the plan."""

    scenario: str
    incompatible: frozenset[str] = frozenset()
    """Names of scenarios that must never be open at the same time."""
    together: bool = False
    """Whether examples of its own scenario may be open at the same time."""


class Agenda:
    """The examples of one conversation: which may start, and what the others wait for.

    `history`: the dates of the exchanges to tell, in ascending order.
    """

    def __init__(
        self,
        entries: Sequence[AgendaEntry],
        *,
        now: datetime,
        position: int = 0,
        history: Sequence[datetime] = (),
    ) -> None:
        self._entries = entries
        self._position = position
        self._time = now
        self._history = history
        self._place = 0
        """The number of exchanges of the history told so far."""
        # Scenario -> scenarios that may not be open at the same time; symmetric, and
        # each scenario excludes itself unless `together`.
        foes: dict[str, set[str]] = {entry.scenario: set() for entry in entries}
        for entry in entries:
            if not entry.together:
                foes[entry.scenario].add(entry.scenario)
            for foe in entry.incompatible & foes.keys():
                foes[entry.scenario].add(foe)
                foes[foe].add(entry.scenario)
        self._foes = {
            scenario: frozenset(foes_of_scenario)
            for scenario, foes_of_scenario in foes.items()
        }
        self._blockers = dict.fromkeys(self._foes, 0)
        """The number of open examples that block a scenario."""
        self._queues: dict[str, list[int]] = {}
        """The examples not started yet, by scenario, with the next one last."""
        # In reverse order: removing the head of a list is cheap only at its end.
        for lane in reversed(range(len(entries))):
            self._queues.setdefault(entries[lane].scenario, []).append(lane)
        self._candidates = [queue[-1] for queue in self._queues.values()]
        """A heap of the heads of queues; the top may start, those below it may be blocked."""
        heapq.heapify(self._candidates)
        self._unmet: dict[int, int] = {}
        """The number of targets that a waiting example has still to reach."""
        self._targets: dict[int, tuple[int, datetime]] = {}
        self._ready: list[tuple[int, datetime, int]] = []
        """A heap of the lanes whose wait is over, in the order in which they continue."""
        self._by_tokens: list[tuple[int, int]] = []
        self._by_time: list[tuple[datetime, int]] = []
        self._by_told: list[tuple[int, int]] = []

    def decide(self, *, listening: bool = False) -> Decision:
        """Return the next decision; changes nothing. `listening`: a watcher counts replies and has no verdict yet."""
        # Resume waiting lanes before starting new ones: each wait ends as close to its
        # target as the others allow.
        if self._ready:
            return ResumeLane(self._ready[0][2])
        if self._candidates:
            return Start(self._candidates[0])
        if self._tells_next():
            return Tell(self._place)
        # Before filler: a jump costs nothing, while each filler message costs a reply
        # of the agent.
        if self._by_time:
            return JumpTime(self._by_time[0][0])
        if listening or self._by_tokens:
            return Fill(0 if listening else self._by_tokens[0][0] - self._position)
        return Finish()

    def start(self, lane: int) -> None:
        """Mark an example as open: its rivals may not start before it has ended."""
        scenario = self._entries[lane].scenario
        # Starting out of turn would be more than early: the counts below would be wrong
        # from then on.
        if self._queues[scenario][-1] != lane or self._blockers[scenario]:
            raise ValueError(f"lane {lane} may not start")
        self._queues[scenario].pop()
        for foe in self._foes[scenario]:
            self._blockers[foe] += 1
        if scenario not in self._foes[scenario] and self._queues[scenario]:
            heapq.heappush(self._candidates, self._queues[scenario][-1])
        self._drop_blocked()

    def end(self, lane: int) -> None:
        """Mark an example as over: its rivals may start."""
        for foe in self._foes[self._entries[lane].scenario]:
            self._blockers[foe] -= 1
            if not self._blockers[foe] and self._queues[foe]:
                heapq.heappush(self._candidates, self._queues[foe][-1])
        self._drop_blocked()

    def suspend(self, lane: int, *, tokens: int, time: datetime, told: int = 0) -> None:
        """Suspend an example until the conversation has reached all targets.

        `told`: the number of exchanges of the history to be told; ValueError if it
        exceeds the history.
        """
        if told > len(self._history):
            raise ValueError(
                f"the history has {len(self._history)} exchanges, not {told}"
            )
        # Each kind of target has its heap; met targets are counted down, so that no
        # heap is ever searched.
        unmet = (tokens > self._position) + (time > self._time) + (told > self._place)
        self._unmet[lane], self._targets[lane] = unmet, (tokens, time)
        if tokens > self._position:
            heapq.heappush(self._by_tokens, (tokens, lane))
        if time > self._time:
            heapq.heappush(self._by_time, (time, lane))
        if told > self._place:
            heapq.heappush(self._by_told, (told, lane))
        if not unmet:
            heapq.heappush(self._ready, (tokens, time, lane))

    def resume(self, lane: int) -> None:
        """Resume the example whose turn it is."""
        if not self._ready or self._ready[0][2] != lane:
            raise ValueError(f"it is not the turn of lane {lane}")
        heapq.heappop(self._ready)

    def tell(self) -> None:
        """Record that the next exchange of the history has been told."""
        self._place += 1
        while self._by_told and self._by_told[0][0] <= self._place:
            self._met(heapq.heappop(self._by_told)[1])

    def advance(self, *, position: int, now: datetime) -> None:
        """Record that the conversation has reached `position` tokens and the time `now`."""
        self._position = position
        self._time = now
        while self._by_tokens and self._by_tokens[0][0] <= position:
            self._met(heapq.heappop(self._by_tokens)[1])
        while self._by_time and self._by_time[0][0] <= now:
            self._met(heapq.heappop(self._by_time)[1])

    def _tells_next(self) -> bool:
        """Return whether an example waits and the next history date comes before the nearest time wait."""
        # History that no example waits for is not told: the conversation ends with its
        # last example.
        if self._place == len(self._history) or not (
            self._by_told or self._by_time or self._by_tokens
        ):
            return False
        return not self._by_time or self._history[self._place] < self._by_time[0][0]

    def _met(self, lane: int) -> None:
        self._unmet[lane] -= 1
        if not self._unmet[lane]:
            heapq.heappush(self._ready, (*self._targets[lane], lane))

    def _drop_blocked(self) -> None:
        # A blocked scenario leaves the heap when it reaches the top, and returns when
        # its last rival ends.
        while self._candidates:
            lane = self._candidates[0]
            scenario = self._entries[lane].scenario
            if self._queues[scenario][-1:] == [lane] and not self._blockers[scenario]:
                return
            heapq.heappop(self._candidates)


# --- Sessions: the user returns to a newly created agent, which has only its own
# memory.

# Capabilities with which an agent can have another session.
SURVIVES = ("KeepsUsers", "Checkpointable", "Stateless")
EVERY = "every:"
AT = "at:"
_SHARE = re.compile(r"0?\.\d{1,6}")
NO_TOOLS = (
    "the agent cannot call tools: its reply() has no parameter `tools` (TakesTools)"
)
NO_COMPACTION = (
    "the agent cannot compact: it has no compact() (Compacts). One with a reset() can, as "
    "compacting:SPEC"
)
NO_USERS = "the agent cannot be told who sends a message: its reply() has no parameter `user` (SeparatesUsers)"


def cannot_come_back(capabilities: frozenset[str]) -> str:
    """Return why an agent with these capabilities cannot have a second session; "" if it can."""
    if capabilities & set(SURVIVES):
        return ""
    return (
        "the agent has one session only: it is neither a KeepsUsers (begin_session) nor Checkpointable (save, load) "
        "nor Stateless (stateless = True)"
    )


class Rhythm:
    """Decides when a session is over; `number_of`: the number of past sessions at a token position and a time."""

    def __init__(self, number_of: Callable[[int, datetime], int]) -> None:
        self._number_of = number_of
        self._sessions = 0

    def is_over(self, counted: int, now: datetime) -> bool:
        """Return whether the next session begins, at `counted` tokens that count towards spans and at this time."""
        sessions_before = self._sessions
        self._sessions = self._number_of(counted, now)
        return self._sessions > sessions_before


def parse_sessions_option(text: str) -> str:
    """Return the value of `--ltm-sessions` for plans; ConfigurationError if it is invalid."""
    if text:
        _parse_sessions(text)
    return text


def _parse_sessions(text: str) -> int | timedelta:
    """Return the number of sessions in each memory span, or the length of one."""
    try:
        if text.startswith(EVERY):
            length = duration(text.removeprefix(EVERY))
            if length.total_seconds() > 0:
                return length
        elif text.isascii() and text.isdecimal() and int(text) > 1:
            return int(text)
    except ScenarioError:
        pass
    raise ConfigurationError(
        f"{text!r} is not a number of sessions from 2 on, or every:TIME such as every:8h"
    )


def session_rhythm(text: str, *, span: int | None, began: datetime) -> Rhythm | None:
    """Return when sessions end; None for a single session, or for a number of sessions without a span."""
    if not text:
        return None
    sessions = _parse_sessions(text)
    if isinstance(sessions, int):
        if span is None:
            return None
        return Rhythm(lambda counted, _: counted * sessions // span)
    return Rhythm(lambda _, now: (now - began) // sessions)


def parse_compact_option(text: str) -> str:
    """Return the value of `--ltm-compact` for plans; ConfigurationError if it is invalid."""
    _parse_compaction(text)
    return text


_LONGEST_NUMBER = 10


def _parse_compaction(text: str) -> int | float:
    """Return the tokens after which the agent compacts, or a share of the memory span, below 1."""
    if text.startswith(AT):
        share = _parse_share(text.removeprefix(AT))
        if share is not None:
            return share
    number = text.removeprefix(EVERY)
    digits = number.removesuffix("k")
    is_number = digits.isdecimal() and len(digits) < _LONGEST_NUMBER and int(digits)
    if number == text or not is_number:
        raise ConfigurationError(
            f"{text!r} is not every:TOKENS, such as every:8k, nor at:SHARE of the memory span, such as at:0.5"
        )
    return int(digits) * (1_000 if number.endswith("k") else 1)


def _parse_share(text: str) -> float | None:
    """Return a share between 0 and 1; None for any other text."""
    if not _SHARE.fullmatch(text):
        return None
    return float(text) or None


def compaction_rhythm(text: str, *, span: int | None) -> Rhythm | None:
    """Return when the agent compacts; None for never, or for a share without a span."""
    if not text:
        return None
    size = _parse_compaction(text)
    if isinstance(size, int):
        return Rhythm(lambda counted, _: counted // size)
    if span is None:
        return None
    return Rhythm(lambda counted, _: math.floor(counted / span + 1 - size))
