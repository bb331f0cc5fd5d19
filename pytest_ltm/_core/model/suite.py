"""Suites: named sets of scenarios with their parameters."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct, field

from pytest_ltm._core.features import current_hooks
from pytest_ltm._core.storage.errors import ConfigurationError, did_you_mean

# How the name of a suite file ends.
SUFFIX = ".ltm-suite.yml"
# The word that stands for no suite; no suite can have this name.
NONE = "none"
# What a suite file may say of the whole run, each in a field of this name.
SETTINGS = ("span", "seed", "filler", "opening")


class SuiteEntry(Struct, frozen=True, kw_only=True):
    """One scenario of a suite."""

    scenario: str
    """The scenario that is played."""
    name: str
    """The name that it has in results: the scenario's own unless the suite gives another."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What its definitions are generated from; JSON values."""
    examples: int | None = None
    """How many examples; None: not given."""
    span: int | None = None
    """The memory span that is its own, in tokens; None: the conversation's."""
    least_span: int | None = None
    """The smallest memory span of a conversation that it is played in, in tokens; None: any."""
    threshold: float | None = None
    """The least score that passes; None: the scenario's own."""
    floor: float | None = None
    """What can be earned without memory; None: the scenario's own."""
    pass_k: int | None = None
    """The number of trials of each example that must pass; None: not given."""
    reset: str | None = None
    """The message sent after each example, "" for none; None: the scenario's own."""
    incompatible: tuple[str, ...] = ()
    """Names of entries that it must not overlap with, from both sides, sorted."""


class Suite(Struct, frozen=True, kw_only=True):
    """A named set of scenarios."""

    name: str
    path: str
    """The file."""
    entries: tuple[SuiteEntry, ...]
    version: int | None = None
    """Of the set of scenarios and their parameters; None: not given."""
    spans: tuple[int | None, ...] = ()
    """The memory spans of a run, in tokens, None for isolated examples; empty: not given."""
    seed: int | None = None
    """Where all chance of a run comes from; None: not given."""
    filler: str | None = None
    """The spec of the filler, a file relative to this one; None: not given."""
    opening: str | None = None
    """The message that begins each conversation, "" for none; None: not given."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Which of `SETTINGS` are given, and in which line."""
    unhonoured: tuple[str, ...] = ()
    """A sentence for each field of the file that changes nothing."""

    def place(self, setting: str) -> str:
        """Return where one of the settings stands, as errors show it."""
        return f"{self.path}:{self.lines[setting]}: {setting}"

    @property
    def title(self) -> str:
        """The name with the version, as reports show it."""
        return self.name if self.version is None else f"{self.name} {self.version}"

    def entry(self, name: str) -> SuiteEntry | None:
        """Return the entry of this name, if there is one."""
        return next((entry for entry in self.entries if entry.name == name), None)


def built_in(name: str, known: Collection[str] | None = None) -> Suite:
    """Return a suite that comes with pytest-ltm; ConfigurationError if there is none of this name."""
    path = scenarios_folder() / f"{name}{SUFFIX}"
    names = built_in_names()
    if name not in names:
        raise ConfigurationError(
            f"no suite {name!r}: built in are {', '.join(names)}.{did_you_mean(name, names)} "
            f"A suite of your own is named by its file, *{SUFFIX}."
        )
    hooks = current_hooks()
    suite: Suite | None = hooks.pytest_ltm_read_suite(path=path, scenarios=known)
    if suite is None:
        raise ConfigurationError(
            f"the suite {name!r} cannot be read: the feature that reads suites is left "
            "out. Leave out -p no:ltm-feature-datasets."
        )
    return suite


def built_in_names() -> tuple[str, ...]:
    """Return the names of the suites that come with pytest-ltm, sorted."""
    return tuple(
        sorted(
            path.name.removesuffix(SUFFIX)
            for path in scenarios_folder().glob(f"*{SUFFIX}")
        )
    )


def scenario_names() -> tuple[str, ...]:
    """Return the names of the built-in scenarios, sorted: their modules' names."""
    return tuple(
        sorted(
            path.stem
            for path in scenarios_folder().glob("*.py")
            if not path.stem.startswith("_")
        )
    )


def import_scenario(name: str) -> ModuleType:
    """Return the module of a built-in scenario."""
    return importlib.import_module(f"pytest_ltm.scenarios.{name}")


def scenarios_folder() -> Path:
    """Return the folder of the built-in scenarios, however pytest-ltm is installed."""
    # Asked of the import system: in a checkout they lie beside the package, and in a
    # wheel within it.
    spec = importlib.util.find_spec("pytest_ltm.scenarios")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "the built-in scenarios are not installed. Install pytest-ltm again."
        )
    return Path(next(iter(spec.submodule_search_locations)))
