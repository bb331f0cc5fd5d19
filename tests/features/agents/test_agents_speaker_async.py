"""The agent caller with async agents."""

# ruff: noqa: ARG001, BLE001 - agents under test keep the protocol's signatures and swallow what they can
from __future__ import annotations

import asyncio
import gc
from contextlib import closing
from typing import Any

import pytest
from asked_agents import Later, ask, block, fault, interruptible, speaker

from pytest_ltm.api.storage import AgentFault

# --- async agents


def test_an_async_function_is_asked() -> None:
    async def later(message: str) -> Any:
        await asyncio.sleep(0)
        return message

    assert ask(later, "hello").text == "hello"


def test_a_function_that_returns_an_awaitable_is_asked() -> None:
    async def later(message: str) -> Any:
        return message

    assert ask(lambda message: later(message + "!"), "hello").text == "hello!"


def test_the_replies_of_all_conversations_come_from_one_loop_that_outlives_them() -> (
    None
):
    with closing(speaker(Later)) as one, closing(speaker(Later)) as other:
        one.ask("a")
        one.ask("b")
        other.ask("a")
    assert len({*one.agent.loops, *other.agent.loops}) == 1
    assert not one.agent.loops[0].is_closed()


def test_an_agent_that_says_own_loop_has_one_that_is_closed_at_its_end() -> None:
    class Own(Later):
        own_loop = True

    one, other = speaker(Own), speaker(Own)
    one.ask("a")
    one.ask("b")
    with closing(other):
        other.ask("a")
    assert len({*one.agent.loops, *other.agent.loops}) == 2
    assert [one.agent.loops[0].is_closed(), other.agent.loops[0].is_closed()] == [
        False,
        True,
    ]
    one.close()
    assert one.agent.loops[0].is_closed()


def test_a_task_that_one_conversation_leaves_is_cancelled_at_its_end_and_no_other() -> (
    None
):
    class Busy:
        def __init__(self) -> None:
            self.left: list[Any] = []

        async def reply(self, message: str) -> Any:
            self.left.append(asyncio.ensure_future(asyncio.sleep(30)))
            return message

    with closing(speaker(Busy)) as one:
        one.ask("a")
        with closing(speaker(Busy)) as other:
            other.ask("a")
        assert [one.agent.left[0].cancelled(), other.agent.left[0].cancelled()] == [
            False,
            True,
        ]


def test_an_async_agent_can_be_asked_while_this_thread_is_in_a_loop() -> None:
    async def outer() -> Any:
        mine = asyncio.get_running_loop(), asyncio.current_task()
        with closing(speaker(Later)) as one:
            reply = one.ask("a").text
        await asyncio.sleep(0)
        assert mine == (asyncio.get_running_loop(), asyncio.current_task())
        return reply

    assert asyncio.run(outer()) == "a"


def test_a_sync_agent_may_run_a_loop_of_its_own_while_this_thread_is_in_one() -> None:
    async def later(message: str) -> Any:
        return message

    async def outer() -> Any:
        return ask(lambda message: asyncio.run(later(message))).text

    assert asyncio.run(outer()) == "a"


def test_a_factory_may_run_a_loop_of_its_own_while_this_thread_is_in_one() -> None:
    def factory() -> Any:
        asyncio.run(asyncio.sleep(0))
        return Later()

    async def outer() -> Any:
        return ask(factory).text

    assert asyncio.run(outer()) == "a"


def test_an_async_exception_is_a_fault() -> None:
    async def broken(message: str) -> None:
        raise ValueError("late")

    error = fault(broken)
    assert "ValueError: late" in str(error)
    assert isinstance(error.__cause__, ValueError)


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError])
def test_an_async_agent_that_exits_or_cancels_itself_can_be_asked_again(
    raised: Any,
) -> None:
    class Moody:
        moods = iter([raised, None])

        async def reply(self, message: str) -> Any:
            mood = next(self.moods)
            if mood:
                raise mood
            return message

    with closing(speaker(Moody)) as one:
        with pytest.raises(AgentFault, match=raised.__name__):
            one.ask("a")
        assert one.ask("b").text == "b"


def test_ctrl_c_passes_through_an_async_agent() -> None:
    async def interrupted(message: str) -> None:
        raise KeyboardInterrupt

    with closing(speaker(interrupted)) as one, pytest.raises(KeyboardInterrupt):
        one.ask("a")


@pytest.mark.slow
def test_an_async_reply_that_does_not_come_is_a_fault_and_is_cancelled() -> None:
    ended = []

    async def slow(message: str) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("cancelled")

    assert fault(slow, timeout=0.1).fatal
    assert ended == ["cancelled"]


@pytest.mark.slow
def test_an_async_agent_that_swallows_its_cancellation_runs_out_of_time() -> None:
    released: list[bool] = []

    async def stubborn(message: str) -> None:
        while not released:
            try:
                await asyncio.sleep(30)
            except BaseException:
                continue

    assert fault(stubborn, timeout=0.1).fatal
    gc.collect()  # would never return if the coroutine were freed
    released.append(True)


@pytest.mark.slow
@interruptible
def test_an_async_agent_that_blocks_its_loop_runs_out_of_time() -> None:
    async def blocking(message: str) -> None:
        block()

    assert fault(blocking, timeout=0.1).fatal


def test_an_async_agent_that_never_stops_leaves_no_loop_open() -> None:
    async def background() -> None:
        await asyncio.sleep(30)

    kept = []

    async def busy(message: str) -> Any:
        kept.append(asyncio.ensure_future(background()))
        return message

    assert ask(busy).text == "a"
    assert kept[0].cancelled()
