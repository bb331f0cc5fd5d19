"""Registers the suite `lifecycle`, and the options for pace and number of users of memory stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_ltm.api import OwnSuite, hookimpl, lazy

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.api import LtmRun, Option


@hookimpl
def pytest_ltm_suites(register: Callable[[OwnSuite], None]) -> None:
    """Register the suite."""
    begin: Callable[[pytest.Config], None] = lazy(
        "pytest_ltm.lifecycle.lifecycle_session:begin_lifecycle"
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
    """Register the options for memory stores."""
    from pytest_ltm.lifecycle.options import PACE, USERS

    register(PACE)
    register(USERS)


@hookimpl
def pytest_ltm_start(config: pytest.Config) -> None:
    """Apply the pace and the shared users to this run's memory stores, if options ask for it."""
    from pytest_ltm.api import is_given
    from pytest_ltm.lifecycle.options import PACE, USERS

    if is_given(config, PACE) or is_given(config, USERS):
        from pytest_ltm.lifecycle.run_options import use_run_options

        use_run_options(config)


@hookimpl
def pytest_ltm_begin(run: LtmRun) -> None:
    """Report which agents were told the speaker, if a run has several users."""
    from pytest_ltm.api import is_given
    from pytest_ltm.lifecycle.options import USERS

    if is_given(run.config, USERS):
        from pytest_ltm.lifecycle.run_options import UsersReport

        run.config.pluginmanager.register(UsersReport(run), "ltm-users")
