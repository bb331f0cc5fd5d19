"""Kinds of agents: the one registry of what may stand before the `:` of an agent's spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_ltm._core.features import Registry


class AgentKind(NamedTuple):
    """A kind of agents, registered by the hook `pytest_ltm_agents`."""

    name: str
    """What stands before the `:` of its specs."""
    make: Callable[..., Any]
    """Called with what stands behind the `:`, "" if nothing, and with the `parameters` of a file if it takes any.

    It returns what a dotted path may name: a class, a factory, an object, a function.
    """
    help: str
    """A sentence for `ltm list agents`."""
    takes: str = ""
    """What may stand behind the `:`, as an example: `8k`, `MODEL@URL`."""
    parameters: bool = False
    """A YAML file may give it parameters: `make` gets them as a second argument, a `Field`."""
    control: bool = False
    """It is told what full marks ask for, or cheats: it is never ranked."""
    cheat: bool = False
    """A control that looks for points without remembering."""
    yardstick: bool = False
    """It shows what is possible, and is ranked only among such."""
    embedded: bool = False
    """It needs no key and no network, and each conversation has one of its own."""

    @property
    def example(self) -> str:
        """A spec of this kind, or its form."""
        if self.takes:
            return f"{self.name}:{self.takes}"
        return self.name


AGENT_KINDS: Registry[AgentKind] = Registry(
    "pytest_ltm_agents", "a kind of agents", lambda kind: (kind.name, kind)
)


def agent_kinds() -> Mapping[str, AgentKind]:
    """Return all kinds by name: those of this session, else of what is installed."""
    return AGENT_KINDS.entries()


def find_agent_kind(spec: str) -> AgentKind | None:
    """Return the kind that a spec names; None for a dotted path, a file or an unknown name."""
    return agent_kinds().get(spec.partition(":")[0])
