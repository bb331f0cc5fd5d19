"""Which capabilities an agent lacks, as far as it can be looked at before it is asked."""

from __future__ import annotations

from contextlib import closing

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.storage import AgentError


def find_lacking(source: AgentSource, needed: set[str]) -> set[str]:
    """Return which capabilities the agents of a source lack; nothing where none can be made to look at."""
    lacking = {*needed} - profile_of(source).capabilities
    if not lacking:
        return set()
    # What a factory returns is known only once it has.
    try:
        agent = source.sample()
        with closing(AgentCaller(agent, timeout=None, owned=source.owned)) as caller:
            return lacking - caller.capabilities
    except AgentError:
        return set()
