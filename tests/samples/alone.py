"""A pytest plugin that loads only pytest-ltm, xdist and the named neighbours of all installed plugins.

Other installed plugins differ between machines and take up most of the start of each
process. (PYTEST_DONT_REWRITE: runs within this process find the module already
imported, and would warn.)
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

WITH = "ALONE_WITH"
OURS = ("ltm", "xdist", "xdist.looponfail")


def alone(*neighbours: str) -> dict[str, str]:
    """Return the environment in which a process and its workers see only these neighbours as installed."""
    path = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": Path(__file__).stem,
        "PYTHONPATH": os.pathsep.join(path),
        WITH: " ".join(neighbours),
    }


def pytest_addoption(
    parser: pytest.Parser,  # noqa: ARG001
    pluginmanager: pytest.PytestPluginManager,
) -> None:
    """Load the chosen plugins at the point where pytest would have autoloaded all installed ones."""
    sys.modules.update(imported_modules())
    wanted = {*OURS, *os.environ[WITH].split()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "distributions", find_distributions)
        for point in metadata.entry_points(group="pytest11"):
            # a plugin named by its module is already registered
            if point.name in wanted and not pluginmanager.has_plugin(point.module):
                pluginmanager.load_setuptools_entrypoints("pytest11", name=point.name)


class ReadDistribution:
    """An installed distribution that caches its parsed files; the base class parses them at each access."""

    def __init__(self, distribution: metadata.Distribution) -> None:
        self._distribution = distribution

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._distribution, name)
        setattr(self, name, value)
        return value


def find_distributions(**wanted: Any) -> list[Any]:
    """Return the installed distributions like `importlib.metadata.distributions`, read once per process."""
    if wanted:
        return list(metadata.Distribution.discover(**wanted))
    return read_distributions(tuple(sys.path))


@cache
def read_distributions(path: tuple[str, ...]) -> list[Any]:
    """Return the distributions found on a module search path."""
    found = metadata.Distribution.discover(path=list(path))
    return [ReadDistribution(distribution) for distribution in found]


def pytest_unconfigure() -> None:
    """Keep the package's modules that this run imported for the next run in this process."""
    imported_modules().update(
        (name, module)
        for name, module in sys.modules.items()
        if name.startswith("pytest_ltm.")
    )


@cache
def imported_modules() -> dict[str, ModuleType]:
    """Return the package's modules imported by earlier runs in this process, by name.

    pytester drops them after each run. Importing them again takes a fifth of a small
    run, and every reference to one of their classes keeps the old copies alive.
    """
    return {}
