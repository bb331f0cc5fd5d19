"""The suite `lifecycle`: what becomes of a fact in a memory store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ltm.api import OwnSuite, hookimpl, lazy

if TYPE_CHECKING:
    import pytest


@hookimpl
def pytest_ltm_suites(register: Callable[[OwnSuite], None]) -> None:
    """Register the suite."""
    begin: Callable[[pytest.Config], None] = lazy(
        "pytest_ltm.lifecycle.items:begin_lifecycle"
    )
    register(
        OwnSuite(
            "lifecycle",
            "what becomes of a fact in a memory store: found, updated, deleted, kept apart",
            begin,
        )
    )
