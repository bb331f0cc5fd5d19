"""Random conversations in memory: scenarios that do anything allowed, agents that fail, and a record of events.

A token is one character, so every length can be chosen exactly.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import journals
from _naive_agenda import Compared
from hypothesis import strategies as st

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.conversation import AgendaScript
from pytest_ltm._core.engine.lane import GreenBody
from pytest_ltm._core.engine.port import Recorded
from pytest_ltm._core.model.transcript import COUNTS, Transcript
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.engine import (
    MAX_CONSECUTIVE_FAULTS,
    Conversation,
    Ending,
    Lane,
    LivePort,
    RecordedAgent,
)
from pytest_ltm.api.journal import Journal, Timings, events
from pytest_ltm.api.model import (
    Capabilities,
    Count,
    Exchange,
    FillerExchange,
    Reply,
    Score,
    TokenCounter,
    Tools,
)
from pytest_ltm.api.scenarios import Ask, Ltm, Plan, PlannedExample, Say, Wait
from pytest_ltm.api.storage import AgentFault, LtmError, SimulatedClock

NAMES = "abcdefgh"
COUNTER = TokenCounter("characters", len)


# --- steps of a random scenario


@dataclass(frozen=True)
class Speak:
    """One message of `size` characters, sent with `ask` or with `say`."""

    size: int
    asked: bool


@dataclass(frozen=True)
class Pause:
    """A wait; `tokens` is a share of the example's span."""

    span: float
    tokens: float
    minutes: int

    def wait(self, span: int | None) -> Wait:
        return Wait(
            span=self.span,
            tokens=int(self.tokens * (span or 0)),
            time=timedelta(minutes=self.minutes),
        )


@dataclass(frozen=True)
class Listen:
    """A watcher that reaches its verdict after `tells` exchanges."""

    replies: int | None
    tells: int


@dataclass(frozen=True)
class Break:
    """The body raises."""

    error: type[Exception]


@dataclass(frozen=True)
class ComeBack:
    """The user returns to a newly created agent."""


Step: TypeAlias = "Speak | Pause | Listen | ComeBack | Break"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One scenario."""

    name: str
    steps: tuple[Step, ...]
    examples: int
    span: int | None
    incompatible: tuple[str, ...]
    reset: str
    swallows: bool
    """Its body catches every pytest-ltm error and continues."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation to play."""

    parts: tuple[Part, ...]
    span: int | None
    opening: str
    replies: tuple[int, ...]
    """Lengths of the agent's replies, repeated in a cycle."""
    faults: frozenset[int]
    """Numbers of the calls in which the agent fails."""
    fatal: int | None
    """Number of the call after which the agent is gone."""
    accepts_history: bool
    max_message_tokens: int
    count: Count = "capped"
    sessions: str = ""

    @property
    def has_sessions(self) -> bool:
        return bool(self.sessions) or any(
            isinstance(step, ComeBack) for part in self.parts for step in part.steps
        )

    @property
    def keys(self) -> list[str]:
        return sorted(
            f"{part.name}/{n}" for part in self.parts for n in range(part.examples)
        )


shares = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.9, 1.0])
speaking = st.builds(Speak, st.integers(0, 200), st.booleans())
pausing = st.builds(Pause, shares, shares, st.sampled_from([0, 0, 1, 30, 3000]))
listening = st.builds(Listen, st.sampled_from([None, 1, 2, 5]), st.integers(1, 8))
breaking = st.builds(Break, st.sampled_from([AssertionError, RuntimeError]))
other = st.one_of(speaking, breaking, st.just(ComeBack()))
steps = st.lists(speaking | pausing | pausing | listening | other, max_size=7)
parts = st.builds(
    Part,
    name=st.sampled_from(NAMES),
    steps=steps.map(lambda some: (Speak(20, asked=False), *some)),
    examples=st.integers(1, 3),
    span=st.none() | st.integers(100, 5000),
    incompatible=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    reset=st.sampled_from(["", "forget it"]),
    swallows=st.booleans(),
)
calm = st.builds(
    Case,
    parts=st.lists(parts, min_size=1, max_size=8, unique_by=lambda part: part.name).map(
        tuple
    ),
    span=st.none() | st.integers(100, 5000),
    opening=st.sampled_from(["", "let us begin"]),
    replies=st.lists(st.integers(0, 300), min_size=1, max_size=5).map(tuple),
    faults=st.just(frozenset()),
    fatal=st.none(),
    accepts_history=st.booleans(),
    max_message_tokens=st.sampled_from([64, 4096]),
    count=st.sampled_from(COUNTS),
    sessions=st.sampled_from(["", "", "3", "every:1h"]),
)
"""Conversations with an agent that always replies."""
stormy = st.builds(
    lambda case, faults, fatal: Case(
        **{**_fields(case), "faults": faults, "fatal": fatal}
    ),
    calm,
    st.frozensets(st.integers(0, 40), max_size=12),
    st.none() | st.integers(0, 40),
)
"""Conversations with an agent that fails occasionally or permanently."""
watchful = st.builds(
    lambda case, some: Case(**{**_fields(case), "parts": some}),
    calm,
    st.lists(
        st.builds(
            Part,
            name=st.sampled_from(NAMES),
            steps=st.lists(listening, min_size=1, max_size=2).map(
                lambda some: (Speak(20, asked=False), *some)
            ),
            examples=st.integers(1, 2),
            span=st.none(),
            incompatible=st.just(()),
            reset=st.sampled_from(["", "forget it"]),
            swallows=st.just(value=False),
        ),
        min_size=2,
        max_size=8,
        unique_by=lambda part: part.name,
    ).map(tuple),
)
"""Conversations in which every example watches the others."""
cases = calm | stormy | watchful


def _fields(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in Case.__dataclass_fields__}


# --- the playing of a case


@dataclass
class KeptWait:
    """A wait, with the position and time at its beginning and at its end."""

    key: str
    wait: Wait
    began: int
    before: tuple[int, datetime]
    after: tuple[int, datetime]


@dataclass
class Listener:
    """A watcher that remembers the exchanges it was shown."""

    key: str
    replies: int | None
    tells: int
    log: list[tuple[str, str]]
    shown: list[list[int]] = field(default_factory=list)
    spoke: bool = False
    pestered: bool = False
    """Whether it was asked again after giving its verdict."""

    def __call__(self, since: Sequence[Exchange]) -> Score | None:
        self.pestered = self.pestered or self.spoke
        self.shown.append([exchange.number for exchange in since])
        tells = len(since) >= self.tells
        if tells or (self.replies is not None and len(since) >= self.replies):
            self.spoke = True
            if self.replies is not None:
                self.log.append(("counted", self.key))
        return Score(1.0, "told") if tells else None

    @property
    def counting(self) -> bool:
        return self.replies is not None and not self.spoke


class Player(GreenBody):
    """The body of one example."""

    def __init__(self, key: str, part: Part, case: Case, record: Record) -> None:
        super().__init__()
        self.key, self.part, self.record = key, part, record
        self.span = None if case.span is None else part.span or case.span
        self.spoken: list[str] = []
        self.listeners: list[Listener] = []
        self.finished = 0
        self.ltm: Ltm

    def play(self) -> None:
        self.began = self.record.here[0]
        self.record.log.append(("enter", self.key))
        try:
            for number, step in enumerate(self.part.steps):
                try:
                    self.perform(number, step)
                except LtmError:
                    if not self.part.swallows:
                        raise
        finally:
            self.record.log.append(("leave", self.key))

    def perform(self, number: int, step: Step) -> None:
        match step:
            case Speak(size, asked):
                text = f"{self.key} #{number} " + "." * size
                self.ltm.ask(text) if asked else self.ltm.say(text)
                self.spoken.append(text)
            case Pause():
                wait, before = step.wait(self.span), self.record.here
                self.record.aims.append((self.key, *self.aim(wait, *before)))
                self.ltm.play([wait])
                self.record.waits.append(
                    KeptWait(self.key, wait, self.began, before, self.record.here)
                )
            case Listen(replies, tells):
                self.listeners.append(
                    Listener(self.key, replies, tells, self.record.log)
                )
                self.ltm.watch(self.listeners[-1], replies)
            case ComeBack():
                self.ltm.new_session()
            case Break(error):
                raise error("broken on purpose")

    def aim(self, wait: Wait, position: int, now: datetime) -> tuple[int, datetime]:
        if self.span is None:
            return position, now + wait.time
        return max(
            position + wait.tokens, math.ceil(self.began + wait.span * self.span)
        ), now + wait.time

    def finish(self, lane: Lane, ending: Ending) -> None:
        self.finished += 1
        self.record.log.append(("finish", self.key))
        self.record.endings[self.key] = ending
        self.record.lanes[self.key] = lane


class Mute:
    """An agent that is never asked: its caller replies instead."""

    def reply(self, message: str) -> str:
        raise NotImplementedError


class Voice(AgentCaller):
    """The caller of a scripted agent, as the channel sees it."""

    def __init__(self, case: Case) -> None:
        super().__init__(Mute(), timeout=None)
        self.case = case
        self.calls = self.streak = self.after_the_end = 0
        self.gone = False
        having = {
            "AcceptsHistory": case.accepts_history,
            "Stateless": case.has_sessions,
        }
        self.capabilities = Capabilities(name for name, has in having.items() if has)
        self.max_message_tokens = case.max_message_tokens

    def ask(
        self,
        message: str,
        images: Sequence[str] = (),
        user: str = "",
        *,
        alone: bool = False,
        tools: Tools | None = None,
    ) -> Reply:
        del message, images, user, alone, tools
        return Reply("r" * self.case.replies[self._called() % len(self.case.replies)])

    def tell(self, message: str, reply: str, user: str = "") -> Reply:
        del message, reply, user
        self._called()
        return Reply("")

    def _called(self) -> int:
        number, self.calls = self.calls, self.calls + 1
        self.after_the_end += self.gone
        fatal = number == self.case.fatal
        if fatal or number in self.case.faults:
            self.streak += 1
            self.gone = self.gone or fatal or self.streak >= MAX_CONSECUTIVE_FAULTS
            raise AgentFault(f"call {number}", fatal=fatal)
        self.streak = 0
        return number


class Dots:
    """Filler of exactly the requested size, with a one-character reply."""

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        return FillerExchange("." * max(1, min(tokens - 1, max_message_tokens)), "k")

    def configuration(self) -> object:
        return "dots"


@dataclass
class Record:
    """The record of a played case."""

    case: Case
    log: list[tuple[str, str]] = field(default_factory=list)
    """(enter | leave | counted | finish, key), in order."""
    waits: list[KeptWait] = field(default_factory=list)
    aims: list[tuple[str, int, datetime]] = field(default_factory=list)
    """For each wait: its example, target position and target time."""
    endings: dict[str, Ending] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    file: io.StringIO = field(default_factory=io.StringIO)
    steps: int = 0
    counting_at: dict[int, bool] = field(default_factory=dict)
    """By exchange: whether a watcher was counting replies at the time."""

    conversation: Conversation = field(init=False)
    voice: Voice = field(init=False)
    players: dict[str, Player] = field(init=False)

    @property
    def here(self) -> tuple[int, datetime]:
        channel = self.conversation.channel
        return channel.transcript.counted_tokens, channel.clock.now

    @property
    def journal(self) -> str:
        return self.file.getvalue()

    @property
    def events(self) -> list[events.Event]:
        return journals.opened(self.journal)

    @property
    def transcript(self) -> Transcript:
        return self.conversation.channel.transcript

    def heard(self, exchange: Exchange) -> None:
        counting = [
            p
            for p in self.players.values()
            if not p.finished and any(listener.counting for listener in p.listeners)
        ]
        self.counting_at[exchange.number] = bool(counting)


def bound(case: Case) -> int:
    """Return the largest number of decisions that a conversation of this case may take."""
    steps = [(part.examples, step) for part in case.parts for step in part.steps]
    starts = sum(part.examples for part in case.parts)
    waits = sum(n for n, step in steps if isinstance(step, Pause))
    replies = sum(
        n * step.replies
        for n, step in steps
        if isinstance(step, Listen) and step.replies
    )
    # A filler may miss its target by the length of its reply; up to three more then
    # reach it. Messages are cut to their limit.
    longest = max([case.span or 0, *(part.span or 0 for part in case.parts)])
    fills = waits * (4 + longest // case.max_message_tokens) + replies
    # One start, resume and jump each; a filler may fail twice before it succeeds; then
    # the opening; then finish or stop.
    decisions = starts + 2 * waits + MAX_CONSECUTIVE_FAULTS * (fills + 1) + 2
    # a session may end before each
    return 2 * decisions if case.sessions else decisions


def play(
    case: Case, *, shuffled: int | None = None, recorded: Sequence[bytes] = ()
) -> Record:
    """Play the case to its end, checking every decision against the naive agenda.

    `shuffled` seeds another order of definition; None keeps the case's own. `recorded`:
    journal events from which the conversation is resumed.
    """
    record = Record(case)
    order = [
        (f"{part.name}/{n}", part) for part in case.parts for n in range(part.examples)
    ]
    if shuffled is not None:
        random.Random(shuffled).shuffle(order)
    plan = _plan(case, [_example(key, part) for key, part in order])
    record.players = {key: Player(key, part, case, record) for key, part in order}
    record.voice, clock = Voice(case), SimulatedClock()
    for player in record.players.values():
        player.ltm = Ltm(
            player.send,
            now=lambda: clock.now,
            example="0",
            span=player.span,
            rng=lambda: random.Random(0),
        )
        player.sheet = player.ltm.sheet
    record.voice.calls = sum(
        isinstance(event, (events.ReplyReceived, events.FillerSent, events.Fault))
        for event in journals.opened(b"".join(recorded).decode())
    )
    having = Capabilities({*record.voice.capabilities, "Stateless"})
    known = RecordedAgent(having, case.max_message_tokens) if recorded else None
    journal = Journal(record.file, iter(recorded))
    journal.write(journals.header())
    port = Recorded(
        journal,
        clock,
        LivePort(lambda: record.voice, COUNTER, clock, Timings(), known=known),
    )
    channel = Channel(
        port, COUNTER, clock, journal, count=case.count, heard=record.heard
    )
    bodies = [record.players[example.key] for example in plan.examples]
    script = AgendaScript(plan, now=clock.now)
    script.agenda = Compared(script.agenda._entries, now=clock.now)
    record.conversation = Conversation(
        plan, bodies, script, channel, filler=Dots(), counter=COUNTER
    )
    while not record.conversation.finished:
        record.conversation.step()
        record.steps += 1
        assert record.steps <= bound(case), "no end in sight"
    record.conversation.close("complete")
    return record


def _example(key: str, part: Part) -> PlannedExample:
    return PlannedExample(
        scenario=part.name,
        example=key.split("/")[1],
        span=part.span,
        incompatible=part.incompatible,
        reset=part.reset,
    )


def _plan(case: Case, examples: list[PlannedExample]) -> Plan:
    return Plan(
        examples=tuple(examples),
        seed=0,
        trial=0,
        span=case.span,
        tokenizer="characters",
        filler="dots",
        scoring="current",
        judge="none",
        judge_votes=0,
        time="simulated",
        opening=case.opening,
        count=case.count,
        sessions=case.sessions,
    )


__all__ = ["Ask", "Case", "Record", "Say", "bound", "calm", "cases", "play", "stormy"]
