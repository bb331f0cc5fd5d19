"""The agent caller: capabilities beyond replying, and closing."""

# ruff: noqa: ARG002 - agents under test keep the protocol's signatures and swallow what they can
from __future__ import annotations

import asyncio
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from asked_agents import NOW, Later, speaker

from pytest_ltm.agents import Usage
from pytest_ltm.api.storage import AgentError, AgentFault, LtmInternalError

# --- the other capabilities


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
        assert one.capabilities == {
            "AcceptsHistory",
            "TimeAware",
            "ReportsUsage",
            "LimitsMessages",
        }


class Clocked:
    """Logs the times passed to it; raises at the message `fail`."""

    def __init__(self) -> None:
        self.times: list[Any] = []

    def reply(self, message: str) -> str:
        if message == "fail":
            raise OSError("down")
        return "Noted."

    def tell_time(self, now: Any) -> None:
        self.times.append(now)

    def save(self) -> bytes:
        return b"state"

    def load(self, state: bytes) -> None:
        self.times.append(state)

    def reset(self) -> None:
        self.times.append("reset")


def test_the_time_is_told_when_it_has_moved_or_may_be_forgotten() -> None:
    later = NOW + timedelta(hours=1)
    with closing(speaker(Clocked)) as caller:

        def tell_twice(now: Any) -> list[Any]:
            caller.agent.times.clear()
            caller.tell_time(now)
            caller.ask("Hello.")
            caller.tell_time(now)
            return list(caller.agent.times)

        assert tell_twice(NOW) == [NOW]
        assert tell_twice(NOW) == []
        assert tell_twice(later) == [later]
        caller.load(b"state")
        assert tell_twice(later) == [later]
        caller.reset()
        assert tell_twice(later) == [later]
        with pytest.raises(AgentFault, match="down"):
            caller.ask("fail")
        assert tell_twice(later) == [later]


def test_an_agent_that_serves_other_conversations_is_told_the_time_before_each_message() -> (
    None
):
    class Shared(Clocked):
        stateless = True

    with closing(speaker(Shared)) as caller:
        caller.tell_time(NOW)
        caller.tell_time(NOW)
        assert caller.agent.times == [NOW, NOW]


def test_an_agent_without_capabilities_is_only_asked() -> None:
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

    with (
        closing(speaker(Deaf)) as one,
        pytest.raises(AgentFault, match=r"in accept\(\): OSError: full"),
    ):
        one.tell("question", "answer")


@pytest.mark.parametrize("limit", [0, -5, "4k", 2.5, True, None])
def test_a_message_limit_that_is_none_is_an_error(limit: Any) -> None:
    class Odd(Able):
        max_message_tokens = limit

    with pytest.raises(
        AgentError, match="max_message_tokens is a positive whole number"
    ):
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


def test_an_async_agent_is_closed_in_the_loop_of_its_replies() -> None:
    class Client(Later):
        async def aclose(self) -> None:
            self.loops.append(asyncio.get_running_loop())

    one = speaker(Client)
    one.ask("a")
    assert one.close() is None
    assert one.agent.loops[0] is one.agent.loops[1]


def test_a_failing_close_is_a_notice() -> None:
    class Sticky(Later):
        def close(self) -> None:
            raise OSError("still busy")

    one = speaker(Sticky)
    one.ask("a")
    assert "in close(): OSError: still busy" in one.close()


def test_a_close_that_needs_an_argument_is_not_ours_to_call() -> None:
    class Shop(Later):
        def close(self, door: Any) -> None:
            raise AssertionError

    assert speaker(Shop).close() is None
