"""The channel: one message out, one reply back, counted once and recorded."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.port import LivePort
from pytest_ltm._core.journal.codec import strip_checksum
from pytest_ltm._core.journal.cost import Bill, Tariff
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.agent import Reply, Usage
from pytest_ltm._core.model.filler import FillerExchange
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.storage.clock import START, SimulatedClock
from pytest_ltm._core.storage.errors import AgentFault
from pytest_ltm.agents.caller import AgentCaller

T = TypeVar("T")


class Agent:
    """Handles each message with the function it was made with."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.told: list[tuple[str, str]] = []
        self.times: list[datetime] = []

    def reply(self, message: str) -> str | Reply:
        answer = self.answers.pop(0) if self.answers else message.upper()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def accept(self, message: str, reply: str) -> None:
        if self.answers and isinstance(self.answers[0], Exception):
            raise self.answers.pop(0)
        self.told.append((message, reply))

    def tell_time(self, now: datetime) -> None:
        self.times.append(now)


class Line:
    """A channel whose parts can all be inspected afterwards."""

    def __init__(
        self, agent: Any = None, *, heard: Any = lambda _: None, **options: Any
    ) -> None:
        self.counted: list[str] = []
        self.file, self.timings, self.clock = (
            io.StringIO(),
            io.StringIO(),
            SimulatedClock(),
        )
        counter = TokenCounter("characters", self.count)
        line = AgentCaller(agent or Agent(), timeout=None)
        self.port = LivePort(
            lambda: line, counter, self.clock, Timings(self.timings), **options
        )
        self.port.restore()
        self.bill = Bill(Tariff())
        self.channel = Channel(
            self.port,
            counter,
            self.clock,
            Journal(self.file),
            observers=[self.bill.count_event],
            heard=heard,
        )

    def count(self, text: str) -> int:
        self.counted.append(text)
        return len(text)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [
            json.loads(strip_checksum(line.encode()))
            for line in self.file.getvalue().splitlines(keepends=True)
        ]


FILLER = FillerExchange("1 plus 1?", "2")


def test_an_exchange_says_what_was_said_where_and_when() -> None:
    line = Line()
    line.channel.ask("a/0", "say", "hello")
    line.clock.advance(START + timedelta(hours=1))
    two = line.channel.ask("b/0", "ask", "which?")
    assert (two.number, two.by, two.kind, two.message, two.reply) == (
        1,
        "b/0",
        "ask",
        "which?",
        "WHICH?",
    )
    assert (two.start, two.message_tokens, two.reply_tokens, two.end) == (10, 6, 6, 22)
    assert two.now == START + timedelta(hours=1)
    assert list(line.channel.transcript)[1] is two


def test_every_text_is_counted_once() -> None:
    line = Line()
    line.channel.ask("a/0", "say", "hello")
    line.channel.tell(FILLER)
    assert line.counted == ["hello", "HELLO", "1 plus 1?", "2"]


def test_the_message_is_in_the_journal_before_the_agent_hears_it() -> None:
    class Curious(Agent):
        def reply(self, message: str) -> str:
            del message
            seen.extend(line.events)
            return "ok"

    seen: list[dict[str, Any]] = []
    line = Line(Curious())
    line.channel.ask("a/0", "ask", "which?", about=(3, 4))
    assert seen == [
        {
            "event": "message",
            "exchange": 0,
            "by": "a/0",
            "kind": "ask",
            "text": "which?",
            "tokens": 6,
            "position": 0,
            "now": "2024-03-04T09:00:00Z",
            "about": [3, 4],
        }
    ]
    assert line.events[1:] == [
        {"event": "reply", "exchange": 0, "text": "ok", "tokens": 2}
    ]


def test_latencies_go_to_the_timings_and_not_to_the_journal() -> None:
    line = Line()
    line.channel.ask("a/0", "say", "hello")
    (timing,) = map(json.loads, line.timings.getvalue().splitlines())
    assert (timing["event"], timing["exchange"]) == ("reply", 0)
    assert timing["seconds"] >= 0
    assert all("seconds" not in event and "at" not in event for event in line.events)


def test_a_fault_leaves_no_exchange_and_is_written_down() -> None:
    line = Line(Agent(RuntimeError("busy")))
    with pytest.raises(AgentFault, match="busy"):
        line.channel.ask("a/0", "say", "hello")
    assert (len(line.channel.transcript), line.channel.transcript.position) == (0, 0)
    assert line.events[-1]["event"] == "fault"
    assert "busy" in line.events[-1]["text"]
    # a message without a reply keeps its number
    assert line.channel.ask("a/0", "say", "hello").number == 1


def test_faults_are_counted_until_a_reply_comes() -> None:
    line, faults = Line(Agent(RuntimeError(), RuntimeError(), "ok", RuntimeError())), []
    for _ in range(4):
        with suppress(AgentFault):
            line.channel.ask("a/0", "say", "hello")
        faults.append(line.channel.record.faults_in_a_row)
    assert faults == [1, 2, 0, 1]


def test_an_empty_reply_is_a_reply() -> None:
    line = Line(Agent("", "x", ""))
    for _ in range(3):
        line.channel.ask("a/0", "say", "hello")
    assert [exchange.reply for exchange in line.channel.transcript] == ["", "x", ""]
    assert line.channel.record.faults_in_a_row == 0


def test_what_a_reply_cost_is_added_up_and_written_down() -> None:
    usage = Usage(input_tokens=7, output_tokens=2, cached_tokens=1)
    line = Line(
        Agent(Reply("a", usage=usage, cost_usd=0.25), "b", Reply("c", cost_usd=0.5))
    )
    for _ in range(3):
        line.channel.ask("a/0", "say", "hello")
    assert line.bill.total_usd == 0.75
    assert line.bill.costs == {0: 0.25, 2: 0.5}
    replies = [event for event in line.events if event["event"] == "reply"]
    assert replies[0]["usage"] == {
        "input_tokens": 7,
        "output_tokens": 2,
        "cached_tokens": 1,
    }
    assert [event.get("cost_usd") for event in replies] == [0.25, None, 0.5]


def test_who_tells_no_cost_has_none() -> None:
    line = Line()
    line.channel.ask("a/0", "say", "hello")
    assert line.bill.total_usd is None


def test_filler_that_is_told_is_an_exchange_marked_so() -> None:
    agent = Agent()
    line = Line(agent)
    exchange = line.channel.tell(FILLER)
    assert agent.told == [("1 plus 1?", "2")]
    assert (exchange.by, exchange.kind, exchange.told, exchange.end) == (
        "",
        "filler",
        True,
        10,
    )
    assert line.events == [
        {
            "event": "filler",
            "exchange": 0,
            "message": "1 plus 1?",
            "message_tokens": 9,
            "reply": "2",
            "reply_tokens": 1,
        }
    ]


def test_filler_that_nobody_will_have_is_a_fault() -> None:
    line = Line(Agent(RuntimeError("full")))
    with pytest.raises(AgentFault, match="full"):
        line.channel.tell(FILLER)
    assert line.channel.record.faults_in_a_row == 1
    assert [event["event"] for event in line.events] == ["fault"]
    line.channel.tell(FILLER)
    assert line.channel.record.faults_in_a_row == 0


def test_the_agent_is_told_the_time_before_every_message() -> None:
    agent = Agent()
    line = Line(agent)
    line.channel.ask("a/0", "say", "hello")
    line.clock.advance(later := START + timedelta(days=1))
    line.channel.tell(FILLER)
    assert agent.times == [START, later]


def test_the_capabilities_of_the_agent_are_those_of_the_channel() -> None:
    def plain(_: str) -> str:
        return "ok"

    class Narrow:
        max_message_tokens = 99

        def reply(self, _: str) -> str:
            return "ok"

    assert "AcceptsHistory" in Line().channel.capabilities
    assert "TimeAware" in Line().channel.capabilities
    assert "AcceptsHistory" not in Line(Narrow()).channel.capabilities
    assert Line(Narrow()).channel.port.max_message_tokens == 99
    assert Line().channel.port.max_message_tokens == 4096


def test_who_listens_hears_each_exchange_once_it_is_in_the_transcript() -> None:
    heard: list[tuple[int, int]] = []

    def hear(exchange: Exchange) -> None:
        heard.append((exchange.number, len(line.channel.transcript)))

    line = Line(heard=hear)
    line.channel.ask("a/0", "say", "hello")
    line.channel.tell(FILLER)
    assert heard == [(0, 1), (1, 2)]


def test_every_call_of_the_agent_is_carried_out_in_the_name_of_who_speaks() -> None:
    log: list[str] = []

    def calling(by: str, call: Callable[[], T]) -> T:
        log.append(f"in {by}")
        try:
            return call()
        finally:
            log.append(f"out {by}")

    class Loud(Agent):
        def reply(self, message: str) -> str:
            log.append(message)
            raise RuntimeError

    line = Line(Loud(), calling=calling)
    with pytest.raises(AgentFault):
        line.channel.ask("a/0", "say", "hello")
    line.channel.tell(FILLER)
    assert log == ["in a/0", "hello", "out a/0", "in ", "out "]


def test_closing_lets_the_agent_go_and_tells_if_it_would_not() -> None:
    class Clinging(Agent):
        def close(self) -> None:
            raise RuntimeError("not yet")

    assert Line().channel.close() is None
    assert "not yet" in (Line(Clinging()).channel.close() or "")
