"""pytest-html: columns of our own, totals and charts in the summary, each example's transcript in its row."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.plugin._state import LANE
from pytest_ltm.reporting._columns import columns
from pytest_ltm.reporting._fragments import STYLE, UNPACK, packed, transcript
from pytest_ltm.reporting._svg import degradation, heat_map
from pytest_ltm.reporting._terminal import summary_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ltm._lane import Lane
    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.plugin._report import Report

COLUMNS = {
    "Scenario": "ltm_scenario",
    "Skills": "ltm_skills",
    "Score": "ltm_score",
    "Span": "ltm_span",
    "Gap": "ltm_gap",
    "Tokens": "ltm_tokens",
    "Cost": "ltm_cost_usd",
}
"""Heading -> user property, in the order in which they stand after pytest-html's "Test"."""
_PLACE = 2
"""Of our first column among the cells of a row."""


class HtmlRows:
    """Adds the transcript to the report of each item, in the process that played it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the transcript to the report that tells what became of the item."""
        report = yield
        body = item.stash.get(LANE, None)
        if (
            body is not None
            and body.result is not None
            and body.lane is not None
            and (report.when == "call" or not report.passed)
        ):
            from pytest_html import extras  # noqa: PLC0415 - only where pytest-html writes a report

            fragment = _transcript(body.result, body.lane)
            vars(report).setdefault("extras", []).append(extras.html(fragment))
        return report


class HtmlReport:
    """The page around the rows; controller only."""

    def __init__(self, report: Report) -> None:
        self._report = report

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add our columns."""
        for place, (head, name) in enumerate(COLUMNS.items(), start=_PLACE):
            cells.insert(place, f'<th class="sortable" data-column-type="{name}">{head}</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Fill our columns from the item's properties."""
        said: dict[str, object] = dict(getattr(report, "user_properties", ()))
        for place, name in enumerate(COLUMNS.values(), start=_PLACE):
            cells.insert(place, f'<td class="col-{name}">{escape(_shown(said.get(name)))}</td>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Show totals, heat map and degradation curve above the rows."""
        result = self._report.result
        prefix.append(f"<style>{STYLE}</style><script>{UNPACK}</script>")
        if result is None or not result.conversations:
            return
        lines = summary_lines(result, width=120, verbosity=0, color=False)
        prefix.append(f"<h2>Long-term memory</h2><pre>{escape(chr(10).join(lines))}</pre>")
        prefix.append(heat_map(result.scenarios))
        prefix.append(degradation(columns(result)))


def _transcript(result: ScenarioResult, lane: Lane) -> str:
    expected = lane.example.definition.expected if lane.example.definition else None
    shown = "" if expected is None else json.dumps(expected, ensure_ascii=False)
    return packed(f"transcript ({len(lane.own)} exchanges)", transcript(result, lane.own, shown))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value if value is not None else "")
