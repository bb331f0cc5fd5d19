"""Agents from a YAML file: any spec, with parameters, and with environment variables that are named only."""

from __future__ import annotations

import functools
import inspect
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._dotted import DottedPath, is_dotted
from pytest_ltm._errors import AgentError, DefinitionError, did_you_mean
from pytest_ltm._yaml import load
from pytest_ltm.agents._adapt import AgentSource, source
from pytest_ltm.agents._adapters import ADAPTERS
from pytest_ltm.agents._embedded import EMBEDDED
from pytest_ltm.agents._keyless import is_keyless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm._fields import Field

_KEYS = ("agent", "parameters", "env")


def configured(spec: str, *, base: Path | None, find: Callable[[str], AgentSource]) -> AgentSource:
    """Return the source of the agents that a YAML file describes.

    The file is looked for in the working directory and in `base`. `find` knows specs without parameters. Raises
    AgentError that names file and line.
    """
    try:
        return _from_file(load(_file(spec, base)), spec, base, find)
    except DefinitionError as error:
        raise AgentError(str(error)) from None


def _file(spec: str, base: Path | None) -> Path:
    places = [Path(spec).expanduser(), *([base / spec] if base is not None else [])]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        folders = " or ".join(repr(str(folder)) for folder in dict.fromkeys([Path.cwd(), *([base] if base else [])]))
        raise AgentError(f"agent {spec!r}: there is no such file in {folders}")
    return found


def _from_file(file: Field, spec: str, base: Path | None, find: Callable[[str], AgentSource]) -> AgentSource:
    fields = file.mapping(known=_KEYS, required=["agent"])
    agent = fields["agent"].text("the spec of an agent, such as mypkg.bot:Bot")
    parameters = fields["parameters"] if "parameters" in fields else replace(file, value={}, path="parameters")
    parameters.mapping()
    names, secret = _environment(fields.get("env"))
    settings = {"agent": agent, "parameters": parameters.json(), "env": names}
    kind, _, argument = agent.partition(":")
    if kind in ADAPTERS:
        _only_names(fields.get("env"), secret, kind)
        found = ADAPTERS[kind](argument, parameters)
    elif Path(agent).suffix.lower() in {".yml", ".yaml"}:
        raise fields["agent"].fault(f"{agent!r} is a file again. Write the spec of an agent.")
    elif is_dotted(agent) and kind not in EMBEDDED:
        given = DottedPath(agent, what="agent", error=AgentError).resolve(base)
        found = source(_bound(given, parameters, secret), spec=spec)
    else:
        if parameters.value or secret:
            raise parameters.fault(f"{agent!r} takes no parameters.")
        found = find(agent)
    found.spec, found.settings = spec, settings
    return found


def _environment(field: Field | None) -> tuple[list[str] | dict[str, str], dict[str, str]]:
    """Return the names of the variables as written, and the values of those that are given as parameters."""
    if field is None:
        return [], {}
    if isinstance(field.value, dict):
        named = {key: child.text("the name of a variable") for key, child in field.mapping().items()}
        return named, {key: _variable(name, field) for key, name in named.items()}
    names = [item.text("the name of a variable") for item in field.items("names of environment variables")]
    for name in names:
        _variable(name, field)
    return names, {}


def _variable(name: str, field: Field) -> str:
    value = os.environ.get(name)
    if not value and is_keyless():
        return ""
    if not value:
        raise field.fault(f"the environment variable {name!r} is not set.")
    return value


def _only_names(field: Field | None, secret: Mapping[str, str], kind: str) -> None:
    if field is not None and secret:
        raise field.fault(f"for {kind!r} agents, expected a list of names that must be set, such as [MY_KEY].")


def _bound(given: object, parameters: Field, secret: Mapping[str, str]) -> object:
    """Return a class, factory or function with its parameters; an object has none."""
    values: dict[str, Any] = {**parameters.json(), **secret}
    if not values:
        return given
    if not callable(given) or (hasattr(given, "reply") and not isinstance(given, type)):
        kind = type(given).__name__
        raise parameters.fault(f"a {kind} object is made already, so it takes none. Name its class or a factory.")
    _check(given, parameters, values)
    return functools.partial(given, **values)


def _check(given: Callable[..., Any], parameters: Field, values: Mapping[str, Any]) -> None:
    """Raise the error that says which parameter is unknown or missing, where Python can tell."""
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # built in C: calling it will tell
        return
    named = {name: one for name, one in signature.parameters.items() if one.kind in _BY_NAME}
    takes_any = any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values())
    who = getattr(given, "__name__", type(given).__name__)
    for name in values:
        if name not in named and not takes_any:
            there = f"It takes {', '.join(named)}." if named else "It takes none."
            hint = did_you_mean(name, named)
            place = parameters.child(name) if name in parameters.value else parameters
            raise place.fault(f"{who} has no parameter {name!r}.{hint} {there}")
    missing = [name for name, one in named.items() if one.default is one.empty and name not in values]
    if missing and isinstance(given, type):
        raise parameters.fault(f"{who} needs {', '.join(map(repr, missing))} as well.")


_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
