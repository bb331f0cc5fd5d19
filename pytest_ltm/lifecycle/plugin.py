"""The suite `lifecycle`, and the real time and the number of users that memory stores are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ltm.api import Option, OwnSuite, hookimpl, lazy

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


@hookimpl
def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register what memory stores are given."""
    register(
        Option(
            "--ltm-pace",
            "settle|poll|SECONDS",
            "real time for a memory store between the last message and a search: what its settle() takes,"
            " until its newest text is found, or a number of seconds",
            "settle",
            parse=lazy("pytest_ltm.agents.memory.pace:parse_pace"),
        )
    )
    register(
        Option(
            "--ltm-users",
            "N",
            "number of users of one memory store, each in a conversation of their own (default 1)",
            "1",
            parse=lazy("pytest_ltm.agents.memory.backends:parse_users"),
        )
    )


@hookimpl
def pytest_ltm_start(config: pytest.Config) -> None:
    """Have memory stores of this run keep its pace, and share what they keep, if its options say so."""
    from pytest_ltm.lifecycle.run_options import use_run_options

    use_run_options(config)
