"""The pytest plugin with which `ltm init` plays a bot with its memory cut: a fresh one answers each message."""

from __future__ import annotations

import contextlib
import inspect
import sys
from typing import Any

import pluggy

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource, agent_source

hookimpl = pluggy.HookimplMarker("pytest")


class CutMemory:
    """Answers each message with a new agent."""

    def __init__(self, source: AgentSource) -> None:
        self._source = source

    def reply(self, message: str) -> Any:
        """Return a fresh agent's reply."""
        agent = self._source.make()
        try:
            return agent.reply(message)
        finally:
            _let_go(agent)


class CutAsyncMemory(CutMemory):
    """The same for async agents."""

    async def reply(self, message: str) -> Any:
        """Return a fresh agent's reply."""
        agent: Any = self._source.make()
        return await agent.reply(message)


def _let_go(agent: Any) -> None:
    close = getattr(agent, "close", None)
    if close is not None and not inspect.iscoroutinefunction(close):
        with contextlib.suppress(Exception):  # its reply is what counts
            close()


@hookimpl(tryfirst=True, optionalhook=True)
def pytest_ltm_make_agent(config: Any, spec: str) -> Any:
    """Return a factory of agents with their memory cut, for any spec."""
    other_plugins = config.pluginmanager.subset_hook_caller(
        "pytest_ltm_make_agent", remove_plugins=[sys.modules[__name__]]
    )
    made_elsewhere = other_plugins(config=config, spec=spec)
    if made_elsewhere is None:
        source = find_agent(spec, base=config.rootpath)
    else:
        source = agent_source(made_elsewhere, spec=spec)
    is_async = inspect.iscoroutinefunction(source.sample().reply)
    kind = CutAsyncMemory if is_async else CutMemory
    return lambda: kind(source)
