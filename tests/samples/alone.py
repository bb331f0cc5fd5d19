"""A pytest plugin that loads pytest-ltm, xdist and the neighbours that are named, and no other installed plugin.

What is installed beside them differs from machine to machine, and costs each process
most of its start. (PYTEST_DONT_REWRITE: runs within this process find the module
imported, and would warn.)
"""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from pathlib import Path

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
    wanted = {*OURS, *os.environ[WITH].split()}
    for name, distribution in installed_plugins():
        if name in wanted:
            show_once(distribution)
            pluginmanager.load_setuptools_entrypoints("pytest11", name=name)


@cache
def installed_plugins() -> list[tuple[str, metadata.Distribution]]:
    """Return each installed plugin of pytest with what brings it, in order; read once in a process."""
    points = metadata.entry_points(group="pytest11")
    return [(point.name, point.dist) for point in points if point.dist]


def show_once(distribution: metadata.Distribution) -> None:
    """Have this be all that is installed for who asks next: pluggy would read it all again for each plugin."""
    patch = pytest.MonkeyPatch()

    def distributions() -> list[metadata.Distribution]:
        patch.undo()
        return [distribution]

    patch.setattr(metadata, "distributions", distributions)
