"""The optional protocols that an object really implements, and whether a function takes our arguments."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from pytest_ltm.agents.memory.scopes import (
    Scope,
    has_parameter,
    scope_arguments,
    takes_scope,
)
from pytest_ltm.agents.signatures import signature_of
from pytest_ltm.api.calls import look
from pytest_ltm.api.model import (
    CAPABILITIES,
    SAVES_REFERENCE,
    Apart,
    Capabilities,
    Prompted,
    SeparatesUsers,
    Stateless,
    TakesTools,
)
from pytest_ltm.api.storage import AgentError, describe_error

# The controls created by specs of this package; no class alone makes a control.
_CONTROLS = weakref.WeakSet[Prompted]()


def register_control(agent: object, *, embedded: bool) -> None:
    """Record whether a conversation's agent may be prompted: only one created by a spec of this package."""
    if isinstance(agent, Prompted):
        (_CONTROLS.add if embedded else _CONTROLS.discard)(agent)


def is_prompted(agent: object) -> TypeGuard[Prompted]:
    """Return whether an agent is a control that is prompted with the full-mark replies.

    No agent under test is.
    """
    return isinstance(agent, Prompted) and agent in _CONTROLS


def capabilities_of(agent: object) -> Capabilities:
    """Return the names of the agent's capabilities.

    Stricter than `isinstance`: a method counts only if it can be called with the
    protocol's arguments (a `save(path)` makes nothing Checkpointable), and `stateless`
    only if it is `True`.
    """
    try:
        result = set()
        for name, capability in CAPABILITIES.items():
            if _has_capability(agent, capability):
                result.add(name)
        if (
            "Checkpointable" in result
            and getattr(agent, "saves_reference", False) is True
        ):
            result.add(SAVES_REFERENCE)
        return Capabilities(result | {"Prompted"} if is_prompted(agent) else result)
    except Exception as error:
        raise AgentError(
            f"the capabilities of {type(agent).__name__} cannot be read: {describe_error(error)}"
        ) from error


def capabilities_of_class(agent: type) -> frozenset[str]:
    """Return the capabilities of a class's instances, as far as the class shows them."""

    def has(member: str) -> bool:
        result = inspect.getattr_static(agent, member, None)
        if member == "stateless":
            return result is True
        return result is not None

    names = set()
    reply = getattr(agent, "reply", None)
    for name, capability in CAPABILITIES.items():
        if not all(map(has, protocol_members(capability))):
            continue
        if capability is SeparatesUsers and not takes_user(reply):
            continue
        if capability is TakesTools and not takes_tools(reply):
            continue
        names.add(name)
    return frozenset(names)


def shown_capabilities(definition: object) -> Capabilities:
    """Return the capabilities of an object before an agent is created from it.

    Empty if the check fails or hangs.
    """
    examine = functools.partial(capabilities_of, definition)
    capabilities: Capabilities = look(examine, Capabilities())
    return capabilities


def near_misses(agent: object, names: Iterable[str]) -> dict[str, str]:
    """Return a sentence for each of these capabilities that the agent seems to intend but does not have."""
    missing = sorted(set(names) - capabilities_of(agent))
    sentences = {}
    if isinstance(agent, Apart):
        for name in missing:
            if name in agent.near_misses:
                sentences[name] = agent.near_misses[name]
        return sentences
    for name in missing:
        reasons = _why_incomplete(agent, CAPABILITIES[name])
        if reasons:
            sentences[name] = f"the agent is not {name}: {', '.join(reasons)}"
    return sentences


def _why_incomplete(agent: object, capability: type) -> list[str]:
    """Return what is wrong with the members of a capability; nothing if the agent has none of them."""
    if capability is Stateless:
        value = getattr(agent, "stateless", None)
        if value is None:
            return []
        return [f"stateless is {value!r}, not True"]
    if capability in (SeparatesUsers, TakesTools):
        return []  # every agent has a reply(), which alone shows no intent
    methods = _protocol_methods(capability)
    wrong = []
    absent = []
    for name, count in methods:
        if not hasattr(agent, name):
            absent.append(f"it has no {name}()")
        elif not accepts_arguments(getattr(agent, name), count):
            arguments = "argument" if count == 1 else "arguments"
            wrong.append(
                f"its {name}() cannot be called with {count or 'no'} {arguments}"
            )
    return wrong + absent if len(absent) < len(methods) else []


def accepts_arguments(function: object, arguments: int) -> bool:
    """Return whether `function` can be called with `arguments` positional arguments; True if unknown."""
    if not callable(function):
        return False
    try:
        signature_of(function).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # implemented in C, without a signature
        return True
    return True


def closing_method(agent: object) -> str:
    """Return the name of the method that closes an agent; "" if it has none."""
    for name in ("aclose", "close"):
        if accepts_arguments(getattr(agent, name, None), 0):
            return name
    return ""


def takes_user(function: object) -> bool:
    """Return whether `function` takes the user of a message: by `user`, `scope` or `**kwargs`."""
    return takes_scope(function, "user")


def takes_tools(function: object) -> bool:
    """Return whether `function` can be offered tools: it has a parameter `tools`."""
    return has_parameter(function, "tools")


def user_arguments(function: object, scope: Scope) -> dict[str, Any]:
    """Return the arguments that tell `reply` or `accept` the user of a message; {} without a user."""
    if not scope.user:
        return {}
    arguments = scope_arguments(function, scope)
    return {name: value for name, value in arguments.items() if value}


def required_parameters(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """Return the names of the required parameters: the positional and the keyword-only ones.

    Raises ValueError or TypeError for a callable without a signature.
    """
    positional = []
    keyword_only = []
    for parameter in signature_of(function).parameters.values():
        if parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            keyword_only.append(parameter.name)
        elif parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            positional.append(parameter.name)
    return positional, keyword_only


def _has_capability(agent: object, capability: type) -> bool:
    # The quick check first: there are some twenty protocols, and most agents have one
    # or two.
    has_first_member = hasattr(agent, protocol_members(capability)[0])
    if not has_first_member or not isinstance(agent, capability):
        return False
    if capability is Stateless:
        return getattr(agent, "stateless", None) is True
    if capability is SeparatesUsers:
        return takes_user(getattr(agent, "reply", None))
    if capability is TakesTools:
        return takes_tools(getattr(agent, "reply", None))
    for name, arguments in _protocol_methods(capability):
        if not accepts_arguments(getattr(agent, name), arguments):
            return False
    return True


@functools.cache
def protocol_members(capability: type) -> tuple[str, ...]:
    """Return the member names of a capability's protocol."""
    members = (*vars(capability), *capability.__annotations__)
    return tuple(name for name in members if not name.startswith("_"))


@functools.cache
def _protocol_methods(capability: type) -> tuple[tuple[str, int], ...]:
    methods = []
    for name, value in vars(capability).items():
        if not name.startswith("_") and inspect.isfunction(value):
            methods.append((name, len(inspect.signature(value).parameters) - 1))
    return tuple(methods)
