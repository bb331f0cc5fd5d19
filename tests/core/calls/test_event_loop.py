"""The event loop shared by the async agents of concurrent conversations."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from pytest_ltm._core.calls import event_loop
from pytest_ltm._core.calls.event_loop import (
    blocked_seconds,
    close_loops,
    outside_any_loop,
    share_in_thread,
)
from pytest_ltm._core.storage.errors import AgentError
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.modes.hub import (
    Hub,
    OwnThread,
)

NAME = contextvars.ContextVar("NAME", default="nobody's")


@pytest.fixture(autouse=True)
def _in_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(event_loop, "UNBLOCK_SECONDS", 0.3)
    share_in_thread()
    yield
    close_loops()


def at_once(
    make: Callable[[], Any],
    number: int,
    *,
    timeout: float | None = None,
    messages: int = 3,
) -> list[str]:
    """Hold `number` conversations at once; return each one's last reply or error, in the order of their start."""
    hub, ends, agents = Hub(), [""] * number, agent_source(make, spec="x:y")

    def talk(place: int) -> Callable[[OwnThread], None]:
        def held(own: OwnThread) -> None:
            try:
                with closing(AgentCaller(agents.make(), timeout=timeout)) as one:
                    for message in range(messages):
                        ends[place] = one.ask(f"{place}.{message}").text
            except AgentError as error:
                ends[place] = str(error)
            finally:
                own.leaving = True

        return held

    for place in range(number):
        hub.start(talk(place))
    while hub.count:
        hub.step()
    return ends


class Shares:
    """Waits for a lock that all conversations share, and keeps thread-local and context-local state."""

    gate: asyncio.Semaphore
    met = 0
    most = 0

    def __init__(self) -> None:
        self.rows = sqlite3.connect(":memory:")
        NAME.set(str(id(self)))

    async def reply(self, message: str) -> str:
        Shares.met += 1
        Shares.most = max(Shares.most, Shares.met)
        async with Shares.gate:
            await asyncio.sleep(0)
        Shares.met -= 1
        assert NAME.get() == str(id(self))
        return f"{message} {self.rows.execute('select 1').fetchone()[0]}"

    async def aclose(self) -> None:
        self.rows.close()


def test_what_is_shared_by_all_conversations_belongs_to_one_loop_and_what_is_not_stays_apart() -> (
    None
):
    Shares.gate, Shares.most = asyncio.Semaphore(1), 0
    assert at_once(Shares, 8) == [f"{place}.2 1" for place in range(8)]
    assert Shares.most > 1


def test_an_async_agent_of_a_factory_is_made_where_it_is_awaited() -> None:
    Shares.gate = asyncio.Semaphore(1)
    assert at_once(lambda: Shares(), 3) == [f"{place}.2 1" for place in range(3)]  # noqa: PLW0108 - not the class itself


def test_the_calling_thread_uses_the_same_loop() -> None:
    Shares.gate = asyncio.Semaphore(1)
    with closing(
        AgentCaller(agent_source(Shares, spec="x:y").make(), timeout=None)
    ) as one:
        assert one.ask("here").text == "here 1"
    assert at_once(Shares, 2) == ["0.2 1", "1.2 1"]


def test_one_that_says_own_loop_is_awaited_in_its_conversations_thread() -> None:
    threads = set()

    class Own:
        own_loop = True

        async def reply(self, message: str) -> str:
            threads.add(threading.current_thread().name)
            await asyncio.sleep(0)
            return message

    assert at_once(Own, 2) == ["0.2", "1.2"]
    assert threads == {"ltm-agent"}


@pytest.mark.slow
def test_one_that_does_not_reply_in_time_is_cancelled_and_the_others_go_on() -> None:
    ended: list[str] = []

    class Slow:
        async def reply(self, message: str) -> str:
            if message == "1.1":
                try:
                    await asyncio.sleep(30)
                finally:
                    ended.append(message)
            return message

    ends = at_once(Slow, 3, timeout=0.2)
    assert ends[::2] == ["0.2", "2.2"]
    assert "did not return from reply() within 0.2 s" in ends[1]
    assert ended == ["1.1"]


@pytest.mark.slow
def test_one_that_computes_without_end_is_named_and_the_others_go_on() -> None:
    class Spins:
        async def reply(self, message: str) -> str:
            while message == "1.1":
                pass
            await asyncio.sleep(0)
            return message

    ends = at_once(Spins, 3, timeout=0.3)
    assert ends[::2] == ["0.2", "2.2"]
    assert "blocks the event loop that all async agents share" in ends[1]
    assert "own_loop = True" in ends[1]
    assert "--ltm-agent-process" in ends[1]
    assert set(blocked_seconds()) == {"agent Spins"}


@pytest.mark.slow
def test_the_time_of_the_others_stands_still_while_one_blocks() -> None:
    class Blocks:
        async def reply(self, message: str) -> str:
            if message == "0.1":
                time.sleep(0.8)  # noqa: ASYNC251 - what this is about
            await asyncio.sleep(0.05)
            return message

    assert at_once(Blocks, 4, timeout=1.5)[1:] == ["1.2", "2.2", "3.2"]


@pytest.mark.slow
def test_a_loop_that_is_blocked_for_good_is_given_up_and_says_by_whom() -> None:
    go = threading.Event()

    class Stuck:
        async def reply(self, message: str) -> str:
            if message == "0.1":
                go.wait(30)  # a wait in C, which cannot be interrupted
            await asyncio.sleep(0.2)
            return message

    try:
        ends = at_once(Stuck, 2, timeout=0.5)
        assert all("blocks the event loop" in end for end in ends)
        assert at_once(Stuck, 2, messages=1) == ["0.0", "1.0"]
    finally:
        go.set()


def test_a_sync_agent_with_a_loop_inside_is_told_which_method_to_await() -> None:
    class Shared:
        async def run(self, message: str) -> str:
            raise RuntimeError(
                f"{message}: <asyncio.locks.Lock object> is bound to a different event loop"
            )

        def run_sync(self, message: str) -> str:
            return asyncio.run(self.run(message))

    class Bot:
        def reply(self, message: str) -> str:
            return Shared().run_sync(message)

    [end] = at_once(Bot, 1)
    assert "Make reply async, and await run() instead of run_sync()" in end


def test_while_another_thread_imports_asyncio_no_loop_is_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        # the loops are closed before the fixture is undone
        patch.setitem(sys.modules, "asyncio", ModuleType("asyncio"))
        with outside_any_loop():
            assert not hasattr(sys.modules["asyncio"], "_get_running_loop")
