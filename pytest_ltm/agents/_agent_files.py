"""Agents described by a YAML file: any spec with parameters, and environment variables by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import structs

from pytest_ltm.agents._module_agents import find_only_agent
from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.registry import AGENT_FILE, names_code, source_of_kind
from pytest_ltm.agents.sources import (
    CONVERSATION_ID_PARAMETER,
    AgentSource,
    agent_source,
    is_keyless,
)
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import (
    AgentError,
    DefinitionError,
    DottedPath,
    Field,
    did_you_mean,
    is_secret_name,
    load_yaml,
    remember_secret,
)

_KEYS = ("agent", "parameters", "env", "process")


def agent_from_yaml(
    spec: str,
    *,
    base: Path | None,
    find: Callable[[str], AgentSource],
    apart: Processes | None = None,
) -> AgentSource:
    """Return the source of the agents that a YAML file describes.

    The file is looked up in the working directory, then in `base`. `find` resolves
    specs without parameters. Raises AgentError with file and line.
    """
    try:
        bases = [] if base is None else [base]
        places = [Path(spec).expanduser(), *(folder / spec for folder in bases)]
        result = next((place for place in places if place.is_file()), None)
        if result is None:
            folders = dict.fromkeys([Path.cwd(), *bases])
            listed = " or ".join(repr(str(folder)) for folder in folders)
            raise AgentError(f"agent {spec!r}: there is no such file in {listed}")
        return _from_file(load_yaml(result), spec, base, find, apart)
    except DefinitionError as error:
        raise AgentError(str(error)) from None


def _from_file(
    file: Field,
    spec: str,
    base: Path | None,
    find: Callable[[str], AgentSource],
    apart: Processes | None,
) -> AgentSource:
    fields = file.mapping(known=_KEYS, required=["agent"])
    agent = fields["agent"].text("the spec of an agent, such as mypkg.bot:Bot")
    if "parameters" in fields:
        parameters = fields["parameters"]
    else:
        parameters = structs.replace(file, value={}, path="parameters")
    parameters.mapping()
    names, secret = _parse_environment(fields.get("env"))
    settings = {"agent": agent, "parameters": parameters.json(), "env": names}
    name, _, argument = agent.partition(":")
    kind = agent_kinds().get(name)
    has_path = (
        kind is None and not AGENT_FILE.fullmatch(agent) and names_code(agent, base)
    )
    needs_process = "process" in fields and fields["process"].boolean()
    if needs_process and not has_path:
        raise fields["process"].fault(
            f"{agent!r} is not a dotted path: only an agent that one names can have its own process."
        )
    if has_path and apart is not None and (needs_process or apart.every):
        return apart.source(spec, base=base, settings=settings)
    if kind is not None and kind.parameters:
        field = fields.get("env")
        if field is not None and secret:
            raise field.fault(
                f"for {name!r} agents, expected a list of names that must be set, such as [MY_KEY]."
            )
        source = source_of_kind(kind, argument, parameters)
    elif AGENT_FILE.fullmatch(agent):
        raise fields["agent"].fault(
            f"{agent!r} is another file. Write the spec of an agent."
        )
    elif has_path:
        candidate = DottedPath(
            agent, what="agent", error=AgentError, may_be_module=True
        ).resolve(base)
        if isinstance(candidate, ModuleType):
            candidate, _ = find_only_agent(candidate, agent)
        source = agent_source(
            _bind_parameters(candidate, parameters, secret), spec=spec
        )
    else:
        if parameters.value or secret:
            raise parameters.fault(f"{agent!r} takes no parameters.")
        source = find(agent)
    # Users named the file, so reports and errors show the file.
    source.spec = spec
    source.settings = settings
    return source


def _parse_environment(
    field: Field | None,
) -> tuple[list[str] | dict[str, str], dict[str, str]]:
    """Return the variable names as written, and the values of the variables that become parameters."""
    if field is None:
        return [], {}
    if isinstance(field.value, dict):
        variables = {}
        for key, child in field.mapping().items():
            variables[key] = child.text("the name of a variable")
        secret = {key: _variable_name(name, field) for key, name in variables.items()}
        # So that they are redacted wherever they appear.
        for key in filter(is_secret_name, variables):
            remember_secret(variables[key], secret[key])
        return variables, secret
    names = []
    for item in field.items("names of environment variables"):
        names.append(item.text("the name of a variable"))
    for name in names:
        _variable_name(name, field)
    return names, {}


def _variable_name(name: str, field: Field) -> str:
    value = os.environ.get(name)
    if not value and is_keyless():
        return ""
    if not value:
        raise field.fault(f"the environment variable {name!r} is not set.")
    return value


def _bind_parameters(
    candidate: object, parameters: Field, secret: Mapping[str, str]
) -> object:
    """Return a class, factory or function bound to its parameters; an object takes none.

    Raises DefinitionError for an unknown or missing parameter, if the signature is
    readable.
    """
    values: dict[str, Any] = {**parameters.json(), **secret}
    if not values:
        return candidate
    if not callable(candidate) or (
        hasattr(candidate, "reply") and not isinstance(candidate, type)
    ):
        kind = type(candidate).__name__
        raise parameters.fault(
            f"a {kind} object exists already, so it takes no parameters. Name its class or a factory."
        )
    bound = partial(candidate, **values)
    try:
        signature = inspect.signature(candidate)
    except (TypeError, ValueError):  # implemented in C: calling it will show
        return bound
    needed = []
    possible_names = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in _BY_NAME:
            possible_names.append(name)
            if parameter.default is parameter.empty:
                needed.append(name)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    callable_name = getattr(candidate, "__name__", type(candidate).__name__)
    unknown = [name for name in values if name not in possible_names]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        possible = f"It takes {', '.join(possible_names) or 'none'}."
        hint = did_you_mean(unknown[0], possible_names)
        place = parameters
        if unknown[0] in parameters.value:
            place = parameters.child(unknown[0])
        raise place.fault(
            f"{callable_name} has no parameter {unknown[0]!r}.{hint} {possible}"
        )
    filled = {CONVERSATION_ID_PARAMETER, *values}
    missing = [name for name in needed if name not in filled]
    if missing and isinstance(candidate, type):
        raise parameters.fault(
            f"{callable_name} needs {', '.join(map(repr, missing))} as well."
        )
    return bound


_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
