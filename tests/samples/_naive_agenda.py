"""The scheduling rules as plain list operations: slow, but easy to check against the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pytest_ltm._core.model.schedule import Agenda, AgendaEntry, Decision, Fill, Tell
from pytest_ltm.api.model import Finish, JumpTime, ResumeLane, Start


@dataclass
class NaiveAgenda:
    """Answers the same questions as the real agenda by scanning every entry each time."""

    entries: Sequence[AgendaEntry]
    now: datetime
    position: int = 0
    history: Sequence[datetime] = ()
    told: int = 0
    fresh: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    waiting: dict[int, tuple[int, datetime, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fresh = set(range(len(self.entries)))

    def decide(self, *, listening: bool) -> Decision:
        over = [
            (tokens, time, lane)
            for lane, (tokens, time, told) in self.waiting.items()
            if tokens <= self.position and time <= self.now and told <= self.told
        ]
        if over:
            return ResumeLane(min(over)[2])
        startable = [
            lane
            for lane in self.fresh
            if not any(self.rivals(lane, other) for other in self.open)
        ]
        if startable:
            return Start(min(startable))
        times = [time for _, time, _ in self.waiting.values() if time > self.now]
        if self.waiting and self.told < len(self.history):
            following = self.history[self.told]
            if not any(time <= following for time in times):
                return Tell(self.told)
        if times:
            return JumpTime(min(times))
        targets = [
            tokens for tokens, _, _ in self.waiting.values() if tokens > self.position
        ]
        if listening or targets:
            return Fill(0 if listening else min(targets) - self.position)
        return Finish()

    def rivals(self, lane: int, other: int) -> bool:
        first, second = self.entries[lane].scenario, self.entries[other].scenario
        if first == second and not all(
            e.together for e in self.entries if e.scenario == first
        ):
            return True
        return self.named(first, second) or self.named(second, first)

    def named(self, scenario: str, other: str) -> bool:
        return any(
            entry.scenario == scenario and other in entry.incompatible
            for entry in self.entries
        )

    def start(self, lane: int) -> None:
        self.fresh.remove(lane)
        self.open.add(lane)

    def end(self, lane: int) -> None:
        self.open.remove(lane)

    def suspend(self, lane: int, *, tokens: int, time: datetime, told: int = 0) -> None:
        self.waiting[lane] = (tokens, time, told)

    def tell(self) -> None:
        self.told += 1

    def resume(self, lane: int) -> None:
        del self.waiting[lane]

    def advance(self, *, position: int, now: datetime) -> None:
        self.position, self.now = position, now


class Compared(Agenda):
    """The real agenda, asserting at every decision that the naive one agrees."""

    def __init__(
        self,
        entries: Sequence[AgendaEntry],
        *,
        now: datetime,
        position: int = 0,
        history: Sequence[datetime] = (),
    ) -> None:
        super().__init__(entries, now=now, position=position, history=history)
        self.naive = NaiveAgenda(entries, now, position, history)
        self.decisions: list[Decision] = []

    def decide(self, *, listening: bool = False) -> Decision:
        decision = super().decide(listening=listening)
        assert decision == super().decide(listening=listening), (
            "a question has changed something"
        )
        assert decision == self.naive.decide(listening=listening)
        self.decisions.append(decision)
        return decision

    def start(self, lane: int) -> None:
        super().start(lane)
        self.naive.start(lane)

    def end(self, lane: int) -> None:
        super().end(lane)
        self.naive.end(lane)

    def suspend(self, lane: int, *, tokens: int, time: datetime, told: int = 0) -> None:
        super().suspend(lane, tokens=tokens, time=time, told=told)
        self.naive.suspend(lane, tokens=tokens, time=time, told=told)

    def tell(self) -> None:
        super().tell()
        self.naive.tell()

    def resume(self, lane: int) -> None:
        super().resume(lane)
        self.naive.resume(lane)

    def advance(self, *, position: int, now: datetime) -> None:
        super().advance(position=position, now=now)
        self.naive.advance(position=position, now=now)
