"""`list suites|scenarios|agents`: the bundled ones, one sentence each."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from pytest_ltm.agents.memory.parameters import PRESETS, preset_file_text
from pytest_ltm.api.features import agent_kinds, feature_hooks
from pytest_ltm.api.scenarios import Dataset, OwnSuite
from pytest_ltm.api.scenarios import suite as _suite
from pytest_ltm.api.storage import ConfigurationError, did_you_mean, pluralize


def add_arguments(parser: ArgumentParser) -> None:
    """Add the kind of list, and --expand."""
    parser.add_argument("what", metavar="|".join(LISTS))
    preset = (
        "with agents: print the file of a memory system's preset, to copy and change"
    )
    parser.add_argument("--expand", metavar="PRESET", help=preset)


def list_bundled(arguments: Namespace) -> int:
    """List what comes with pytest-ltm, with a sentence on each."""
    if arguments.what not in LISTS:
        hint = did_you_mean(arguments.what, LISTS)
        raise ConfigurationError(
            f"there is no list {arguments.what!r}.{hint} Choose from {', '.join(LISTS)}."
        )
    if arguments.expand is not None:
        if arguments.what != "agents":
            raise ConfigurationError(
                f"--expand prints a preset of agents: list agents --expand {arguments.expand}"
            )
        print(preset_file_text(arguments.expand), end="")
        return 0
    print("\n".join(LISTS[arguments.what]()))
    return 0


def list_suites() -> Iterator[str]:
    """Yield the lines of the built-in suites (title, then entries with parameters), and the data sets."""
    scenarios = _suite.scenario_names()
    for suite in (_suite.built_in(name, scenarios) for name in _suite.built_in_names()):
        yield f"{suite.title}  ({pluralize(len(suite.entries), 'scenario')})"
        for entry in suite.entries:
            facts = [f"{name}={value!r}" for name, value in entry.parameters.items()]
            facts += [pluralize(entry.examples, "example")] if entry.examples else []
            facts += [f"span {entry.span:,}"] if entry.span else []
            also = "" if entry.name == entry.scenario else f" ({entry.scenario})"
            yield f"  {entry.name}{also}: {', '.join(facts) or 'as its marker says'}"
    own_suites: list[OwnSuite] = []
    feature_hooks().pytest_ltm_suites.call_historic(
        kwargs={"register": own_suites.append}
    )
    for own_suite in own_suites:
        yield f"{own_suite.name}  ({own_suite.about})"
    datasets: list[Dataset] = []
    feature_hooks().pytest_ltm_datasets.call_historic(
        kwargs={"register": datasets.append}
    )
    for dataset in datasets:
        yield f"{dataset.name}  (a data set: --ltm-suite='{dataset.name}?data=FILE&NAME=VALUE')"
        if dataset.family:
            yield f"  the parameters of {dataset.family}"
            continue
        for option in dataset.options:
            default = f" (default {option.default})" if option.default else ""
            yield f"  {option.name}={option.metavar}: {option.help}{default}"
        yield "  questions=alone|together: ask each question after the history alone, or all in one conversation"


def list_scenarios() -> Iterator[str]:
    """Yield the lines of the built-in scenarios: name, skills, version and requirements."""
    for name in _suite.scenario_names():
        function: Any = getattr(_suite.import_scenario(name), f"test_{name}")
        values: dict[str, Any] = {}
        for mark in getattr(function, "pytestmark", ()):
            if mark.name == "ltm":
                # the nearest comes first, and takes precedence
                values = mark.kwargs | values
        facts: list[str] = []
        for key in ("skills", "version"):
            if values.get(key):
                facts.append(f"{key} {values[key]}")
        yield f"{name}  ({', '.join(facts)})" if facts else name
        yield "  " + (inspect.getdoc(function) or "").partition("\n")[0]


def list_agents() -> Iterator[str]:
    """Yield the lines of the bundled agents: a spec, and a sentence."""
    kinds = sorted(agent_kinds().values(), key=lambda kind: not kind.embedded)
    width = max(len(kind.example) for kind in kinds)
    yield from (f"{kind.example:{width}}  {kind.help}" for kind in kinds)
    yield f"Presets of memory systems: {', '.join(PRESETS)}."
    otherwise = "a dotted path, such as mypkg.bot:Bot, a YAML file, or a name from the ini value ltm_agents"
    yield f"Any other agent is {otherwise}."


def list_commands() -> Iterator[str]:
    """Yield a line per command, including those of installed packages."""
    from pytest_ltm.commands import all_commands

    commands = all_commands()
    width = max(map(len, commands))
    for name, command in commands.items():
        yield f"{name:{width}}  {command.summary}"


LISTS = {
    "suites": list_suites,
    "scenarios": list_scenarios,
    "agents": list_agents,
    "commands": list_commands,
}
