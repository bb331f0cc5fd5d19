"""Replaying the record of any conversation yields the same verdicts, and calls neither agent nor judge."""

from __future__ import annotations

import random
from dataclasses import dataclass

import journals
from _examples import share
from _plans import (
    COUNTER,
    Case,
    Dots,
    Part,
    Pause,
    Player,
    Record,
    Speak,
    Step,
    _example,
    _plan,
    cases,
    play,
)
from hypothesis import HealthCheck, example, given, settings

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.conversation import Conversation
from pytest_ltm._core.engine.held_agent import RecordedAgent
from pytest_ltm._core.engine.lane import Ending
from pytest_ltm._core.engine.port import LivePort, Recorded
from pytest_ltm._core.journal import events, fold
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.storage.clock import SimulatedClock
from pytest_ltm.modes import recorded_script as _record
from pytest_ltm.records import playback


@dataclass
class Retold:
    """The outcome of replaying a record."""

    record: Record
    conversation: Conversation
    asked: bool
    """Whether an agent or judge was called."""


def retell(case: Case, whole: Record) -> Retold:
    """Replay a whole record with bodies that act as before."""
    said = _with_verdicts(whole)
    recorded = playback.Playback(fold.ConversationRecord.after(said), said)
    now = Record(case)
    order = [
        (f"{part.name}/{n}", part) for part in case.parts for n in range(part.examples)
    ]
    plan, clock = (
        _plan(case, [_example(key, part) for key, part in order]),
        SimulatedClock(),
    )
    now.players = {key: Player(key, part, case, now) for key, part in order}
    for player in now.players.values():
        player.ltm = Ltm(
            player.send,
            now=lambda: clock.now,
            example="0",
            span=player.span,
            rng=random.Random,
        )
        player.sheet = player.ltm.sheet
    known = RecordedAgent(whole.voice.capabilities, case.max_message_tokens)
    script = _record.RecordScript(recorded, _kept)
    port = Recorded(
        recorded,
        clock,
        LivePort(recorded.no_agent, COUNTER, clock, Timings(), known=known),
    )
    channel = Channel(
        port,
        COUNTER,
        clock,
        Journal(now.file),
        count=case.count,
        observers=[script.skip_passed],
    )
    bodies = [now.players[example.key] for example in plan.examples]
    talk = Conversation(plan, bodies, script, channel, filler=Dots(), counter=COUNTER)
    now.conversation = talk
    while not talk.finished:
        talk.step()
        now.steps += 1
        assert now.steps <= 20 * len(whole.events) + 100, "no end in sight"
    talk.close("complete")
    return Retold(now, talk, bool(recorded.wanted))


def _with_verdicts(whole: Record) -> list[events.Event]:
    """Return the events with a verdict after the end of each example, as in recorded runs."""
    found: list[events.Event] = []
    for event in whole.events:
        found.append(event)
        if isinstance(event, events.End) and event.example is not None:
            ending = whole.endings[event.example]
            reason = ending.unreached or ending.unplayable or "a verdict"
            found.append(journals.verdict(event.example, reason=reason))
    return found


def _kept(key: str) -> Ending:
    raise AssertionError(f"{key} was not scored anew")


def _one(steps: tuple[Step, ...], *faults: int) -> Case:
    """Return a conversation with an agent that accepts filler as history."""
    part = Part(
        name="a",
        steps=steps,
        examples=2,
        span=None,
        incompatible=(),
        reset="",
        swallows=False,
    )
    return Case(
        parts=(part,),
        span=300,
        opening="",
        replies=(3,),
        faults=frozenset(faults),
        fatal=None,
        accepts_history=True,
        max_message_tokens=64,
    )


QUIET = _one((Speak(20, asked=False), Speak(20, asked=True), Pause(0.9, 0.0, 30)))
"""Ends with a wait, after which nothing is said."""
REFUSED = _one((Speak(20, asked=False), Pause(0.9, 0.0, 0), Speak(20, asked=True)), 2)
"""The agent refuses a filler exchange."""


@example(QUIET)
@example(REFUSED)
@settings(
    max_examples=share(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(cases)
def test_a_record_that_is_told_again_comes_to_the_same_end(case: Case) -> None:
    whole = play(case)
    retold = retell(case, whole)
    assert retold.conversation.changed_scripts == {}
    assert not retold.asked
    assert {key: str(ending) for key, ending in retold.record.endings.items()} == {
        key: str(ending) for key, ending in whole.endings.items()
    }
    outside = (
        events.MessageSent,
        events.ReplyReceived,
        events.FillerSent,
        events.Fault,
        events.TimeJumped,
    )
    said = [
        [event for event in one.events if isinstance(event, outside)]
        for one in (retold.record, whole)
    ]
    assert said[0] == said[1]
    assert [e.number for e in retold.record.transcript] == [
        e.number for e in whole.transcript
    ]
