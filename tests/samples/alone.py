"""A pytest plugin that loads pytest-ltm, xdist and the neighbours that are named, and no other installed plugin.

What is installed beside them differs from machine to machine, and costs each process
most of its start. (PYTEST_DONT_REWRITE: runs within this process find the module
imported, and would warn.)
"""

from __future__ import annotations

import os
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
    for entry in metadata.entry_points(group="pytest11"):
        if entry.name in {*OURS, *os.environ[WITH].split()}:
            pluginmanager.load_setuptools_entrypoints("pytest11", name=entry.name)
