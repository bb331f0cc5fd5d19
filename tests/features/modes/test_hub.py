"""Concurrent conversations: each has its own thread, limit and record, independent of the others."""

from __future__ import annotations

import asyncio
import io
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from _examples import share
from conversations_by_hand import conversation_of, played_out

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.calls import (
    OutOfTime,
    Retries,
    call_in_own_thread,
    call_within,
    limits_aside,
    own_thread,
    own_time,
    runs_in_own_thread,
    sleep_here,
)
from pytest_ltm.api.journal import Journal
from pytest_ltm.api.scenarios import Ltm
from pytest_ltm.api.storage import AgentFault, Stopped
from pytest_ltm.judges.model_calls import taking_turns
from pytest_ltm.modes import hub as hub_module
from pytest_ltm.modes.hub import (
    Hub,
    HubRequest,
    OwnThread,
)

SCHEDULES = 1_000
NAMES = "ABC"


def played(hub: Hub, *plays: Callable[[], object]) -> list[BaseException | None]:
    """Play them to their ends, and return the error of each."""
    raised: list[BaseException | None] = [None] * len(plays)

    def play(number: int, _: OwnThread) -> None:
        try:
            plays[number]()
        except BaseException as error:  # noqa: BLE001 - returned
            raised[number] = error

    for number in range(len(plays)):
        hub.start(partial(play, number))
    while hub.count:
        hub.step()
    return raised


# --- any order of replies


class Seeded(Hub):
    """Answers requests in a seeded order, without threads."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = random.Random(seed)

    def step(self) -> None:
        request = self._rng.choice(list(self._waiting))
        assert request.call is not None
        request.value, request.ended = request.call(), 1.0
        self._waiting.pop(request).switch()


class Remembers:
    """Its replies depend on everything it was told."""

    def __init__(self, name: str) -> None:
        self.name, self.heard = name, list[str]()

    def reply(self, message: str) -> str:
        self.heard.append(message)
        return (
            f"{self.name} {len(self.heard)} {sum(map(len, self.heard))} {message[-10:]}"
        )


def talks(name: str) -> Callable[[Ltm], object]:
    def scenario(ltm: Ltm) -> None:
        ltm.say(f"This is {name}.")
        ltm.wait(tokens=60)
        ltm.ask(f"Who is {name}?" + " Really?" * len(ltm.say("And now?")))

    return scenario


def journal_of(name: str, into: dict[str, str]) -> None:
    file = io.StringIO()
    speaker = AgentCaller(
        Remembers(name), timeout=None, retries=Retries(most=2, rng=random.Random(0))
    )
    played_out(
        conversation_of(
            {one: talks(one) for one in "xy"}, speaker, journal=Journal(file)
        )[0]
    )
    into[name] = file.getvalue()


@pytest.mark.slow
def test_every_order_of_replies_leaves_the_journals_of_conversations_played_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OwnThread, "hand_over", lambda *_: None)
    alone: dict[str, str] = {}
    for name in NAMES:
        journal_of(name, alone)
    assert len(set(alone.values())) == len(NAMES)
    assert all(one.count('"reply"') > 5 for one in alone.values())
    for seed in range(share(SCHEDULES)):
        found: dict[str, str] = {}
        played(Seeded(seed), *(partial(journal_of, name, found) for name in NAMES))
        assert found == alone, f"schedule {seed}"


# --- threads


class Blocks:
    """Blocks until the test releases it."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def reply(self, message: str) -> str:
        assert self.go.wait(10)
        return message


def test_an_agent_that_blocks_delays_no_other_conversation() -> None:
    agent, said = Blocks(), list[str]()

    def quick() -> None:
        for _ in range(20):
            said.append(AgentCaller(Remembers("quick"), timeout=None).ask("Hello").text)
        agent.go.set()

    raised = played(
        Hub(),
        lambda: said.append(AgentCaller(agent, timeout=None).ask("late").text),
        quick,
    )
    assert raised == [None, None]
    assert said[-1] == "late"
    assert len(said) == 21


class Bound:
    """Keeps state bound to the thread and the loop in which it was created."""

    def __init__(self) -> None:
        self.rows = sqlite3.connect(":memory:")
        self.lock: asyncio.Lock | None = None

    async def reply(self, message: str) -> str:
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            await asyncio.sleep(0)
        return f"{self.rows.execute('select 1').fetchone()} {message}"

    def close(self) -> None:
        self.rows.close()


def test_an_agent_is_made_asked_and_closed_in_one_thread() -> None:
    replies: list[str] = []

    def talk() -> None:
        speaker = AgentCaller(cast("Any", call_in_own_thread(Bound)), timeout=5)
        replies.extend(speaker.ask(text).text for text in ("one", "two"))
        assert speaker.close() is None

    assert played(Hub(), *[talk] * 3) == [None] * 3
    assert sorted(replies) == ["(1,) one"] * 3 + ["(1,) two"] * 3


def loops() -> None:
    while True:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("hang", [loops, lambda: time.sleep(0.6)], ids=["python", "C"])
def test_a_reply_that_takes_too_long_is_a_fault_of_its_own_conversation(
    hang: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "REPEAT", 0.02)

    class Hangs:
        stateless = True

        def reply(self, message: str) -> str:
            if message == "hang":
                hang()
            return message

    replies: list[str] = []

    def talk() -> None:
        speaker = AgentCaller(Hangs(), timeout=0.05)
        with pytest.raises(
            AgentFault, match=r"did not return from reply\(\) within 0\.05 s"
        ):
            speaker.ask("hang")
        replies.append(speaker.ask("and again").text)

    assert played(
        Hub(),
        talk,
        lambda: replies.append(AgentCaller(Remembers("B"), timeout=5).ask("b").text),
    ) == [
        None,
        None,
    ]
    assert sorted(replies) == ["B 1 1 b", "and again"]


def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    class Waits:
        async def reply(self, message: str) -> str:
            await asyncio.sleep(60)
            return message

    def talk() -> None:
        speaker = AgentCaller(cast("Any", Waits()), timeout=0.05)
        with pytest.raises(AgentFault, match=r"within 0\.05 s"):
            speaker.ask("Hello")
        speaker.close()

    assert played(Hub(), talk) == [None]


@pytest.mark.slow
def test_waits_between_attempts_let_others_go_on() -> None:
    order: list[str] = []

    def waits(seconds: float) -> None:
        sleep_here(seconds)
        order.append(f"{seconds}")

    played(Hub(), *(partial(waits, seconds) for seconds in (0.9, 0.5, 0.1)))
    # played in sequence they would end in their own order
    assert order == [
        "0.1",
        "0.5",
        "0.9",
    ]


@pytest.mark.slow
def test_the_time_of_a_reply_does_not_count_the_wait_for_others() -> None:
    times: list[float] = []

    def talk() -> None:
        began = own_time()
        call_in_own_thread(lambda: None)
        times.append(own_time() - began)

    played(Hub(), talk, lambda: time.sleep(0.5))
    assert times[0] < 0.4


@pytest.mark.slow
def test_a_limit_of_the_caller_stands_still_while_others_go_on() -> None:
    def judged() -> None:
        call_within(0.3, lambda: call_in_own_thread(lambda: time.sleep(0.6)))

    def slow() -> None:
        with pytest.raises(OutOfTime):
            call_within(0.05, lambda: time.sleep(1))

    assert played(Hub(limits_aside), judged, slow, judged) == [None] * 3


def test_what_is_shared_is_used_by_one_after_the_other() -> None:
    shared, inside, most = object(), list[int](), list[int]()

    def use(number: int) -> None:
        with taking_turns(shared):
            inside.append(number)
            most.append(len(inside))
            sleep_here(0.01)
            inside.remove(number)

    assert played(Hub(), *(partial(use, number) for number in range(4))) == [None] * 4
    assert most == [1] * 4


# --- stopping


def test_what_is_in_flight_is_waited_for_and_nothing_new_is_sent() -> None:
    heard, hub = list[str](), Hub()

    def talk() -> None:
        for number in range(3):
            call_in_own_thread(partial(time.sleep, 0.05))
            heard.append("reply")
            assert number == 0

    def waits() -> None:
        sleep_here(60)

    ends: list[Any] = []

    def kept(play: Callable[[], None], _: OwnThread) -> None:
        try:
            play()
        except Stopped as stopped:
            ends.append(stopped)

    hub.start(partial(kept, talk))
    hub.start(partial(kept, waits))
    hub.drain()
    while hub.count:
        hub.step()
    assert heard == ["reply"]
    assert len(ends) == 2


@pytest.mark.slow
def test_everything_is_interrupted_at_once_and_can_still_be_closed() -> None:
    hub, closed = Hub(), list[int]()

    def talk(number: int, own: OwnThread) -> None:
        with pytest.raises(Stopped):
            call_in_own_thread(loops)
        own.leaving = True
        call_in_own_thread(lambda: closed.append(number))

    for number in range(8):
        hub.start(partial(talk, number))
    hub.cancel()
    while hub.count:
        hub.step()
    assert sorted(closed) == list(range(8))


def test_without_a_hub_everything_happens_here_and_now() -> None:
    assert own_thread() is None
    with taking_turns(object()):
        sleep_here(0)
    assert not runs_in_own_thread()


def test_a_request_that_came_back_late_is_late() -> None:
    request = HubRequest(OwnThread(Hub()), lambda: None, 1.0)
    request.start()
    assert request.deadline is not None
    request.ended = request.deadline + 0.1
    with pytest.raises(OutOfTime):
        request.result()
