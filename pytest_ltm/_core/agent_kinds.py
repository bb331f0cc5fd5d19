"""Kinds of agents: the registry of names allowed before the `:` of an agent's spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pytest_ltm._core.features import Registry


class AgentKind(NamedTuple):
    """A kind of agents, registered by the hook `pytest_ltm_agents`."""

    name: str
    """The part of its specs before the `:`."""
    make: Callable[..., Any]
    """Called with the part after the `:`, "" if empty, and with the `parameters` of a file if it takes any.

    Returns what a dotted path may name: a class, a factory, an object, a function.
    """
    help: str
    """A sentence for `ltm list agents`."""
    takes: str = ""
    """An example of the part after the `:`: `8k`, `MODEL@URL`."""
    parameters: bool = False
    """Whether a YAML file may give it parameters: `make` gets them as a second argument, a `Field`."""
    control: bool = False
    """It is given the expected answers, or cheats: it is never ranked."""
    cheat: bool = False
    """A control that seeks points without remembering."""
    yardstick: bool = False
    """A reference for what is possible, ranked only among its kind."""
    embedded: bool = False
    """It needs no key and no network, and each conversation has its own."""

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
    """Return all kinds by name: those of this session, else the installed ones."""
    return AGENT_KINDS.entries()


def find_agent_kind(spec: str) -> AgentKind | None:
    """Return the kind that a spec names; None for a dotted path, a file or an unknown name."""
    return agent_kinds().get(spec.partition(":")[0])
