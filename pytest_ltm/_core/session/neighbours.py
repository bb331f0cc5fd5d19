"""Neighbours: makes conversations work with pdb, pytest-timeout and failure reports."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import pytest

from pytest_ltm._core.calls.time_limits import lift
from pytest_ltm._core.internals.item_context import CapturedStreams
from pytest_ltm._core.session.items import LTM_ITEM
from pytest_ltm._core.session.state import LANE


class Neighbours:
    """The hooks of a run for compatibility with other plugins."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the conversation below the traceback of a failed assertion."""
        report = yield
        body = item.stash.get(LANE, None)
        if (
            body is not None
            and report.failed
            and body.assertion is not None
            and report.when == "call"
        ):
            cast("Any", report.longrepr).addsection("conversation", body.failure_text)
        return report

    def pytest_enter_pdb(self) -> None:
        """Suspend capturing and time limits while pdb has the terminal."""
        CapturedStreams.in_debugger = True
        lift()

    def pytest_leave_pdb(self) -> None:
        """Resume capturing."""
        CapturedStreams.in_debugger = False

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(
        self, item: pytest.Item, settings: object
    ) -> bool | None:
        """Disable pytest-timeout's timer: it would charge one item for all the others."""
        if item.stash.get(LTM_ITEM, None) is not None:
            return True
        return None
