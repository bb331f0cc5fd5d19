"""Data sets, suites and folders of definitions, from files of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl
from pytest_ltm.datasets import CONVERTED, LOCOMO, LOGS, LONGMEMEVAL

if TYPE_CHECKING:
    from pytest_ltm.api import Suite
    from pytest_ltm.datasets import Dataset
    from pytest_ltm.datasets._published import DefinitionsFolder


@hookimpl
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Bring the data sets that come with the plugin."""
    for dataset in (LOCOMO, LONGMEMEVAL, LOGS, *CONVERTED):
        register(dataset)


@hookimpl(trylast=True)
def pytest_ltm_read_definitions(folder: Path) -> DefinitionsFolder:
    """Return a folder of definition files, ours or published ones."""
    from pytest_ltm.datasets._published import DefinitionsFolder

    return DefinitionsFolder(folder)


@hookimpl(trylast=True)
def pytest_ltm_read_suite(path: Path, scenarios: Collection[str]) -> Suite:
    """Return the suite in a file, ours or a published configuration."""
    from pytest_ltm.datasets._published import load_any_suite

    return load_any_suite(path, scenarios)
