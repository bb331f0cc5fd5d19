"""`list suites|scenarios|agents`: what comes with pytest-ltm, one sentence each."""

from __future__ import annotations

import argparse
import importlib
import inspect
from typing import TYPE_CHECKING, Any

from pytest_ltm import _suite
from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm.agents._specs import describe_adapters, describe_embedded
from pytest_ltm.datasets._suites import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def main(argv: Sequence[str]) -> int:
    """Print one list; ConfigurationError for a list that there is not."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm list", description="List what comes with pytest-ltm, with a sentence about each."
    )
    parser.add_argument("what", metavar="suites|scenarios|agents")
    what = parser.parse_args(list(argv)).what
    if what not in LISTS:
        raise ConfigurationError(f"there is no list {what!r}.{did_you_mean(what, LISTS)} There are {', '.join(LISTS)}.")
    print("\n".join(LISTS[what]()))
    return 0


def suites() -> list[str]:
    """Return the lines about the built-in suites: name, then entries with their parameters; and the data sets."""
    known = _suite.scenario_names()
    found = [_suite.built_in(name, known) for name in _suite.built_in_names()]
    files = [f"{name}  (a data set: --ltm-data=FILE, or one made by {name}-generate)" for name in NAMES]
    return [*(line for suite in found for line in _suite_lines(suite)), *files]


def scenarios() -> list[str]:
    """Return the lines about the built-in scenarios: name, skills, version and what it asks of an agent."""
    return [line for name in _suite.scenario_names() for line in _scenario_lines(name)]


def agents() -> list[str]:
    """Return the lines about the agents with names of ours: a spec, and a sentence."""
    found = [*describe_embedded(), *describe_adapters()]
    width = max(len(spec) for spec, _ in found)
    rest = (
        "Any other agent is a dotted path, such as mypkg.bot:Bot, a YAML file, or a name from the ini value ltm_agents."
    )
    return [*(f"{spec:{width}}  {sentence}" for spec, sentence in found), rest]


LISTS: dict[str, Callable[[], list[str]]] = {"suites": suites, "scenarios": scenarios, "agents": agents}


def _suite_lines(suite: _suite.Suite) -> list[str]:
    lines = [f"{suite.name}  ({_count(len(suite.entries), 'scenario')})"]
    for entry in suite.entries:
        facts = [f"{name}={value!r}" for name, value in entry.parameters.items()]
        facts += [_count(entry.examples, "example")] if entry.examples else []
        facts += [f"span {entry.span:,}"] if entry.span else []
        also = "" if entry.name == entry.scenario else f" ({entry.scenario})"
        lines.append(f"  {entry.name}{also}: {', '.join(facts) or 'as its marker says'}")
    return lines


def _scenario_lines(name: str) -> list[str]:
    function = getattr(importlib.import_module(f"pytest_ltm.scenarios.{name}"), f"test_{name}")
    marks = _marks(function)
    facts = [f"skills {marks['skills']}"] if marks.get("skills") else []
    facts += [f"version {marks['version']}"] if marks.get("version") else []
    return [f"{name}  ({', '.join(facts)})" if facts else name, f"  {_first_line(function)}"]


def _marks(function: Any) -> Mapping[str, Any]:
    """Return the keywords of a function's `ltm` markers; the nearest wins."""
    marks = [mark.kwargs for mark in getattr(function, "pytestmark", ()) if mark.name == "ltm"]
    return {name: value for keywords in reversed(marks) for name, value in keywords.items()}


def _first_line(function: Any) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
