"""Whatever was said in a conversation: telling its record again comes to the same verdicts, and asks nobody."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from _plans import COUNTER, Case, Dots, Part, Pause, Player, Record, Speak, Step, _example, _plan, cases, play
from hypothesis import HealthCheck, example, given, settings

from pytest_ltm._channel import Channel
from pytest_ltm._clock import SimulatedClock
from pytest_ltm._handle import Ltm
from pytest_ltm._journal import Timings
from pytest_ltm._rescore import _record
from pytest_ltm._rescore._retelling import Retelling
from pytest_ltm._seat import Known, Seat

if TYPE_CHECKING:
    from pytest_ltm._lane import Ending
    from pytest_ltm.agents._speaker import Speaker

HEADER: dict[str, Any] = {"event": "header", "format": 1}


@dataclass
class Retold:
    """What telling a record again came to."""

    record: Record
    conversation: Retelling


def retell(case: Case, whole: Record) -> Retold:
    """Tell a whole record again, to bodies that do the same as then."""
    recorded = _record.Record(HEADER, _with_verdicts(whole))
    now = Record(case)
    order = [(f"{part.name}/{n}", part) for part in case.parts for n in range(part.examples)]
    plan, clock = _plan(case, [_example(key, part) for key, part in order]), SimulatedClock()
    now.players = {key: Player(key, part, case, now) for key, part in order}
    for player in now.players.values():
        player.ltm = Ltm(player.send, now=lambda: clock.now, example="0", span=player.span, rng=random.Random(0))
        player.sheet = player.ltm.sheet
    seat = Seat(_nobody, known=Known(whole.voice.powers, case.max_message_tokens))
    journal = _record.RetoldJournal(now.file, recorded)  # type: ignore[arg-type]
    channel = Channel(seat, COUNTER, clock, journal, Timings())
    bodies = [now.players[example.key] for example in plan.examples]
    talk = Retelling(
        plan, bodies, channel=channel, filler=Dots(), counter=COUNTER, record=recorded, kept_ending=_kept
    )  # fmt: skip
    now.conversation = talk
    while not talk.finished:
        talk.step()
        now.steps += 1
        assert now.steps <= 20 * len(whole.events) + 100, "no end in sight"
    talk.close("complete")
    return Retold(now, talk)


def _with_verdicts(whole: Record) -> list[dict[str, Any]]:
    """Return the events with a verdict behind the end of each example, as runs write them."""
    found = []
    for event in whole.events:
        found.append(event)
        if event["event"] == "end" and "example" in event:
            ending = whole.endings[event["example"]]
            reason = ending.unreached or ending.unplayable or "a verdict"
            found.append({"event": "verdict", "example": event["example"], "reason": reason})
    return found


def _nobody() -> Speaker:
    raise AssertionError("somebody was asked")


def _kept(key: str) -> Ending:
    raise AssertionError(f"{key} was not scored anew")


def _one(steps: tuple[Step, ...], *faults: int) -> Case:
    """Return a conversation with an agent that is told its filler."""
    part = Part(name="a", steps=steps, examples=2, span=None, incompatible=(), reset="", swallows=False)
    return Case(
        parts=(part,), span=300, opening="", replies=(3,), faults=frozenset(faults), fatal=None, accepts_history=True,
        max_message_tokens=64,
    )  # fmt: skip


QUIET = _one((Speak(20, asked=False), Speak(20, asked=True), Pause(0.9, 0.0, 30)))
"""Nothing is said after the wait."""
REFUSED = _one((Speak(20, asked=False), Pause(0.9, 0.0, 0), Speak(20, asked=True)), 2)
"""The agent will not have a filler that it is told."""


@example(QUIET)
@example(REFUSED)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases)
def test_a_record_that_is_told_again_comes_to_the_same_end(case: Case) -> None:
    whole = play(case)
    retold = retell(case, whole)
    assert retold.conversation.kept == {}
    assert {key: str(ending) for key, ending in retold.record.endings.items()} == {
        key: str(ending) for key, ending in whole.endings.items()
    }
    said = [json.loads(line) for line in retold.record.journal.splitlines()]
    outside = {"message", "reply", "filler", "fault", "jump"}
    assert [e for e in said if e["event"] in outside] == [e for e in whole.events if e["event"] in outside]
    assert [e.number for e in retold.record.transcript] == [e.number for e in whole.transcript]
