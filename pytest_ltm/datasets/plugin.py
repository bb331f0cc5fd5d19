"""Registers data sets, suites and folders of definitions from the user's own files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from pytest_ltm.api import Dataset, Suite
    from pytest_ltm.datasets.published import DefinitionsFolder


@hookimpl(tryfirst=True)
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Register LoCoMo, LongMemEval, the user's own logs, and the benchmarks that are read as histories."""
    from pytest_ltm.datasets import CONVERTED, LOCOMO, LOGS, LONGMEMEVAL

    for dataset in (LOCOMO, LONGMEMEVAL, LOGS, *CONVERTED):
        register(dataset)


@hookimpl(trylast=True)
def pytest_ltm_read_definitions(folder: Path) -> DefinitionsFolder:
    """Return a folder of definition files, ours or published ones."""
    from pytest_ltm.datasets.published import DefinitionsFolder

    return DefinitionsFolder(folder)


@hookimpl(trylast=True)
def pytest_ltm_read_suite(path: Path, scenarios: Collection[str] | None) -> Suite:
    """Load the suite in a file, ours or a published configuration; checks the parameters in a user's file."""
    from pytest_ltm.api.scenarios import scenarios_folder
    from pytest_ltm.datasets.suite_file import load_built_in

    if path.parent == scenarios_folder():
        return load_built_in(path, scenarios)
    from pytest_ltm.datasets.published import load_any_suite
    from pytest_ltm.datasets.suite_parameters import check_parameters

    return check_parameters(load_any_suite(path, scenarios))
