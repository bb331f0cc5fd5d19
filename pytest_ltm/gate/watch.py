"""GateWatch: notices whether a run has a gate, and loads it then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.api.session import LTM_ITEM, LtmRun, is_given
from pytest_ltm.gate.options import OPTIONS

if TYPE_CHECKING:
    from pytest_ltm.api.journal import RunResult, Section
    from pytest_ltm.gate.run_gate import Gate


class GateWatch:
    """What is known before there is a gate: whether anything asks for one, and what failed."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._gate: Gate | None = None
        self._failed: list[str] = []

    def heed_options(self) -> None:
        """Load the gate if an option asks for it; UsageError for one that makes no sense."""
        if any(is_given(self._run.config, option) for option in OPTIONS):
            self._load_gate()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check what the items decide; in a worker here, where xdist's controller is told of it."""
        yield
        if self._run.is_worker:
            self._check(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check what the items decide, after all plugins have selected among them."""
        if not self._run.is_worker:
            self._check(session.items)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed although under a gate no score makes a test fail: errors in teardown, strict xfails."""
        if report.failed and report.when != "setup":
            self._failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_ltm_report_sections(
        self, result: RunResult, status: int
    ) -> Section | None:
        """Return what the gate says, if there is one."""
        # Of xdist's processes, only the workers have seen the items.
        if any(row.pass_k is not None for row in result.scenarios):
            self._load_gate()
        if self._gate is None:
            return None
        return self._gate.conclude(result, status)

    def pytest_ltm_exit_status(self, status: int) -> int | None:
        """Return the exit status of the gate's verdict."""
        if self._gate is None:
            return None
        return self._gate.exit_status(status)

    def _check(self, items: Iterable[pytest.Item]) -> None:
        ltm_items = [item.stash[LTM_ITEM] for item in items]
        if any(item.marks.pass_k is not None for item in ltm_items):
            self._load_gate()
        if self._gate is not None:
            self._gate.check(ltm_items)

    def _load_gate(self) -> None:
        if self._gate is not None:
            return
        from pytest_ltm.gate.run_gate import Gate, parse_gate_options

        run = self._run
        options = parse_gate_options(run.config, run.settings, run.folder.path)
        self._gate = Gate(run, options, self._failed)
        run.config.pluginmanager.register(self._gate, "ltm-gate")
