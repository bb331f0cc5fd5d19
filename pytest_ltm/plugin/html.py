"""pytest-html: columns of our own, totals and charts in the summary, each example's transcript in its row."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from pytest_ltm._journal.result import RunResult
from pytest_ltm.plugin.state import LANE
from pytest_ltm.reporting.html.embedded import embedded_summary, example_transcript, packed_element

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ltm._engine.lane import Lane
    from pytest_ltm._journal.result import ScenarioResult
    from pytest_ltm.plugin.report import Report


# Heading -> user property, in the order in which they stand after pytest-html's "Test".
COLUMNS = {
    "Scenario": "ltm_scenario",
    "Skills": "ltm_skills",
    "Score": "ltm_score",
    "Span": "ltm_span",
    "Gap": "ltm_gap",
    "Tokens": "ltm_tokens",
    "Cost": "ltm_cost_usd",
}
# Of our first column among the cells of a row.
_PLACE = 2


class HtmlRows:
    """Adds the transcript to the report of each item, in the process that played it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the transcript to the report of the item's outcome."""
        report = yield
        body = item.stash.get(LANE, None)
        outcome = report.when == "call" or not report.passed
        if outcome and body is not None and body.result is not None and body.lane is not None:
            from pytest_html import extras

            fragment = _packed_transcript(body.result, body.lane)
            vars(report).setdefault("extras", []).append(extras.html(fragment))
        return report


class HtmlReport:
    """The page around the rows; controller only."""

    def __init__(self, report: Report, page: Path, own: Path | None) -> None:
        """`page`: pytest-html's file; `own`: that of `--ltm-report`, which rows and summary lead to."""
        self._report = report
        self._own = "" if own is None else _relative_address(page, own)

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add our columns."""
        for place, (head, name) in enumerate(COLUMNS.items(), start=_PLACE):
            cells.insert(place, f'<th class="sortable" data-column-type="{name}">{head}</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Fill our columns from the item's properties."""
        fields: dict[str, object] = dict(getattr(report, "user_properties", ()))
        for place, name in enumerate(COLUMNS.values(), start=_PLACE):
            text = escape(_show_cell(fields.get(name)))
            if place == _PLACE and text and self._own:
                text = f'<a href="{escape(self._own)}#{urlencode({"ex": report.nodeid})}">{text}</a>'
            cells.insert(place, f'<td class="col-{name}">{text}</td>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Show totals, the curve over memory spans and where agents break above the rows."""
        run = self._report.result or RunResult(run_id="", conversations=())
        prefix.append(embedded_summary(run, self._report.gate_json, self._own))


def _relative_address(page: Path, own: Path) -> str:
    """Return the address of our report file as seen from pytest-html's page."""
    try:
        return quote(Path(os.path.relpath(own.absolute(), page.absolute().parent)).as_posix())
    except ValueError:  # on another drive
        return own.absolute().as_uri()


def _packed_transcript(result: ScenarioResult, lane: Lane) -> str:
    expected = lane.example.definition.expected if lane.example.definition else None
    shown = "" if expected is None else json.dumps(expected, ensure_ascii=False)
    return packed_element(f"transcript ({len(lane.own)} exchanges)", example_transcript(result, lane.own, shown))


def _show_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value if value is not None else "")
