# ruff: noqa: ARG001, ARG002, BLE001 - agents under test keep the protocol's signatures and swallow what they can
from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import pytest

from pytest_ltm._errors import AgentError, AgentFault, LtmInternalError
from pytest_ltm.agents import Reply, Usage
from pytest_ltm.agents._adapt import source
from pytest_ltm.agents._deadline import OutOfTime, call_within, can_interrupt
from pytest_ltm.agents._speaker import Speaker

interruptible = pytest.mark.skipif(not can_interrupt(), reason="no interval timer on this system")
BLANK = Reply(None)  # type: ignore[arg-type]  # as a careless agent would
HALF = Usage(output_tokens=1.5)  # type: ignore[arg-type]  # likewise
NOW = datetime(2024, 5, 6, tzinfo=timezone.utc)


def speaker(given: Any, timeout: float | None = None, **settings: Any) -> Any:
    return Speaker(source(given, spec="x:y").make(), timeout=timeout, **settings)


def ask(given: Any, message: str = "a", timeout: float | None = None) -> Any:
    with closing(speaker(given, timeout)) as one:
        return one.ask(message)


def fault(given: Any, timeout: float | None = None) -> Any:
    with pytest.raises(AgentFault) as caught:
        ask(given, timeout=timeout)
    assert "\n" not in str(caught.value)
    return caught.value


def block() -> None:
    threading.Event().wait(30)


# --- replies


def test_a_text_is_a_reply() -> None:
    assert ask(lambda message: message + "!") == Reply("a!")


def test_an_empty_text_is_a_reply() -> None:
    assert ask(lambda _: "") == Reply("")


def test_a_reply_keeps_usage_and_cost() -> None:
    full = Reply("a", Usage(input_tokens=3, output_tokens=4), 0.25)
    assert ask(lambda _: full) == full


def test_a_text_of_a_class_of_its_own_becomes_a_plain_one() -> None:
    class Loud(str):
        __slots__ = ()

        def __str__(self) -> Any:
            return "LOUD"

    reply = ask(lambda _: Loud("quiet")).text
    assert (reply, type(reply)) == ("quiet", str)


def test_half_characters_are_replaced_so_that_the_journal_can_be_written() -> None:
    assert ask(lambda _: "caf\u00e9 \ud83d.").text == "café \\ud83d."


# --- faults


@pytest.mark.parametrize("given", [None, b"bytes", 3, ["a"], BLANK, (x for x in "ab")])
def test_what_is_no_text_is_a_fault(given: Any) -> None:
    error = fault(lambda _: given)
    assert "replied with" in str(error)
    assert not error.fatal


def test_none_is_called_none() -> None:
    assert "replied with None;" in str(fault(lambda _: None))


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), "0.1", True])
def test_a_cost_that_is_no_amount_is_a_fault(cost: Any) -> None:
    assert "cost" in str(fault(lambda _: Reply("a", None, cost)))


@pytest.mark.parametrize("usage", [{"input_tokens": 3}, Usage(input_tokens=-1), HALF])
def test_usage_that_counts_nothing_is_a_fault(usage: Any) -> None:
    assert "usage" in str(fault(lambda _: Reply("a", usage)))


def test_an_exception_is_a_fault_with_its_cause() -> None:
    def broken(message: str) -> None:
        raise ValueError("no such model\nsecond line")

    error = fault(broken)
    assert str(error) == "agent broken raised in reply(): ValueError: no such model"
    assert isinstance(error.__cause__, ValueError)
    assert not error.fatal


def test_a_fault_names_the_agent_as_it_was_called() -> None:
    with closing(speaker(lambda _: None, name="mybot")) as one, pytest.raises(AgentFault, match="agent 'mybot' "):
        one.ask("a")


def test_a_long_text_of_an_exception_is_cut() -> None:
    def broken(message: str) -> None:
        raise ValueError("x" * 10_000)

    assert len(str(fault(broken))) < 400


def test_an_exception_that_cannot_be_printed_is_still_a_fault() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def broken(message: str) -> None:
        raise Unspeakable

    assert "Unspeakable" in str(fault(broken))


def test_sys_exit_is_a_fault() -> None:
    error = fault(lambda _: sys.exit(3))
    assert "SystemExit: 3" in str(error)


def test_a_foreign_base_exception_is_a_fault() -> None:
    class Outcome(BaseException): ...

    def broken(message: str) -> None:
        raise Outcome("skipped")

    assert "Outcome: skipped" in str(fault(broken))


def test_ctrl_c_passes() -> None:
    def interrupted(message: str) -> None:
        raise KeyboardInterrupt

    with closing(speaker(interrupted)) as one, pytest.raises(KeyboardInterrupt):
        one.ask("a")


def test_the_fatal_types_are_the_callers_choice() -> None:
    class Quit(BaseException): ...

    def quitting(message: str) -> None:
        raise Quit

    with closing(speaker(quitting, fatal=(Quit,))) as one, pytest.raises(Quit):
        one.ask("a")


def test_after_a_fault_the_agent_can_be_asked_again() -> None:
    replies = iter([None, "fine"])
    with closing(speaker(lambda _: next(replies))) as one:
        with pytest.raises(AgentFault):
            one.ask("a")
        assert one.ask("a").text == "fine"


# --- time limits


class Stuck:
    def reply(self, message: str) -> None:
        block()


class StuckButPure(Stuck):
    stateless = True


class StuckButSaved(Stuck):
    def save(self) -> Any:
        return b""

    def load(self, state: bytes) -> None: ...


class StuckButTold(Stuck):
    def accept(self, message: str, reply: str) -> None: ...


@interruptible
def test_a_reply_that_does_not_come_is_a_fatal_fault_with_the_way_out() -> None:
    error = fault(Stuck, timeout=0.1)
    assert "Stuck did not come back from reply() within 0.1 s" in str(error)
    assert "--ltm-reply-timeout" in str(error)
    assert isinstance(error.__cause__, OutOfTime)
    assert error.fatal


@interruptible
@pytest.mark.parametrize("agent", [StuckButPure, StuckButSaved, StuckButTold])
def test_a_timeout_is_not_fatal_if_the_agent_can_be_put_back(agent: Any) -> None:
    assert not fault(agent, timeout=0.1).fatal


@interruptible
def test_an_agent_that_catches_every_exception_runs_out_of_time() -> None:
    def stubborn(message: str) -> None:
        while True:
            try:
                block()
            except Exception:
                continue

    assert fault(stubborn, timeout=0.1).fatal


@interruptible
def test_an_agent_that_turns_the_first_interruption_into_a_reply_has_replied() -> None:
    def recovering(message: str) -> Any:
        try:
            block()
        except BaseException:
            return "sorry"

    assert ask(recovering, timeout=0.1).text == "sorry"


@interruptible
def test_an_outer_limit_is_not_taken_for_the_agents() -> None:
    with closing(speaker(Stuck)) as one, pytest.raises(OutOfTime):
        call_within(0.1, lambda: one.ask("a"))


@interruptible
def test_after_a_timeout_no_alarm_is_left() -> None:
    fault(Stuck, timeout=0.1)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_limit_that_is_none_is_refused(timeout: float | None) -> None:
    with pytest.raises(AgentError, match="positive number of seconds"):
        speaker(Stuck, timeout)


# --- async agents


class Later:
    """An async agent that notices whether its loop changes."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def reply(self, message: str) -> Any:
        self.loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return message


def test_an_async_function_is_asked() -> None:
    async def later(message: str) -> Any:
        await asyncio.sleep(0)
        return message

    assert ask(later, "hello").text == "hello"


def test_a_function_that_returns_an_awaitable_is_asked() -> None:
    async def later(message: str) -> Any:
        return message

    assert ask(lambda message: later(message + "!"), "hello").text == "hello!"


def test_all_replies_of_a_conversation_come_from_one_loop_that_is_closed_at_its_end() -> None:
    one = speaker(Later)
    one.ask("a")
    one.ask("b")
    loops = set(one.agent.loops)
    assert len(one.agent.loops) == 2
    assert len(loops) == 1
    assert not loops.copy().pop().is_closed()
    one.close()
    assert loops.pop().is_closed()


def test_two_conversations_have_two_loops() -> None:
    with closing(speaker(Later)) as one, closing(speaker(Later)) as other:
        one.ask("a")
        other.ask("a")
        assert one.agent.loops != other.agent.loops


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
def test_an_async_agent_that_exits_or_cancels_itself_can_be_asked_again(raised: Any) -> None:
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


def test_an_async_reply_that_does_not_come_is_a_fault_and_is_cancelled() -> None:
    ended = []

    async def slow(message: str) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("cancelled")

    assert fault(slow, timeout=0.1).fatal
    assert ended == ["cancelled"]


def test_an_async_agent_that_swallows_its_cancellation_runs_out_of_time() -> None:
    released: list[bool] = []

    async def stubborn(message: str) -> None:
        while not released:
            try:
                await asyncio.sleep(30)
            except BaseException:
                continue

    assert fault(stubborn, timeout=0.1).fatal
    gc.collect()  # would not come back if the coroutine were freed
    released.append(True)


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


# --- the other powers


class Able:
    max_message_tokens = 512

    def __init__(self) -> None:
        self.log: list[object] = []

    def reply(self, message: str) -> Any:
        return message

    def accept(self, message: str, reply: str) -> None:
        self.log.append((message, reply))

    def tell_time(self, now: Any) -> None:
        self.log.append(now)

    def usage(self) -> Any:
        return Usage(input_tokens=7)

    def close(self) -> None:
        self.log.append("closed")


class AbleLater:
    max_message_tokens = 512

    def __init__(self) -> None:
        self._able = Able()
        self.log = self._able.log

    def reply(self, message: str) -> str:
        return message

    async def accept(self, message: str, reply: str) -> None:
        self._able.accept(message, reply)

    async def tell_time(self, now: Any) -> None:
        self._able.tell_time(now)

    async def usage(self) -> Any:
        return self._able.usage()


@pytest.mark.parametrize("able", [Able, AbleLater])
def test_an_agent_is_told_exchanges_and_time_and_tells_its_usage(able: Any) -> None:
    with closing(speaker(able)) as one:
        one.tell("question", "answer")
        one.tell_time(NOW)
        assert one.agent.log == [("question", "answer"), NOW]
        assert one.usage() == Usage(input_tokens=7)
        assert one.max_message_tokens == 512
        assert one.powers == {"AcceptsHistory", "TimeAware", "ReportsUsage", "LimitsMessages"}


def test_an_agent_without_powers_is_only_asked() -> None:
    with closing(speaker(lambda message: message)) as one:
        one.tell_time(NOW)
        assert one.usage() is None
        assert one.max_message_tokens == 4096
        with pytest.raises(LtmInternalError, match="AcceptsHistory"):
            one.tell("question", "answer")


def test_an_agent_that_will_not_be_told_is_a_fault() -> None:
    class Deaf(Able):
        def accept(self, message: str, reply: str) -> None:
            raise OSError("full")

    with closing(speaker(Deaf)) as one, pytest.raises(AgentFault, match=r"in accept\(\): OSError: full"):
        one.tell("question", "answer")


@pytest.mark.parametrize("limit", [0, -5, "4k", 2.5, True, None])
def test_a_message_limit_that_is_none_is_an_error(limit: Any) -> None:
    class Odd(Able):
        max_message_tokens = limit

    with pytest.raises(AgentError, match="max_message_tokens is a positive whole number"):
        speaker(Odd)


# --- the end


def test_closing_closes_an_agent_that_was_made_for_the_conversation_once() -> None:
    one = speaker(Able)
    assert (one.close(), one.close()) == (None, None)
    assert one.agent.log == ["closed"]


def test_a_given_instance_belongs_to_its_giver_and_is_not_closed() -> None:
    one = speaker(Able(), owned=False)
    one.close()
    assert one.agent.log == []


def test_an_async_agent_is_closed_in_its_own_loop() -> None:
    class Client(Later):
        async def aclose(self) -> None:
            self.loops.append(asyncio.get_running_loop())

    one = speaker(Client)
    one.ask("a")
    assert one.close() is None
    assert one.agent.loops[0] is one.agent.loops[1]
    assert one.agent.loops[0].is_closed()


def test_a_failing_close_is_a_notice() -> None:
    class Sticky(Later):
        def close(self) -> None:
            raise OSError("still busy")

    one = speaker(Sticky)
    one.ask("a")
    assert "in close(): OSError: still busy" in one.close()
    assert one.agent.loops[0].is_closed()


def test_a_close_that_needs_an_argument_is_not_ours_to_call() -> None:
    class Shop(Later):
        def close(self, door: Any) -> None:
            raise AssertionError

    assert speaker(Shop).close() is None
