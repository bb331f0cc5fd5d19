"""Agents by spec: what `--ltm-agent` may say, taken apart, labelled and looked up.

An embedded name, an adapter's name, a YAML file that names either with parameters, or a
dotted path.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl

from msgspec import structs

from pytest_ltm._core.agent_kinds import AgentKind, agent_kinds
from pytest_ltm._core.storage.dotted import DottedPath, is_dotted
from pytest_ltm._core.storage.errors import (
    AgentError,
    ConfigurationError,
    DefinitionError,
    LtmError,
    describe_error,
    did_you_mean,
)
from pytest_ltm._core.storage.schema import (
    Field,
    load_yaml,
    show_value,
)
from pytest_ltm._core.storage.secrets import (
    is_secret_name,
    redact_secrets,
    remember_secret,
)
from pytest_ltm.agents._adapt import (
    CONVERSATION_ID_PARAMETER,
    AgentSource,
    agent_source,
    dotted_source,
    is_keyless,
)
from pytest_ltm.agents._discovery import find_only_agent, is_module
from pytest_ltm.agents._processes import Processes
from pytest_ltm.providers import suggest_provider
from pytest_ltm.providers.specs import Spec

_NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*)", re.DOTALL)
_WHOLE = re.compile(r"(?:cmd|mcp|https?|replay):")
# A number behind a comma belongs to a query before it, as in `k=5,10`.
_NEXT_SPEC = re.compile(r",(?!\d+(?:[,&]|$))")
# What may have several values in the query of a `memory:` or `store:` spec.
READINGS = ("k", "reading.k", "reader")
_FILE = re.compile(r".*\.ya?ml", re.DOTALL | re.IGNORECASE)
_NOT_DOTTED = re.compile(rf"{_WHOLE.pattern}|.*\.py(?::|$)")
# Specs whose arguments may hold commas themselves, behind another spec.
_HIDDEN_WHOLE = re.compile(
    r",\s*(?:[A-Za-z_][A-Za-z0-9_.-]*\s*=)?\s*((?:cmd|mcp|https?|replay):)"
)


def find_agent(
    spec: str,
    *,
    base: Path | None = None,
    known: Iterable[str] = (),
    apart: Processes | None = None,
) -> AgentSource:
    """Return the source of the agents that an embedded name or a dotted path names.

    `base` is where modules are looked for that are not on `sys.path` (default: the
    working directory); `known` are names that the caller has tried already, for the
    message. `apart`: how those of dotted paths are had in processes of their own; None:
    they are not, whatever a file says. Raises AgentError with a cure.
    """
    try:
        return _look_up(spec, base, known, apart)
    except (
        OSError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:  # of paths, addresses, numbers beyond limits
        reason = getattr(error, "strerror", None) or describe_error(error)
        raise AgentError(
            f"agent {show_value(Spec.parse(spec, role='agent').head)} cannot be used: {reason}"
        ) from error


def _look_up(
    spec: str, base: Path | None, known: Iterable[str], apart: Processes | None
) -> AgentSource:
    name, _, argument = spec.partition(":")
    # Names of ours first: they mean the same wherever they are given, whatever modules
    # there are.
    if (kind := agent_kinds().get(name)) is not None:
        try:
            return source_of_kind(kind, argument)
        except DefinitionError as error:
            raise AgentError(str(error)) from None
        except ConfigurationError as error:
            raise AgentError(f"agent {error}") from error
    if _FILE.fullmatch(spec):
        find = partial(find_agent, base=base, known=known)
        return agent_from_yaml(spec, base=base, find=find, apart=apart)
    names = sorted({*agent_kinds(), *known})
    hint = did_you_mean(name, names)
    if _names_code(spec, base):
        if apart is not None and apart.every:
            return apart.source(spec, base=base)
        return dotted_source(spec, base=base, hint=hint)
    meant = suggest_provider(spec) or _address_hint(spec) or _file_hint(spec) or hint
    others = "any other is a dotted path such as mypkg.bot:Bot"
    raise AgentError(
        f"unknown agent {spec!r}.{meant} There are {', '.join(names)}; {others}."
    )


def source_of_kind(
    kind: AgentKind, argument: str, parameters: Field | None = None
) -> AgentSource:
    """Return the source of agents of a kind; `parameters`: those of a file.

    Raises AgentError, ConfigurationError or DefinitionError for what it cannot use.
    """
    spec = f"{kind.name}:{argument}" if argument else kind.name
    given = (
        [Field({}, f"agent '{kind.name}:{argument}'")]
        if parameters is None
        else [parameters]
    )
    try:
        made = kind.make(argument, *given * kind.parameters)
        source = (
            made if isinstance(made, AgentSource) else agent_source(made, spec=spec)
        )
    except LtmError:
        raise
    except Exception as error:  # of a package of somebody else
        raise AgentError(
            f"agent {spec!r}: its kind raised {describe_error(error)}"
        ) from error
    return replace(source, kind=kind.name, embedded=kind.embedded)


def _names_code(spec: str, base: Path | None) -> bool:
    """Return whether a spec that no name or adapter takes is a dotted path, or a module with one agent."""
    return (is_dotted(spec) and not _NOT_DOTTED.match(spec)) or is_module(
        spec, base, installed=not suggest_provider(spec)
    )


def split_specs(values: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return (label or None, spec) for each agent that the values of `--ltm-agent` name.

    A value is split at its commas unless it is a `cmd:`, `mcp:`, `http:` or `replay:`
    spec; a number behind a comma belongs to the query before it. Raises
    ConfigurationError for an empty part, and for two agents with one label, given or
    made by `label_for`.
    """
    specs: list[tuple[str | None, str]] = []
    for value in values:
        named = _NAMED.fullmatch(value)
        is_whole = _WHOLE.match((named[2] if named else value).strip())
        if not is_whole and (hidden := _HIDDEN_WHOLE.search(value)):
            raise ConfigurationError(
                f"{value!r}: a {hidden[1]!r} spec may hold commas, so it is never split off. Give it an --ltm-agent of "
                "its own"
            )
        for part in [value] if is_whole else _NEXT_SPEC.split(value):
            named = _NAMED.fullmatch(part)
            specs.append(
                (label_for(named[1]), named[2].strip())
                if named
                else (None, part.strip())
            )
            if not specs[-1][1]:
                raise ConfigurationError(
                    f"{value!r} names an empty agent. Write SPEC[,SPEC...], or NAME=SPEC"
                )
    seen: dict[str, str] = {}
    for label, spec in specs:
        effective = label or label_for(spec)
        if effective in seen:
            raise ConfigurationError(
                f"two agents have the label {effective!r}: {seen[effective]!r} and {spec!r}. "
                f"Give one a name of its own: NAME={spec}"
            )
        seen[effective] = spec
    return specs


def reading_variants(spec: str) -> list[tuple[str, str]]:
    """Return a suffix for the label and the spec of each agent that a spec with several values names.

    >>> reading_variants("memory:rules?reading.k=5,10")
    [('k5', 'memory:rules?reading.k=5'), ('k10', 'memory:rules?reading.k=10')]
    """
    head, _, query = spec.partition("?")
    values: dict[str, list[str]] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        parts = text.split(",") if name in READINGS and name != "reader" else [text]
        values.setdefault(name, []).extend(parts)
    several = [
        name for name, texts in values.items() if name in READINGS and len(texts) > 1
    ]
    if not several or head.partition(":")[0] not in {"memory", "store"}:
        return [("", spec)]
    fixed = [
        f"{name}={text}"
        for name, texts in values.items()
        if name not in several
        for text in texts
    ]
    return [
        (
            ".".join(
                f"{name.removeprefix('reading.').removeprefix('reader')}{text}"
                for name, text in chosen
            ),
            f"{head}?{'&'.join([*fixed, *(f'{name}={text}' for name, text in chosen)])}",
        )
        for chosen in product(
            *([(name, text) for text in values[name]] for name in several)
        )
    ]


def label_for(spec: str) -> str:
    """Return the spec without secrets, and with `_` for each character that a label cannot hold."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", redact_secrets(spec))


def _address_hint(spec: str) -> str:
    """Say how to name what somebody named as `localhost:8000`."""
    if re.fullmatch(r"[\w.-]+:\d+(?:/\S*)?", spec) is None:
        return ""
    return f" A server is named with its scheme, as in 'http://{spec}'."


def _file_hint(spec: str) -> str:
    """Say how to name what somebody named as a file."""
    path, _, name = spec.replace("\\", "/").partition(":")
    if not path.endswith(".py") and "/" not in path:
        return ""
    module = path.removesuffix(".py").strip("./").replace("/", ".")
    return f" An agent in a file is named with dots, as in '{module}:{name or 'Bot'}'."


# --- The makers of kinds that stand before another agent, which `find_agent` knows.


def make_timed_agent(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `ts:SPEC`."""
    from pytest_ltm.agents._chat_agent import make_timed

    return make_timed(argument, parameters, find_agent)


def make_padded_agent(argument: str) -> AgentSource:
    """Return the source of `padded:SPEC`."""
    from pytest_ltm.agents._wrapping import make_padded

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
    from pytest_ltm.agents._controls import make_length_bias

    return make_length_bias(argument, find_agent)


# --- Agents from a YAML file: any spec, with parameters, and with environment variables
# that are named only.

_KEYS = ("agent", "parameters", "env", "process")


def agent_from_yaml(
    spec: str,
    *,
    base: Path | None,
    find: Callable[[str], AgentSource],
    apart: Processes | None = None,
) -> AgentSource:
    """Return the source of the agents that a YAML file describes.

    The file is looked for in the working directory and in `base`. `find` knows specs
    without parameters. Raises AgentError that names file and line.
    """
    try:
        bases = [] if base is None else [base]
        places = [Path(spec).expanduser(), *(folder / spec for folder in bases)]
        result = next((place for place in places if place.is_file()), None)
        if result is None:
            folders = " or ".join(
                repr(str(folder)) for folder in dict.fromkeys([Path.cwd(), *bases])
            )
            raise AgentError(f"agent {spec!r}: there is no such file in {folders}")
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
    parameters = (
        fields["parameters"]
        if "parameters" in fields
        else structs.replace(file, value={}, path="parameters")
    )
    parameters.mapping()
    names, secret = _parse_environment(fields.get("env"))
    settings = {"agent": agent, "parameters": parameters.json(), "env": names}
    name, _, argument = agent.partition(":")
    kind = agent_kinds().get(name)
    has_path = kind is None and not _FILE.fullmatch(agent) and _names_code(agent, base)
    own = "process" in fields and fields["process"].boolean()
    if own and not has_path:
        raise fields["process"].fault(
            f"{agent!r} is not a dotted path: only what one names can run in a process of its own."
        )
    if has_path and apart is not None and (own or apart.every):
        return apart.source(spec, base=base, settings=settings)
    if kind is not None and kind.parameters:
        field = fields.get("env")
        if field is not None and secret:
            raise field.fault(
                f"for {name!r} agents, expected a list of names that must be set, such as [MY_KEY]."
            )
        source = source_of_kind(kind, argument, parameters)
    elif Path(agent).suffix.lower() in {".yml", ".yaml"}:
        raise fields["agent"].fault(
            f"{agent!r} is a file again. Write the spec of an agent."
        )
    elif has_path:
        given = DottedPath(
            agent, what="agent", error=AgentError, may_be_module=True
        ).resolve(base)
        if isinstance(given, ModuleType):
            given, _ = find_only_agent(given, agent)
        source = agent_source(_bind_parameters(given, parameters, secret), spec=spec)
    else:
        if parameters.value or secret:
            raise parameters.fault(f"{agent!r} takes no parameters.")
        source = find(agent)
    # People gave the file: reports and errors show that.
    source.spec, source.settings = spec, settings
    return source


def _parse_environment(
    field: Field | None,
) -> tuple[list[str] | dict[str, str], dict[str, str]]:
    """Return the names of the variables as written, and the values of those that are given as parameters."""
    if field is None:
        return [], {}
    if isinstance(field.value, dict):
        named = {
            key: child.text("the name of a variable")
            for key, child in field.mapping().items()
        }
        secret = {key: _variable_name(name, field) for key, name in named.items()}
        # So that they are redacted wherever they turn up.
        for key in filter(is_secret_name, named):
            remember_secret(named[key], secret[key])
        return named, secret
    names = [
        item.text("the name of a variable")
        for item in field.items("names of environment variables")
    ]
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
    given: object, parameters: Field, secret: Mapping[str, str]
) -> object:
    """Return a class, factory or function with its parameters; an object has none.

    DefinitionError says which parameter is unknown or missing, where Python can tell.
    """
    values: dict[str, Any] = {**parameters.json(), **secret}
    if not values:
        return given
    if not callable(given) or (hasattr(given, "reply") and not isinstance(given, type)):
        kind = type(given).__name__
        raise parameters.fault(
            f"a {kind} object is made already, so it takes none. Name its class or a factory."
        )
    bound = partial(given, **values)
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # built in C: calling it will tell
        return bound
    named = {
        name: one for name, one in signature.parameters.items() if one.kind in _BY_NAME
    }
    takes_any = any(
        parameter.kind is parameter.VAR_KEYWORD
        for parameter in signature.parameters.values()
    )
    who = getattr(given, "__name__", type(given).__name__)
    if unknown := [name for name in values if name not in named and not takes_any]:
        there = f"It takes {', '.join(named)}." if named else "It takes none."
        hint, place = did_you_mean(unknown[0], named), parameters
        if unknown[0] in parameters.value:
            place = parameters.child(unknown[0])
        raise place.fault(f"{who} has no parameter {unknown[0]!r}.{hint} {there}")
    needed = {name for name, one in named.items() if one.default is one.empty}
    missing = [
        name for name in named if name in needed - {CONVERSATION_ID_PARAMETER, *values}
    ]
    if missing and isinstance(given, type):
        raise parameters.fault(f"{who} needs {', '.join(map(repr, missing))} as well.")
    return bound


_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
