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

# The ending of a suite file's name.
SUFFIX = ".ltm-suite.yml"
# The word for no suite, which is not allowed as a suite's name.
NONE = "none"
# The settings of a whole run that a suite file may give, each in a field of this name.
SETTINGS = ("span", "seed", "filler", "opening")


class SuiteEntry(Struct, frozen=True, kw_only=True):
    """One scenario of a suite."""

    scenario: str
    """The scenario that is played."""
    name: str
    """Its name in results: the scenario's own unless the suite gives another."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters from which its definitions are generated; JSON values."""
    examples: int | None = None
    """The number of examples; None: not given."""
    span: int | None = None
    """Its own memory span, in tokens; None: the conversation's."""
    least_span: int | None = None
    """The smallest memory span of conversations in which it is played, in tokens; None: any."""
    threshold: float | None = None
    """The lowest score that passes; None: the scenario's own."""
    floor: float | None = None
    """The score that can be reached without memory; None: the scenario's own."""
    pass_k: int | None = None
    """The number of trials of each example that must pass; None: not given."""
    reset: str | None = None
    """The message sent after each example, "" for none; None: the scenario's own."""
    incompatible: tuple[str, ...] = ()
    """Names of entries that it must not overlap with, declared on either side, sorted."""


class Suite(Struct, frozen=True, kw_only=True):
    """A named set of scenarios."""

    name: str
    path: str
    """The file."""
    entries: tuple[SuiteEntry, ...]
    version: int | None = None
    """The version of the set of scenarios and their parameters; None: not given."""
    spans: tuple[int | None, ...] = ()
    """The memory spans of a run, in tokens, None for isolated examples; empty: not given."""
    seed: int | None = None
    """The seed of a run; None: not given."""
    filler: str | None = None
    """The spec of the filler, with files relative to this one; None: not given."""
    opening: str | None = None
    """The message that begins each conversation, "" for none; None: not given."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The given ones of `SETTINGS`, with their lines."""
    unhonoured: tuple[str, ...] = ()
    """A sentence for each field of the file without effect."""

    def place(self, setting: str) -> str:
        """Return the location of a setting, as errors show it."""
        return f"{self.path}:{self.lines[setting]}: {setting}"

    @property
    def title(self) -> str:
        """The name with the version, as reports show it."""
        if self.version is None:
            return self.name
        return f"{self.name} {self.version}"

    def entry(self, name: str) -> SuiteEntry | None:
        """Return the entry of this name, if there is one."""
        return next((entry for entry in self.entries if entry.name == name), None)


def built_in(name: str, known: Collection[str] | None = None) -> Suite:
    """Return a suite of pytest-ltm; ConfigurationError if there is none of this name."""
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
    """Return the names of pytest-ltm's suites, sorted."""
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
    # From the import system: in a checkout they are next to the package, in a wheel
    # inside it.
    spec = importlib.util.find_spec("pytest_ltm.scenarios")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "the built-in scenarios are not installed. Install pytest-ltm again."
        )
    return Path(next(iter(spec.submodule_search_locations)))
