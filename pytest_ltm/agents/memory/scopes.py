"""Scope: the user, session, agent and time of a text, passed to each method that takes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pytest_ltm.agents.signatures import signature_of

AGENT = "assistant"
"""The agent of every call, unless a test says otherwise."""
SCOPE_PARTS = ("user", "session", "agent", "at")
_ALWAYS = ("at", "session", "user")
_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a memory must keep separate; a method with a parameter `scope` receives one."""

    user: str
    session: str = ""
    agent: str = AGENT
    at: datetime | None = None
    """The conversation's time, aware."""

    def values(self) -> dict[str, Any]:
        """Return the parts by name."""
        return asdict(self)


def scope_arguments(function: object, scope: Scope) -> dict[str, Any]:
    """Return the arguments for a method: one `scope`, its parts by name, or all of them for `**kwargs`.

    A method without a readable signature, such as one in C, gets none; but `add` and
    `add_session` get user, session and time, as they always have.
    """
    parameters = _parameters_of(function)
    if parameters is None:
        adds = str(getattr(function, "__name__", "")).startswith("add")
        if adds:
            return {name: scope.values()[name] for name in _ALWAYS}
        return {}
    if _is_named(parameters, "scope"):
        return {"scope": scope}
    values = scope.values()
    if _takes_any(parameters):
        return values
    named_values = {}
    for name, value in values.items():
        if _is_named(parameters, name):
            named_values[name] = value
    return named_values


def takes_scope(function: object, part: str) -> bool:
    """Return whether a method takes a part of the scope: `user`, `session`, `agent` or `at`."""
    arguments = scope_arguments(function, Scope(user=""))
    return part in arguments or "scope" in arguments


def has_parameter(function: object, name: str) -> bool:
    """Return whether a method has a parameter of this name, which can be given by name."""
    return _is_named(_parameters_of(function) or {}, name)


def takes_argument(function: object, name: str) -> bool:
    """Return whether a method takes an argument of this name."""
    return has_parameter(function, name) or _takes_any(_parameters_of(function) or {})


def _parameters_of(function: Any) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters by name; None if there is no readable signature."""
    if not callable(function):
        return {}
    try:
        return signature_of(function).parameters
    except (TypeError, ValueError):
        return None


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    kinds = {parameter.kind for parameter in parameters.values()}
    return inspect.Parameter.VAR_KEYWORD in kinds


def _is_named(parameters: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in parameters and parameters[name].kind in _BY_NAME
