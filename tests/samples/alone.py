"""A pytest plugin that loads pytest-ltm, xdist and the neighbours that are named, and no other installed plugin.

What is installed beside them differs from machine to machine, and costs each process
most of its start. (PYTEST_DONT_REWRITE: runs within this process find the module
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
    """Return the environment of a process, and of its workers, in which only these neighbours are installed."""
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
    """Load them where pytest would have loaded all that are installed."""
    sys.modules.update(imported_modules())
    wanted = {*OURS, *os.environ[WITH].split()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "distributions", find_distributions)
        for point in metadata.entry_points(group="pytest11"):
            # one that was named by its module is there already
            if point.name in wanted and not pluginmanager.has_plugin(point.module):
                pluginmanager.load_setuptools_entrypoints("pytest11", name=point.name)


class ReadDistribution:
    """An installed distribution whose files are read once; its own attributes parse them each time."""

    def __init__(self, distribution: metadata.Distribution) -> None:
        self._distribution = distribution

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._distribution, name)
        setattr(self, name, value)
        return value


def find_distributions(**wanted: Any) -> list[Any]:
    """Return the distributions that are installed, as `importlib.metadata.distributions`, read once in a process."""
    if wanted:
        return list(metadata.Distribution.discover(**wanted))
    return read_distributions(tuple(sys.path))


@cache
def read_distributions(path: tuple[str, ...]) -> list[Any]:
    """Return the distributions on a path of modules."""
    found = metadata.Distribution.discover(path=list(path))
    return [ReadDistribution(distribution) for distribution in found]


def pytest_unconfigure() -> None:
    """Keep what this run has imported of the package for the next run in this process."""
    imported_modules().update(
        (name, module)
        for name, module in sys.modules.items()
        if name.startswith("pytest_ltm.")
    )


@cache
def imported_modules() -> dict[str, ModuleType]:
    """Return the modules of the package that runs in this process have imported, by name.

    pytester forgets them after each run. Importing them again takes a fifth of a small
    run, and what refers to their classes keeps every copy.
    """
    return {}
