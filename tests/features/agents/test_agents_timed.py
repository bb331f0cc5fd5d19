"""`ts:SPEC`: the messages of any text agent state how much time has passed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)
BOTS = """
class Plain:
    def reply(self, message):
        return message


class Able:
    def __init__(self):
        self.told = []

    async def reply(self, message):
        return message

    def accept(self, message, reply):
        self.told.append(message)

    def reset(self):
        self.told = []

    async def save(self):
        return repr(self.told).encode()

    def load(self, state):
        self.told = eval(state.decode())

    def retrieved(self):
        return self.told
"""


@pytest.fixture(autouse=True)
def _bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "timed_bots.py").write_text(BOTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("timed_bots", None)


def made(spec: str) -> Any:
    return find_agent(spec).make()


def test_the_first_message_has_its_time_and_later_ones_what_has_passed() -> None:
    agent = made("ts:timed_bots:Plain")
    agent.tell_time(NOON)
    assert agent.reply("Hello.") == "[2024-03-04 12:00:00+00:00] Hello."
    agent.tell_time(NOON + timedelta(hours=3, minutes=20))
    assert agent.reply("I am back.") == "[3:20:00 later] I am back."


def test_without_a_time_a_message_is_as_it_was() -> None:
    assert made("ts:timed_bots:Plain").reply("Hello.") == "Hello."


def test_it_has_what_the_other_agent_can_do_and_knows_the_time() -> None:
    assert capabilities_of(made("ts:timed_bots:Plain")) == {"TimeAware", "Configured"}
    having = {
        "AcceptsHistory",
        "Resettable",
        "Checkpointable",
        "ShowsRetrieval",
        "TimeAware",
        "Configured",
    }
    assert capabilities_of(made("ts:timed_bots:Able")) == having
    assert profile_of(find_agent("ts:timed_bots:Able")).capabilities == having


def test_an_async_agent_saved_and_restored_goes_on_with_its_time() -> None:
    first, second = made("ts:timed_bots:Able"), made("ts:timed_bots:Able")
    first.tell_time(NOON)
    first.accept("Told.", "Okay.")
    second.load(asyncio.run(first.save()))
    second.tell_time(NOON + timedelta(minutes=5))
    assert asyncio.run(second.reply("Hello.")) == "[0:05:00 later] Hello."
    assert second.retrieved() == ["[2024-03-04 12:00:00+00:00] Told."]


def test_reset_forgets_the_time_too() -> None:
    agent = made("ts:timed_bots:Able")
    agent.tell_time(NOON)
    agent.accept("Told.", "Okay.")
    agent.reset()
    agent.tell_time(NOON)
    assert asyncio.run(agent.reply("Hi.")).startswith("[2024-03-04")


def test_an_agent_with_a_clock_is_told_both_ways() -> None:
    agent = made("ts:memory:rules")
    agent.tell_time(NOON)
    assert "TimeAware" in capabilities_of(agent)
    assert agent._agent._clock.now == NOON


def test_a_control_that_is_told_the_answers_cannot_be_timed() -> None:
    with pytest.raises(AgentError, match="ignores its messages"):
        made("ts:oracle")
