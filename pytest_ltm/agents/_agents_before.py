"""The makers of kinds that stand before another agent, which `find_agent` knows."""

from __future__ import annotations

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.storage import Field


def make_timed_agent(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `ts:SPEC`."""
    from pytest_ltm.agents.chat_agent import make_timed

    return make_timed(argument, parameters, find_agent)


def make_padded_agent(argument: str) -> AgentSource:
    """Return the source of `padded:SPEC`."""
    from pytest_ltm.agents.wrapping import make_padded

    return make_padded(argument, find_agent)


def make_compacting_agent(argument: str) -> AgentSource:
    """Return the source of `compacting:SPEC`."""
    from pytest_ltm.agents._compacting import make_compacting

    return make_compacting(argument, find_agent)


def make_folder_agent(argument: str) -> AgentSource:
    """Return the source of `with-folder:SPEC`."""
    from pytest_ltm.agents._memory_folder import make_with_folder

    return make_with_folder(argument, find_agent)


def make_length_bias_agent(argument: str) -> AgentSource:
    """Return the source of `length-bias:SIZE[:SPEC]`."""
    from pytest_ltm.agents.controls import make_length_bias

    return make_length_bias(argument, find_agent)
