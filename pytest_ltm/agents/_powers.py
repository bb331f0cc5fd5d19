"""Which of the extra protocols an object really keeps, and whether a function can be called as we would."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError, told
from pytest_ltm.agents._protocols import POWERS, Stateless

if TYPE_CHECKING:
    from collections.abc import Callable


def powers(agent: object) -> frozenset[str]:
    """Return the names of the agent's powers.

    More than `isinstance`: a method counts only if it can be called with the protocol's arguments (a
    `save(path)` makes nothing Checkpointable), and `stateless` only if it is `True`.
    """
    try:
        return frozenset(name for name, power in POWERS.items() if _keeps(agent, power))
    except Exception as error:
        raise AgentError(f"the powers of {type(agent).__name__} cannot be read: {told(error)}") from error


def takes(function: object, arguments: int) -> bool:
    """Whether `function` can be called with so many positional arguments; true where nobody can tell."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # built in C, without a signature
        return True
    return True


def required(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """Return the names of the parameters that must be given: the positional and the keyword-only ones.

    Raises ValueError or TypeError for what has no signature.
    """
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    positional = [p.name for p in needed if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    return positional, [p.name for p in needed if p.kind is p.KEYWORD_ONLY]


def _keeps(agent: object, power: type) -> bool:
    if not isinstance(agent, power):
        return False
    if power is Stateless:
        return getattr(agent, "stateless", None) is True
    return all(takes(getattr(agent, name), arguments) for name, arguments in _methods(power))


@functools.cache
def _methods(power: type) -> tuple[tuple[str, int], ...]:
    functions = ((name, value) for name, value in vars(power).items() if not name.startswith("_"))
    return tuple(
        (name, len(inspect.signature(value).parameters) - 1) for name, value in functions if inspect.isfunction(value)
    )
