"""The data sets that come with pytest-ltm."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from pytest_ltm.datasets import Dataset


@hookimpl(tryfirst=True)
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Register LoCoMo, LongMemEval, logs of one's own, and the benchmarks that are read as histories."""
    from pytest_ltm.datasets import CONVERTED, LOCOMO, LOGS, LONGMEMEVAL

    for dataset in (LOCOMO, LONGMEMEVAL, LOGS, *CONVERTED):
        register(dataset)
