"""A plugin for xdist's workers, which all collect everything: each begins every folder at another file.

A test file is compiled, its assertions rewritten, by whoever comes first; the others
read the result. In a fresh checkout that is most of the collecting, and workers that
walk side by side would all do all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest


class TurnedFolder(pytest.Dir):
    """A folder whose files are collected from another one than the first on."""

    share: float = 0.0
    """The share of the files that come last."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Yield what is in the folder: other folders at their places, files turned."""
        nodes = list(super().collect())
        files = [node for node in nodes if isinstance(node, pytest.File)]
        first = int(self.share * len(files))
        turned = iter([*files[first:], *files[:first]])
        for node in nodes:
            yield next(turned) if isinstance(node, pytest.File) else node


class TurnedCollection:
    """Turns the folders of one worker; in the end the tests stand as if none had been turned."""

    def __init__(self, number: int, count: int) -> None:
        self._share = number / count

    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> TurnedFolder:
        """Return the folder, which is no package: tests are in none."""
        folder = cast(TurnedFolder, TurnedFolder.from_parent(parent, path=path))
        folder.share = self._share
        return folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Have all workers' tests in the same order, by their files."""
        items.sort(key=lambda item: item.nodeid.partition("::")[0])


def turn_collection(config: pytest.Config) -> None:
    """Register the plugin in a worker of xdist."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        number = int(worker["workerid"].removeprefix("gw"))
        turned = TurnedCollection(number % worker["workercount"], worker["workercount"])
        config.pluginmanager.register(turned, "turned-collection")
