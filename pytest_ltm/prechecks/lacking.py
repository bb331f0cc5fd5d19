"""The capabilities that an agent lacks, as far as they can be found without asking it."""

from __future__ import annotations

from contextlib import closing

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.storage import AgentError


def find_lacking(source: AgentSource, needed: set[str]) -> set[str]:
    """Return the capabilities that a source's agents lack; empty if no sample can be created."""
    lacking = {*needed} - profile_of(source).capabilities
    if not lacking:
        return set()
    # The result of a factory is known only after calling it.
    try:
        agent = source.sample()
        with closing(AgentCaller(agent, timeout=None, owned=source.owned)) as caller:
            return lacking - caller.capabilities
    except AgentError:
        return set()
