"""Platforms without POSIX: each fallback is taken with the platform faked, on any machine.

`mypy --platform win32`, which `.ci/run` calls, shows that no other call needs one.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents import line_process
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.model import Reply
from pytest_ltm.api.storage import (
    AgentFault,
    can_interrupt,
    paused_since,
    process_pauses,
)
from pytest_ltm.modes.concurrency import allow_files


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make our own code believe that it runs on Windows."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(line_process, "HAS_GUARD", False)


@pytest.mark.usefixtures("windows")
def test_no_limit_can_be_kept_by_a_signal_and_no_sleep_is_seen() -> None:
    assert not can_interrupt()
    assert process_pauses()[1] == 0.0
    assert not paused_since(process_pauses())


@pytest.mark.usefixtures("windows")
def test_an_agent_with_a_time_limit_replies_and_no_timer_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Agent:
        def reply(self, message: str) -> str:
            return message

    def forbidden(*_: object) -> None:
        raise AssertionError("a timer of POSIX")

    monkeypatch.setattr(signal, "setitimer", forbidden, raising=False)
    speaker = AgentCaller(Agent(), timeout=5)
    assert speaker.ask("Hello.") == Reply("Hello.")
    assert speaker.close() is None


@pytest.mark.usefixtures("windows")
def test_an_async_agent_keeps_its_time_limit() -> None:
    class Agent:
        async def reply(self, message: str) -> str:
            await asyncio.sleep(60)
            return message

    agent: Any = Agent()
    speaker = AgentCaller(agent, timeout=0.05)
    with pytest.raises(
        AgentFault, match=r"did not return from reply\(\) within 0.05 s"
    ):
        speaker.ask("Hello.")
    speaker.close()


@pytest.mark.usefixtures("windows")
def test_any_number_of_files_may_be_open() -> None:
    allow_files(10_000_000)


@pytest.mark.usefixtures("windows")
def test_a_process_is_started_without_a_guard_and_ends_when_it_is_closed(
    tmp_path: Path,
) -> None:
    program = "import sys\nfor line in sys.stdin: print(line.strip().replace('ask', 'reply'), flush=True)"
    process = line_process.LineProcess(
        [sys.executable, "-c", program], folder=str(tmp_path), more={}, stderr=None
    )
    assert process.ask({"ask": "Hello."}, field_name="reply", seconds=30) == {
        "reply": "Hello."
    }
    process.close()
    assert not [
        each
        for each in threading.enumerate()
        if each.name.startswith("ltm-") and each.is_alive()
    ]
