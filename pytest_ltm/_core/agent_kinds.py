"""Kinds of agents: the one registry of what may stand before the `:` of an agent's spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pytest_ltm._core.features import feature_hooks
from pytest_ltm._core.storage.errors import ConfigurationError


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
        return f"{self.name}:{self.takes}" if self.takes else self.name


def agent_kinds() -> Mapping[str, AgentKind]:
    """Return all kinds by name: those of this session, else of what is installed."""
    return _of_session[-1] if _of_session else _installed_kinds()


def find_agent_kind(spec: str) -> AgentKind | None:
    """Return the kind that a spec names; None for a dotted path, a file or an unknown name."""
    return agent_kinds().get(spec.partition(":")[0])


def use_agent_kinds(kinds: Iterable[AgentKind]) -> Callable[[], None]:
    """Have a session's kinds used from now on; return what ends that. ConfigurationError for a name that is taken."""
    by_name = _by_name(kinds)
    _of_session.append(by_name)
    return lambda: _of_session.remove(by_name)


_of_session: list[Mapping[str, AgentKind]] = []


@cache
def _installed_kinds() -> Mapping[str, AgentKind]:
    kinds: list[AgentKind] = []
    feature_hooks().pytest_ltm_agents(register=kinds.append)
    return _by_name(kinds)


def _by_name(kinds: Iterable[AgentKind]) -> Mapping[str, AgentKind]:
    by_name: dict[str, AgentKind] = {}
    for kind in kinds:
        if kind.name in by_name:
            raise ConfigurationError(
                f"two features have a kind of agents {kind.name!r}. Rename one of them, "
                "or leave one feature out: -p no:ltm-feature-NAME"
            )
        by_name[kind.name] = kind
    return by_name
