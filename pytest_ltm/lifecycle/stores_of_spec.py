"""Creates the store of a spec: that of `store:` or `mcp:`, or any other agent as a chatting store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from pytest_ltm.agents.capabilities import (
    capabilities_of,
    closing_method,
    user_arguments,
)
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.memory.stores import Stored
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.agents.wrapping import finish_result

NOBODY = Scope(user="")
"""The speaker for agents that take no user."""


def store_maker(source: AgentSource) -> Callable[[], Any]:
    """Return a factory that creates a fresh store for each test."""

    def make() -> Any:
        agent: Any = source.make()
        if isinstance(agent, Stored):
            return agent.store
        return AgentStore(agent)

    return make


class AgentStore:
    """An agent as a store: texts are sent as messages, and searches return what it retrieves and replies."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._powers = capabilities_of(agent)
        if "SeparatesUsers" in self._powers:
            self.add, self.search = self._add_as, self._search_as  # type: ignore[method-assign,assignment]
        for power, method in (
            ("Settles", "settle"),
            ("ShowsWrites", "written"),
            ("DeletesRecords", "delete"),
        ):
            if power in self._powers:
                setattr(self, method, getattr(agent, method))
        if "ReportsUsage" in self._powers:
            self.usage = agent.usage
        if "Checkpointable" in self._powers:
            self.save = agent.save
            self.load = agent.load

    def tell_time(self, now: datetime) -> None:
        """Pass the time to the agent."""
        if "TimeAware" in self._powers:
            self._agent.tell_time(now)

    def add(self, text: str) -> Any:
        """Send a text to the agent."""
        return self._tell(text, NOBODY)

    def search(self, query: str) -> Any:
        """Ask the agent; return what it retrieved and replied."""
        return self._ask(query, NOBODY)

    def close(self) -> Any:
        """Close the agent."""
        name = closing_method(self._agent)
        return getattr(self._agent, name)() if name else None

    def _add_as(self, text: str, scope: Scope) -> Any:
        return self._tell(text, scope)

    def _search_as(self, query: str, scope: Scope) -> Any:
        return self._ask(query, scope)

    def _tell(self, text: str, scope: Scope) -> Any:
        if "AcceptsHistory" in self._powers:
            accept = self._agent.accept
            took = accept(text, "Noted.", **user_arguments(accept, scope))
        else:
            reply = self._agent.reply
            took = reply(text, **user_arguments(reply, scope))
        return finish_result(took, lambda _: None)

    def _ask(self, query: str, scope: Scope) -> Any:
        alone = "AnswersAlone" in self._powers and not scope.user
        ask = self._agent.answer_alone if alone else self._agent.reply
        return finish_result(ask(query, **user_arguments(ask, scope)), self._found)

    def _found(self, reply: Any) -> list[str]:
        """Return the texts that the agent retrieved, and its reply."""
        # Retrieval belongs to the last reply, which may be another thread's.
        is_alone = threading.current_thread() is threading.main_thread()
        shows = is_alone and "ShowsRetrieval" in self._powers
        found = list(self._agent.retrieved()) if shows else []
        return [*found, getattr(reply, "text", str(reply))]
