"""The only agent of a module, for a spec that names just a module."""

from __future__ import annotations

import contextlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_ltm.agents._foreign_forms import takes_messages
from pytest_ltm.agents.capabilities import accepts_arguments, required_parameters
from pytest_ltm.agents.framework_adapters import framework_of
from pytest_ltm.agents.project import best_names
from pytest_ltm.agents.replying import method_that_replies
from pytest_ltm.api.storage import AgentError


def find_only_agent(module: ModuleType, spec: str) -> tuple[object, str]:
    """Return a module's only agent and its dotted path.

    Raises AgentError, listing candidates, unless there is exactly one.

    That is a class or object with `reply`, else a class that replies by another name,
    or a function that takes one text.
    """
    public = {}
    for name, value in vars(module).items():
        if not name.startswith("_"):
            public[name] = value
    names = (
        _names_with_reply(public, module)
        or [name for name in _names_by_source(module) if name in public]
        or _names_that_may_reply(public, module, spec)
    )
    if len(names) == 1:
        return public[names[0]], f"{spec}:{names[0]}"
    if names:
        choices = " or ".join(repr(f"{spec}:{name}") for name in names)
        raise AgentError(
            f"agent {spec!r} is a module with {len(names)} agents. Name one: {choices}."
        )
    submodules = pkgutil.iter_modules(getattr(module, "__path__", []))
    inside = [submodule.name for submodule in submodules]
    if inside:
        deeper = f" It has modules: name one that has, as in {f'{spec}.{inside[0]}'!r}."
    else:
        deeper = ""
    raise AgentError(
        f"agent {spec!r} is a module without an agent: a class or object with reply(message), or one function that "
        f"takes the message.{deeper}"
    )


def _names_by_source(module: ModuleType) -> list[str]:
    """Return the names that `ltm init` would choose for the module's agent."""
    path = getattr(module, "__file__", None)
    if path and path.endswith(".py"):
        return best_names(Path(path))
    return []


def _names_that_may_reply(
    public: dict[str, Any], module: ModuleType, spec: str
) -> list[str]:
    names = []
    for name, value in public.items():
        if _is_own(value, module) and _may_reply(value, spec):
            names.append(name)
    return names


def _names_with_reply(public: dict[str, Any], module: ModuleType) -> list[str]:
    """Return the names of a module's agents.

    An object replaces its class only if the class needs arguments.
    """
    classes: dict[str, type] = {}
    values: dict[str, object] = {}
    for name, value in public.items():
        if _is_own(value, module) and _is_replying_class(value):
            classes[name] = value
        if not isinstance(value, (type, ModuleType)):
            values[name] = value
    objects = {}
    for name, value in values.items():
        if callable(getattr(value, "reply", None)):
            objects[name] = value
    if not classes and not objects:
        return [name for name, value in values.items() if framework_of(value)]
    object_classes = set(map(type, objects.values()))
    class_names = []
    for name, kind in classes.items():
        with contextlib.suppress(TypeError, ValueError):
            # implemented in C: calling it will show
            if kind in object_classes and any(required_parameters(kind)):
                continue
        class_names.append(name)
    simple = {classes[name] for name in class_names}
    return [
        *class_names,
        *(name for name, value in objects.items() if type(value) not in simple),
    ]


def _is_replying_class(value: object) -> bool:
    if not isinstance(value, type) or inspect.isabstract(value):
        return False
    return hasattr(value, "reply") and not getattr(value, "_is_protocol", False)


def _is_own(value: object, module: ModuleType) -> bool:
    """Return whether a class or function is defined in a module or one of its submodules."""
    # Imports do not count: test files import classes with `reply` from elsewhere.
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and f"{home}.".startswith(f"{module.__name__}.")


def _may_reply(value: Any, spec: str) -> bool:
    """Return whether a class replies by a method of another name, or a function takes one text."""
    if isinstance(value, type):
        try:
            return bool(method_that_replies(value, spec))
        except AgentError:
            return False
    if not inspect.isfunction(value):
        return False
    # Judged by its signature alone: a call would send a message to somebody's agent.
    positional, keywords = required_parameters(value)
    if keywords or len(positional) != 1 or not accepts_arguments(value, 1):
        return False
    annotation = inspect.signature(value).parameters[positional[0]].annotation
    return annotation in {inspect.Parameter.empty, str, "str"} or takes_messages(value)
