"""GateWatch: loads the gate as soon as something in the run asks for one."""

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
    """The state before the gate is loaded: whether something asks for it, and what failed."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._gate: Gate | None = None
        self._failed: list[str] = []

    def heed_options(self) -> None:
        """Load the gate if an option asks for it; UsageError for a meaningless one."""
        if any(is_given(self._run.config, option) for option in OPTIONS):
            self._load_gate()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check the items in a worker: errors in this hook reach xdist's controller."""
        yield
        if self._run.is_worker:
            self._check(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check the final items, after all plugins have selected among them."""
        if not self._run.is_worker:
            self._check(session.items)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record failures other than scores (errors in teardown, strict xfails): they fail a gated run, too."""
        if report.failed and report.when != "setup":
            self._failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record collection errors."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_ltm_report_sections(
        self, result: RunResult, status: int
    ) -> Section | None:
        """Return the gate's report section, if there is a gate."""
        # Of xdist's processes, only the workers have seen the items.
        if any(row.pass_k is not None for row in result.scenarios):
            self._load_gate()
        if self._gate is None:
            return None
        return self._gate.conclude(result, status)

    def pytest_ltm_exit_status(self, status: int) -> int | None:
        """Return the exit status of the gate's verdict, or None without a gate."""
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
