"""An agent is created when first needed, saved after each exchange, and restored to the conversation's position."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.port import Calling, Recorded, call_now
from pytest_ltm._core.storage.clock import SignallingClock, WallClock
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.calls import Retries
from pytest_ltm.api.engine import Checkpoints, LivePort, RecordedAgent
from pytest_ltm.api.journal import Journal, Timings
from pytest_ltm.api.model import Agent, FillerExchange, TokenCounter
from pytest_ltm.api.storage import (
    START,
    AgentError,
    AgentFault,
    Clock,
    ConversationOver,
    SimulatedClock,
    TransientFault,
)

T = TypeVar("T")


class Plain:
    """Replies with all messages so far; raises after storing "fail"."""

    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.heard: list[str] = []

    def reply(self, message: str) -> str:
        self.heard.append(message)
        if message == "fail":
            raise RuntimeError("failed")
        return " ".join(self.heard)


class Saved(Plain):
    def save(self) -> bytes:
        if self.heard[-1:] == ["unsaveable"]:
            raise RuntimeError("cannot save")
        return json.dumps(self.heard).encode()

    def load(self, state: bytes) -> None:
        self.heard = json.loads(state)


class Told(Plain):
    times: list[datetime]

    def accept(self, message: str, reply: str) -> None:
        del reply
        self.heard.append(message)


class ToldTheTime(Told):
    def tell_time(self, now: datetime) -> None:
        self.heard.append(f"{now:%H:%M}")


class Stateless(Plain):
    stateless = True


class Line:
    """A channel, optionally resuming another one's record."""

    def __init__(
        self,
        kind: Any,
        *,
        recorded: str = "",
        folder: Path | None = None,
        clock: Clock | None = None,
        timeout: float | None = None,
        file: io.StringIO | None = None,
        calling: Calling = call_now,
    ) -> None:
        self.file = file or io.StringIO()
        self.made: list[Any] = []
        self.timeout = timeout
        capabilities = AgentCaller(kind(), timeout=None).capabilities
        known = RecordedAgent(capabilities, 99) if recorded else None
        lines = iter(recorded.encode().splitlines(keepends=True))
        counter = TokenCounter("characters", len)
        self.clock = clock or SimulatedClock()
        self.journal = Journal(self.file, lines)
        live = LivePort(
            lambda: self.make(kind),
            counter,
            self.clock,
            Timings(),
            known=known,
            checkpoints=Checkpoints(folder),
            calling=calling,
        )
        self.channel = Channel(
            Recorded(self.journal, self.clock, live), counter, self.clock, self.journal
        )

    def make(self, kind: Any) -> AgentCaller:
        self.made.append(kind())
        return AgentCaller(self.made[-1], timeout=self.timeout)

    def say(self, text: str) -> str:
        return self.channel.ask("a/0", "say", text).reply


@pytest.mark.parametrize(
    ("kind", "heard"),
    [(Saved, "one two three"), (Told, "one two three"), (Stateless, "three")],
)
def test_an_agent_that_goes_on_knows_what_it_must(
    tmp_path: Path, kind: Any, heard: str
) -> None:
    first = Line(kind, folder=tmp_path / "checkpoints")
    first.say("one")
    first.say("two")
    second = Line(kind, recorded=first.file.getvalue(), folder=tmp_path / "checkpoints")
    assert second.say("one") == "one"
    assert second.say("two") == first.channel.transcript[1].reply
    assert second.made == []  # the agent was not needed
    assert second.say("three") == heard
    assert second.file.getvalue().startswith('{"event":"message","exchange":2')


def test_one_that_is_told_is_told_the_times_too() -> None:
    first = Line(ToldTheTime)
    first.say("one")
    first.clock.advance(START + timedelta(hours=2))
    first.channel.tell(FillerExchange("filler", "ok"))
    second = Line(ToldTheTime, recorded=first.file.getvalue())
    second.say("one")
    second.clock.advance(START + timedelta(hours=2))
    second.channel.tell(FillerExchange("filler", "ok"))
    assert second.say("two") == "09:00 one 11:00 filler two"


class SavedAndTold(Saved):
    def accept(self, message: str, reply: str) -> None:  # noqa: ARG002 - the protocol's signature
        self.heard.append(message)


def told_twice(line: Line) -> None:
    line.say("one")
    line.channel.tell(FillerExchange("two", "ok"))
    line.channel.tell(FillerExchange("three", "ok"))


def test_what_was_told_is_not_saved_where_saving_is_dearer_and_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ltm.agents.caller.SAVING", -math.inf)
    first = Line(SavedAndTold, folder=tmp_path)
    told_twice(first)
    assert [path.name for path in tmp_path.iterdir()] == ["0.bin"]
    second = Line(SavedAndTold, recorded=first.file.getvalue(), folder=tmp_path)
    told_twice(second)
    assert second.say("four") == "one two three four"


class FailsOnce(SavedAndTold):
    """Stores half of "three" before its connection breaks, once."""

    fails = True

    def accept(self, message: str, reply: str) -> None:
        if message == "three" and self.fails:
            self.fails = False
            self.heard.append("half of three")
            raise TransientFault("the connection is gone", taken=True)
        super().accept(message, reply)


class FailsOnceAndRefers(FailsOnce):
    """Saves a reference to live state, so that loading it undoes nothing."""

    saves_reference = True


@pytest.mark.parametrize("kind", [FailsOnce, FailsOnceAndRefers])
def test_what_was_told_since_the_last_state_is_told_again_before_another_attempt(
    kind: type[FailsOnce], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ltm.agents.caller.SAVING", -math.inf)
    agent = kind()
    caller = AgentCaller(
        agent,
        timeout=None,
        retries=Retries(most=2, rng=random.Random(1), sleep=lambda _: None),
    )
    caller.save()
    for message in ("one", "two"):
        caller.tell(message, "ok")
    if kind is FailsOnceAndRefers:
        with pytest.raises(AgentFault, match="the connection is gone"):
            caller.tell("three", "ok")
        assert agent.heard == ["one", "two", "half of three"]
    else:
        caller.tell("three", "ok")
        caller.tell("four", "ok")
        assert agent.heard == ["one", "two", "three", "four"]


def test_what_was_told_is_saved_where_that_is_cheap(tmp_path: Path) -> None:
    told_twice(Line(SavedAndTold, folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.bin", "2.bin"]


def test_an_agent_that_is_only_told_is_saved_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ltm.agents.caller.SAVING", -math.inf)
    line = Line(SavedAndTold, folder=tmp_path)
    for text in ("one", "two", "three"):
        line.channel.tell(FillerExchange(text, "ok"))
    assert [path.name for path in tmp_path.iterdir()] == ["0.bin"]


class ClaimsToBeOurs(Told):
    """Has the mark of an agent of ours, and fails when it is told "fail"."""

    embedded = True

    def accept(self, message: str, reply: str) -> None:
        super().accept(message, reply)
        if message == "fail":
            raise RuntimeError("failed")


@pytest.mark.parametrize(
    ("make", "calls"), [(make_reader("full"), 0), (ClaimsToBeOurs, 2)]
)
def test_only_an_agent_of_ours_is_told_without_captured_output(
    make: Callable[[], Agent], calls: int
) -> None:
    callers: list[str] = []

    def count_call(by: str, call: Callable[[], T]) -> T:
        callers.append(by)
        return call()

    line = Line(make, calling=count_call)
    line.say("I live in Riga.")
    callers.clear()
    line.channel.tell(FillerExchange("My brother lives in Oslo.", "I see."))
    line.channel.tell(FillerExchange("It is raining.", "Is it?"))
    assert callers == [""] * calls


def test_an_agent_that_claims_to_be_ours_may_fail() -> None:
    line = Line(ClaimsToBeOurs)
    line.say("one")
    with pytest.raises(AgentFault, match="failed"):
        line.channel.tell(FillerExchange("fail", "ok"))


def test_an_agent_of_ours_goes_on_with_what_it_was_told(tmp_path: Path) -> None:
    first = Line(make_reader("full"), folder=tmp_path)
    first.channel.tell(FillerExchange("My favourite colour is teal.", "I see."))
    first.say("Hello.")
    first.channel.tell(FillerExchange("My favourite colour is now plum.", "I see."))
    second = Line(make_reader("full"), recorded=first.file.getvalue(), folder=tmp_path)
    second.channel.tell(FillerExchange("My favourite colour is teal.", "I see."))
    second.say("Hello.")
    second.channel.tell(FillerExchange("My favourite colour is now plum.", "I see."))
    question = "What is my favourite colour?"
    reply = second.say(question)
    assert "plum" in reply
    assert first.say(question) == reply
    assert second.made[0].save() == first.made[0].save()


def test_one_that_cannot_be_put_back_ends_the_conversation_before_it_is_asked() -> None:
    first = Line(Plain)
    first.say("one")
    second = Line(Plain, recorded=first.file.getvalue())
    second.say("one")
    with pytest.raises(ConversationOver, match="neither Checkpointable"):
        second.say("two")
    assert second.made[0].heard == []
    assert second.file.getvalue() == ""


def test_one_whose_state_is_gone_ends_the_conversation(tmp_path: Path) -> None:
    first = Line(Saved, folder=tmp_path)
    first.say("one")
    second = Line(Saved, recorded=first.file.getvalue())
    second.say("one")
    with pytest.raises(ConversationOver, match="no checkpoint of exchange 0"):
        second.say("two")


def test_one_that_will_not_go_back_says_so(tmp_path: Path) -> None:
    first = Line(Saved, folder=tmp_path)
    first.say("one")
    (tmp_path / "0.bin").write_bytes(b"no JSON")
    second = Line(Saved, recorded=first.file.getvalue(), folder=tmp_path)
    second.say("one")
    with pytest.raises(
        ConversationOver,
        match=r"cannot be restored .*raised in load\(\): JSONDecodeError",
    ):
        second.say("two")


def test_one_that_cannot_be_made_ends_the_conversation() -> None:
    def broken() -> AgentCaller:
        raise AgentError("no key")

    counter, clock = TokenCounter("characters", len), SimulatedClock()
    channel = Channel(
        LivePort(broken, counter, clock, Timings()), counter, clock, Journal()
    )
    with pytest.raises(ConversationOver, match="no key"):
        channel.ask("a/0", "say", "one")


def test_a_state_is_kept_before_the_reply_is_written_down(tmp_path: Path) -> None:
    class Looking(io.StringIO):
        def write(self, text: str) -> int:
            if '"event":"reply"' in text:
                seen.append(sorted(path.name for path in tmp_path.iterdir()))
            return super().write(text)

    seen: list[list[str]] = []
    line = Line(Saved, folder=tmp_path, file=Looking())
    for text in ("one", "two", "three"):
        line.say(text)
    assert seen == [["0.bin"], ["0.bin", "1.bin"], ["1.bin", "2.bin"]]


@pytest.mark.parametrize("before", [[], ["one"]])
def test_after_a_fault_one_that_was_saved_has_not_heard_the_message(
    before: list[str],
) -> None:
    line = Line(Saved)
    for text in before:
        line.say(text)
    with pytest.raises(AgentFault, match="failed"):
        line.say("fail")
    assert line.say("two") == " ".join([*before, "two"])
    assert len(line.made) == 1


def test_after_a_fault_that_was_no_interruption_one_that_is_told_goes_on() -> None:
    line = Line(Told)
    with suppress(AgentFault):
        line.say("fail")
    assert line.say("two") == "fail two"
    assert len(line.made) == 1


@pytest.mark.slow
def test_after_an_interruption_one_that_is_told_is_made_anew() -> None:
    class Slow(Told):
        def reply(self, message: str) -> str:
            if message == "slow":
                self.heard.append("half a message")
                while True:
                    pass
            return super().reply(message)

    line = Line(Slow, timeout=0.1)
    line.say("one")
    with pytest.raises(AgentFault, match="did not return"):
        line.say("slow")
    assert line.say("two") == "one two"
    assert len(line.made) == 2


def test_one_that_cannot_be_saved_has_not_replied() -> None:
    line = Line(Saved)
    line.say("one")
    with pytest.raises(
        AgentFault, match=r"raised in save\(\): RuntimeError: cannot save"
    ):
        line.say("unsaveable")
    assert line.say("two") == "one two"
    assert [json.loads(event)["event"] for event in line.file.getvalue().splitlines()][
        2:4
    ] == ["message", "fault"]


def test_a_recorded_fault_is_raised_again_and_nobody_is_asked() -> None:
    first = Line(Stateless)
    with suppress(AgentFault):
        first.say("fail")
    with suppress(AgentFault):
        first.channel.tell(
            FillerExchange("fail", "ok")
        ) if "AcceptsHistory" in first.channel.capabilities else first.say("fail")
    second = Line(Stateless, recorded=first.file.getvalue())
    for _ in range(2):
        with pytest.raises(AgentFault, match="failed"):
            second.say("fail")
    assert second.channel.record.faults_in_a_row == 2
    assert second.made == []


def test_the_time_on_the_wall_is_what_it_was_while_it_is_replayed() -> None:
    times = [START + timedelta(minutes=number) for number in range(20)]
    earlier, later = iter(times), iter(time + timedelta(days=1) for time in times)
    first = Line(Stateless, clock=WallClock(lambda: next(earlier)))
    first.say("one")
    first.say("two")
    second = Line(
        Stateless, recorded=first.file.getvalue(), clock=WallClock(lambda: next(later))
    )
    second.say("one")
    second.say("two")
    assert [e.now for e in second.channel.transcript] == [
        e.now for e in first.channel.transcript
    ]
    assert second.clock.now == first.clock.now
    second.say("three")
    assert second.channel.transcript[2].now >= START + timedelta(days=1)


def test_jumps_that_were_recorded_are_signalled_as_one_before_the_next_message() -> (
    None
):
    told: list[tuple[datetime, datetime]] = []
    clock = SignallingClock(lambda before, now: told.append((before, now)))
    for hours in (1, 3):
        clock.jump_to_recorded(START + timedelta(hours=hours))
    assert told == []
    line = Line(Stateless, clock=clock)
    line.say("one")
    line.say("two")
    assert told == [(START, START + timedelta(hours=3))]
