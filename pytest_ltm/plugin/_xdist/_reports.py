"""The reports of an item that no worker could report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.reporting._summary import user_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.plugin._xdist._ledger import Brief


def reports_of(brief: Brief, row: ScenarioResult) -> Iterator[pytest.TestReport]:
    """Yield a setup that failed or was skipped with the row's reason, and an empty teardown."""
    error = row.outcome == "error"
    reason: Any = row.reason if error else (brief.path, brief.line + 1, f"Skipped: not reached: {row.reason}")
    yield _report(brief, row, "setup", "failed" if error else "skipped", reason)
    yield _report(brief, row, "teardown", "passed", None)


def _report(brief: Brief, row: ScenarioResult, when: Any, outcome: Any, longrepr: Any) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=brief.nodeid,
        location=(brief.path, brief.line, brief.name),
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        user_properties=user_properties(row),
    )
