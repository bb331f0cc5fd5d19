"""Finds missing capabilities of agents without sending them a message."""

from __future__ import annotations

from contextlib import closing

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.storage import AgentError


def find_missing_capabilities(source: AgentSource, needed: set[str]) -> set[str]:
    """Return the needed capabilities that a source's agents lack; empty if no sample can be created."""
    missing = needed - profile_of(source).capabilities
    if not missing:
        return missing
    # A factory does not say what it makes, so a sample is asked.
    try:
        agent = source.sample()
        with closing(AgentCaller(agent, timeout=None, owned=source.owned)) as caller:
            return missing - caller.capabilities
    except AgentError:
        return set()
