"""A plugin for xdist's workers: each begins every folder at a different file.

All workers collect everything. The first worker to reach a test file compiles it and
rewrites its assertions; the others read the cached result. In a fresh checkout this is
most of the collection time, and workers in lockstep would all repeat it.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


class TurnedCollection:
    """Rotates the files of each folder in one worker; the final order of tests is the usual one."""

    def __init__(self, number: int, count: int) -> None:
        self._share = number / count

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Rotate the files of a folder; subfolders keep their places."""
        report = yield
        if isinstance(collector, pytest.Directory) and report.passed:
            files = [node for node in report.result if isinstance(node, pytest.File)]
            first = int(self._share * len(files))
            turned = iter([*files[first:], *files[:first]])
            report.result = [
                next(turned) if isinstance(node, pytest.File) else node
                for node in report.result
            ]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests by file, so that all workers have the same order."""
        items.sort(key=lambda item: item.nodeid.partition("::")[0])


def turn_collection(config: pytest.Config) -> None:
    """Register the plugin in an xdist worker."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        count = worker["workercount"]
        number = int(worker["workerid"].removeprefix("gw"))
        turned = TurnedCollection(number % count, count)
        config.pluginmanager.register(turned, "turned-collection")
