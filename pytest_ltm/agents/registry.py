"""Agents by spec: parses, labels and resolves the values of `--ltm-agent`.

A spec is an embedded name, an adapter's name, a YAML file that names either with
parameters, or a dotted path.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.sources import AgentSource, agent_source, dotted_source
from pytest_ltm.api.features import AgentKind, agent_kinds
from pytest_ltm.api.storage import (
    AgentError,
    ConfigurationError,
    DefinitionError,
    Field,
    LtmError,
    describe_error,
    did_you_mean,
    has_source,
    is_dotted,
    lazy,
    redact_secrets,
    show_value,
)
from pytest_ltm.providers import suggest_provider
from pytest_ltm.providers.specs import Spec

# Most specs are not files.
_agent_from_yaml = lazy("pytest_ltm.agents._agent_files:agent_from_yaml")
_NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*)", re.DOTALL)
_WHOLE = re.compile(r"(?:cmd|mcp|https?|replay):")
# A number after a comma belongs to the preceding query, as in `k=5,10`.
_NEXT_SPEC = re.compile(r",(?!\d+(?:[,&]|$))")
# Query parameters of `memory:` and `store:` specs that may have several values.
READINGS = ("k", "reading.k", "reader")
AGENT_FILE = re.compile(r".*\.ya?ml", re.DOTALL | re.IGNORECASE)
_NOT_DOTTED = re.compile(rf"{_WHOLE.pattern}|.*\.py(?::|$)")
# Specs whose arguments may contain commas, following another spec.
_HIDDEN_WHOLE = re.compile(
    r",\s*(?:[A-Za-z_][A-Za-z0-9_.-]*\s*=)?\s*((?:cmd|mcp|https?|replay):)"
)


def find_agent(
    spec: str,
    *,
    base: Path | None = None,
    named_agents: Iterable[str] = (),
    apart: Processes | None = None,
) -> AgentSource:
    """Return the source of the agents that a spec names.

    `base`: where to look for modules that are not on `sys.path` (default: the working
    directory). `named_agents`: names that the caller has already tried, for the
    message. `apart`: how agents named by dotted paths run in their own processes; None:
    they do not, whatever a file says. Raises AgentError with a cure.
    """
    try:
        return _look_up(spec, base, named_agents, apart)
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        # from paths, addresses and numbers out of range
        reason = getattr(error, "strerror", None) or describe_error(error)
        raise AgentError(
            f"agent {show_value(Spec.parse(spec, role='agent').head)} cannot be used: {reason}"
        ) from error


def _look_up(
    spec: str, base: Path | None, named_agents: Iterable[str], apart: Processes | None
) -> AgentSource:
    name, _, argument = spec.partition(":")
    # Registered names first: they mean the same everywhere, whatever modules exist.
    if (kind := agent_kinds().get(name)) is not None:
        try:
            return source_of_kind(kind, argument)
        except DefinitionError as error:
            raise AgentError(str(error)) from None
        except ConfigurationError as error:
            raise AgentError(f"agent {error}") from error
    if AGENT_FILE.fullmatch(spec):
        find = partial(find_agent, base=base, named_agents=named_agents)
        source: AgentSource = _agent_from_yaml(spec, base=base, find=find, apart=apart)
        return source
    names = sorted({*agent_kinds(), *named_agents})
    hint = did_you_mean(name, names)
    if names_code(spec, base):
        if apart is not None and apart.every:
            return apart.source(spec, base=base)
        return dotted_source(spec, base=base, hint=hint)
    suggestion = (
        suggest_provider(spec)
        or _address_hint(spec)
        or _file_hint(spec, base or Path.cwd())
        or _name_hint(spec, base or Path.cwd())
        or _call_hint(spec)
        or hint
    )
    otherwise = "any other is a dotted path such as mypkg.bot:Bot"
    raise AgentError(
        f"unknown agent {spec!r}."
        + (suggestion or f" Choose from {', '.join(names)}; {otherwise}.")
    )


def source_of_kind(
    kind: AgentKind, argument: str, parameters: Field | None = None
) -> AgentSource:
    """Return the source of agents of a kind; `parameters`: those of a file.

    Raises AgentError, ConfigurationError or DefinitionError for invalid arguments.
    """
    spec = f"{kind.name}:{argument}" if argument else kind.name
    arguments: list[Any] = [argument]
    if kind.parameters and parameters is None:
        arguments.append(Field({}, f"agent '{kind.name}:{argument}'"))
    elif kind.parameters:
        arguments.append(parameters)
    try:
        source = kind.make(*arguments)
        if not isinstance(source, AgentSource):
            source = agent_source(source, spec=spec)
    except LtmError:
        raise
    except Exception as error:  # from another package's code
        raise AgentError(
            f"agent {spec!r}: its kind raised {describe_error(error)}"
        ) from error
    return replace(source, kind=kind.name, embedded=kind.embedded)


def names_code(spec: str, base: Path | None) -> bool:
    """Return whether a spec without a registered name is a dotted path, or a module with one agent."""
    return (is_dotted(spec) and not _NOT_DOTTED.match(spec)) or is_module(
        spec, base, installed=not suggest_provider(spec)
    )


def split_specs(values: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return (label or None, spec) for each agent in the values of `--ltm-agent`.

    A value is split at its commas unless it is a `cmd:`, `mcp:`, `http:` or `replay:`
    spec; a number after a comma belongs to the preceding query. Raises
    ConfigurationError for an empty part, and for two agents with one label, whether
    given or derived by `label_for`.
    """
    specs: list[tuple[str | None, str]] = []
    for value in values:
        match = _NAMED.fullmatch(value)
        is_whole = _WHOLE.match((match[2] if match else value).strip())
        if not is_whole and (hidden := _HIDDEN_WHOLE.search(value)):
            raise ConfigurationError(
                f"{value!r}: a {hidden[1]!r} spec may hold commas, so it is never split off. Give it an --ltm-agent of "
                "its own"
            )
        for part in [value] if is_whole else _NEXT_SPEC.split(value):
            label = None
            spec = part
            if match := _NAMED.fullmatch(part):
                label = label_for(match[1])
                spec = match[2]
            if not spec.strip():
                raise ConfigurationError(
                    f"{value!r} names an empty agent. Write SPEC[,SPEC...], or NAME=SPEC"
                )
            specs.append((label, spec.strip()))
    spec_by_label: dict[str, str] = {}
    for label, spec in specs:
        effective = label or label_for(spec)
        if effective in spec_by_label:
            raise ConfigurationError(
                f"two agents have the label {effective!r}: {spec_by_label[effective]!r} and {spec!r}. "
                f"Give one a name of its own: NAME={spec}"
            )
        spec_by_label[effective] = spec
    return specs


def reading_variants(spec: str) -> list[tuple[str, str]]:
    """Return the label suffix and the spec of each agent in a spec with several values.

    >>> reading_variants("memory:rules?reading.k=5,10")
    [('k5', 'memory:rules?reading.k=5'), ('k10', 'memory:rules?reading.k=10')]
    """
    head, _, query = spec.partition("?")
    values: dict[str, list[str]] = {}
    # Not decoded: the variants are parsed again.
    for parameter in filter(None, query.split("&")):
        name, _, text = parameter.partition("=")
        parts = text.split(",") if name in READINGS and name != "reader" else [text]
        values.setdefault(name, []).extend(parts)
    several = []
    for name, texts in values.items():
        if name in READINGS and len(texts) > 1:
            several.append(name)
    if not several or head.partition(":")[0] not in {"memory", "store"}:
        return [("", spec)]
    fixed: list[str] = []
    choices = []
    for name, texts in values.items():
        if name in several:
            choices.append([(name, text) for text in texts])
        else:
            fixed += [f"{name}={text}" for text in texts]
    variants = []
    for choice in product(*choices):
        labels = []
        for name, text in choice:
            label = name.removeprefix("reading.").removeprefix("reader")
            labels.append(label + unquote_plus(text))
        suffix = ".".join(labels)
        parameters = "&".join([*fixed, *map("=".join, choice)])
        variants.append((suffix, f"{head}?{parameters}"))
    return variants


def label_for(spec: str) -> str:
    """Return the spec as a label: without secrets, and with `_` for each character not allowed."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", redact_secrets(spec))


def _address_hint(spec: str) -> str:
    """Return a hint on how to name a server that was given as `localhost:8000`."""
    if re.fullmatch(r"[\w.-]+:\d+(?:/\S*)?", spec) is None:
        return ""
    return f" A server is named with its scheme, as in 'http://{spec}'."


def _file_hint(spec: str, folder: Path) -> str:
    """Return a hint on how to name an agent that was given as a file."""
    path, _, name = spec.replace("\\", "/").partition(":")
    if not path.endswith(".py") and "/" not in path:
        return ""
    from pytest_ltm.agents.project import best_names

    file = folder / f"{path.removesuffix('.py')}.py"
    names = [name] if name else best_names(file)
    module = path.removesuffix(".py").strip("./").removeprefix("src/").replace("/", ".")
    return f" An agent in a file is named with dots, as in '{module}:{(names or ['Bot'])[0]}'."


def _call_hint(spec: str) -> str:
    """Return a hint on how to name an agent that was given as a call, such as `bot:Bot()`."""
    name, _, arguments = spec.partition("(")
    if not arguments or re.fullmatch(r"\w[\w.]*[:.]\w[\w.]*", name) is None:
        return ""
    return (
        f" An agent is named, not called: {name!r}. A YAML file can give it parameters."
    )


def _name_hint(spec: str, folder: Path) -> str:
    """Return a hint on how to name an agent that was given without its module."""
    if not spec.isidentifier():
        return ""
    from pytest_ltm.agents.project import Project

    candidates = Project.read(folder, defining=spec).candidates()
    specs = [candidate.spec for candidate in candidates if candidate.name == spec]
    return f" Did you mean {specs[0]!r}?" if specs else ""


def is_module(name: str, base: Path | None, *, installed: bool) -> bool:
    """Return whether a name is a module or package in `base` or a folder above it, or `installed`.

    `base` defaults to the working directory.
    """
    if not name.isidentifier():
        return False
    folder = base or Path.cwd()
    for place in (folder, folder / "src", *folder.parents):
        if has_source(place, name):
            return True
    try:
        found = importlib.util.find_spec(name) if installed else None
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin is not None
