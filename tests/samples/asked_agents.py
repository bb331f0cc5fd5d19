"""Helpers that call an agent once and return its reply or its fault."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import pytest

from pytest_ltm.agents import Reply, Usage
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.storage import AgentFault, can_interrupt

interruptible = pytest.mark.skipif(
    not can_interrupt(), reason="no interval timer on this system"
)
BLANK = Reply(None)  # type: ignore[arg-type]  # as a careless agent would
HALF = Usage(output_tokens=1.5)  # type: ignore[arg-type]  # likewise
NOW = datetime(2024, 5, 6, tzinfo=timezone.utc)


def speaker(agent: Any, timeout: float | None = None, **settings: Any) -> Any:
    return AgentCaller(
        agent_source(agent, spec="x:y").make(), timeout=timeout, **settings
    )


def ask(agent: Any, message: str = "a", timeout: float | None = None) -> Any:
    with closing(speaker(agent, timeout)) as caller:
        return caller.ask(message)


def fault(agent: Any, timeout: float | None = None) -> Any:
    with pytest.raises(AgentFault) as caught:
        ask(agent, timeout=timeout)
    assert "\n" not in str(caught.value)
    return caught.value


def block() -> None:
    threading.Event().wait(30)


class Later:
    """An async agent that records the event loop of each call."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def reply(self, message: str) -> Any:
        self.loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return message
