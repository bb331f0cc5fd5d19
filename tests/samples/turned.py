"""A plugin for xdist's workers, which all collect everything: each begins every folder at another file.

A test file is compiled, its assertions rewritten, by whoever comes first; the others
read the result. In a fresh checkout that is most of the collecting, and workers that
walk side by side would all do all of it.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


class TurnedCollection:
    """Turns the folders of one worker; in the end the tests stand as if none had been turned."""

    def __init__(self, number: int, count: int) -> None:
        self._share = number / count

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Turn the files of a folder; other folders keep their places."""
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
        """Have all workers' tests in the same order, by their files."""
        items.sort(key=lambda item: item.nodeid.partition("::")[0])


def turn_collection(config: pytest.Config) -> None:
    """Register the plugin in a worker of xdist."""
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        count = worker["workercount"]
        number = int(worker["workerid"].removeprefix("gw"))
        turned = TurnedCollection(number % count, count)
        config.pluginmanager.register(turned, "turned-collection")
