"""On random plans the agenda keeps the scheduling rules and always finishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from _naive_agenda import Compared
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.model.schedule import (
    AgendaEntry,
    Fill,
    Finish,
    JumpTime,
    ResumeLane,
    Start,
    Tell,
)
from pytest_ltm._core.storage.clock import START

NAMES = "abcde"


@dataclass(frozen=True)
class Pause:
    """The example waits for this many tokens and minutes."""

    tokens: int
    minutes: int
    told: int = 0
    """Exchanges of the history that are told, at most as many as exist."""


@dataclass(frozen=True)
class Listen:
    """A watcher of the example counts this many fillers."""

    replies: int


@dataclass(frozen=True)
class Talk:
    """The example says this many tokens."""

    tokens: int


Move: TypeAlias = "Pause | Listen | Talk"
moves: st.SearchStrategy[Move] = (
    st.builds(Pause, st.integers(0, 30), st.integers(0, 5), st.integers(0, 6))
    | st.builds(Listen, st.integers(1, 3))
    | st.builds(Talk, st.integers(0, 20))
)
entries = st.builds(
    AgendaEntry,
    scenario=st.sampled_from(NAMES),
    incompatible=st.frozensets(st.sampled_from(NAMES), max_size=2),
    together=st.booleans(),
)
histories = st.lists(st.integers(0, 9), max_size=5).map(sorted)
"""Minutes at which the exchanges of a history are dated."""
plans = st.lists(st.tuples(entries, st.lists(moves, max_size=5)), max_size=8)
overshoots = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@dataclass
class Driver:
    """Carries out decisions like the conversation, but without an agent."""

    agenda: Compared
    scripts: list[list[Move]]
    overshoots: list[int]
    history: list[int]
    position: int = 0
    minutes: int = 0

    def __post_init__(self) -> None:
        self.listening: list[int] = []
        self.fills = 0
        self.woken: list[tuple[int, int, int]] = []
        self.targets: dict[int, tuple[int, int, int]] = {}
        self.told = 0
        self.ended: list[int] = []

    def run(self, most: int) -> None:
        for _ in range(most):
            match self.agenda.decide(listening=bool(self.listening)):
                case Finish():
                    return
                case Start(lane):
                    self.agenda.start(lane)
                    self.play(lane)
                case ResumeLane(lane):
                    self.agenda.resume(lane)
                    self.woken.append((lane, self.position, self.minutes))
                    tokens, minutes, told = self.targets.pop(lane)
                    assert told <= self.told, "woken early"
                    assert tokens <= self.position, "woken early"
                    assert minutes <= self.minutes, "woken early"
                    self.play(lane)
                case JumpTime(to):
                    assert to > START + timedelta(minutes=self.minutes), (
                        "a jump that goes nowhere"
                    )
                    self.minutes = int((to - START) / timedelta(minutes=1))
                    self.advance()
                case Tell(number):
                    self.tell(number)
                case Fill(tokens):
                    self.fill(tokens)
        raise AssertionError(f"no end after {most} decisions")

    def tell(self, number: int) -> None:
        assert number == self.told
        self.minutes = max(self.minutes, self.history[number])
        self.position += 3
        self.told += 1
        self.agenda.tell()
        self.advance()

    def fill(self, tokens: int) -> None:
        assert tokens >= 0
        self.position += (
            max(tokens, 1) + self.overshoots[self.fills % len(self.overshoots)]
        )
        self.fills += 1
        self.listening = [replies - 1 for replies in self.listening if replies > 1]
        self.advance()

    def play(self, lane: int) -> None:
        script = self.scripts[lane]
        while script:
            match script.pop(0):
                case Talk(tokens):
                    self.position += tokens
                    self.advance()
                case Listen(replies):
                    self.listening.append(replies)
                case Pause(tokens, minutes, told):
                    target = self.targets[lane] = (
                        self.position + tokens,
                        self.minutes + minutes,
                        min(told, len(self.history)),
                    )
                    self.agenda.suspend(
                        lane,
                        tokens=target[0],
                        time=START + timedelta(minutes=target[1]),
                        told=target[2],
                    )
                    return
        self.ended.append(lane)
        self.agenda.end(lane)

    def advance(self) -> None:
        self.agenda.advance(
            position=self.position, now=START + timedelta(minutes=self.minutes)
        )


def driven(
    plan: list[tuple[AgendaEntry, list[Move]]],
    overshoots: list[int],
    history: Sequence[int] = (),
) -> Driver:
    dates = [START + timedelta(minutes=minutes) for minutes in history]
    agenda = Compared([entry for entry, _ in plan], now=START, history=dates)
    driver = Driver(
        agenda, [list(script) for _, script in plan], overshoots, list(history)
    )
    waits = sum(isinstance(move, Pause) for _, script in plan for move in script)
    replies = sum(
        move.replies
        for _, script in plan
        for move in script
        if isinstance(move, Listen)
    )
    # Each example starts once, and each wait ends once, after at most one jump and one
    # filler.
    driver.run(most=len(plan) + 3 * waits + replies + len(history) + 1)
    return driver


@given(plans, overshoots, histories)
def test_every_decision_follows_the_rules_wakes_nobody_early_and_makes_progress(
    plan: list[tuple[AgendaEntry, list[Move]]],
    overshoots: list[int],
    history: list[int],
) -> None:
    driver = driven(plan, overshoots, history)
    assert sorted(driver.ended) == list(range(len(plan)))


@given(plans, overshoots)
def test_one_filler_of_the_size_asked_for_lets_somebody_go_on(
    plan: list[tuple[AgendaEntry, list[Move]]], overshoots: list[int]
) -> None:
    agenda = driven(
        [
            (entry, [m for m in script if isinstance(m, Pause)])
            for entry, script in plan
        ],
        overshoots,
    ).agenda
    for before, after in zip(agenda.decisions, agenda.decisions[1:], strict=False):
        if isinstance(after, Fill):
            assert not isinstance(before, Fill), "nobody went on"


@given(plans)
def test_examples_of_one_scenario_start_in_the_order_of_the_plan(
    plan: list[tuple[AgendaEntry, list[Move]]],
) -> None:
    decisions = driven(plan, [0]).agenda.decisions
    started = [decision.lane for decision in decisions if isinstance(decision, Start)]
    for name in NAMES:
        lanes = [lane for lane in started if plan[lane][0].scenario == name]
        assert lanes == sorted(lanes)
