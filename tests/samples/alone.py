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
from types import ModuleType, SimpleNamespace
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
    for name, module, distribution in installed_plugins():
        if name in wanted and not pluginmanager.has_plugin(module):  # by -p MODULE
            show_once(distribution)
            pluginmanager.load_setuptools_entrypoints("pytest11", name=name)


@cache
def installed_plugins() -> list[tuple[str, str, Any]]:
    """Return name, module and distribution of each installed plugin of pytest, in order; read once in a process."""
    points = metadata.entry_points(group="pytest11")
    return [
        (point.name, point.module, read_distribution(point))
        for point in points
        if point.dist
    ]


def read_distribution(point: metadata.EntryPoint) -> Any:
    """Return what pluggy and pytest ask of a distribution; its own attributes parse its metadata each time."""
    distribution = point.dist
    assert distribution is not None
    return SimpleNamespace(
        metadata=distribution.metadata,
        version=distribution.version,
        entry_points=distribution.entry_points,
    )


def show_once(distribution: Any) -> None:
    """Have this be all that is installed for who asks next: pluggy would read it all again for each plugin."""
    patch = pytest.MonkeyPatch()

    def distributions() -> list[Any]:
        patch.undo()
        return [distribution]

    patch.setattr(metadata, "distributions", distributions)


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
