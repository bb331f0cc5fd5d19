"""pytest-html support: extra columns, a summary with charts, each example's packed transcript."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Generator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest

from pytest_ltm.api.journal import RunResult, ScenarioResult
from pytest_ltm.api.model import Exchange
from pytest_ltm.api.session import LANE
from pytest_ltm.api.storage import for_screen
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.text import verdict_text
from pytest_ltm.reports.failure import distance_between, shown_state
from pytest_ltm.reports.html.charts import score_by_span
from pytest_ltm.reports.html.headline import (
    agent_sentences,
    gate_answers,
    leading_metric_answers,
    trust_line,
)
from pytest_ltm.reports.html.page import read_assets, template_environment
from pytest_ltm.reports.html.report_data import report_material
from pytest_ltm.reports.html.score_tables import breaking_points
from pytest_ltm.reports.terminal import summary_lines

if TYPE_CHECKING:
    from pytest_ltm.reports.run_report import Report


def embedded_summary(
    run: RunResult, fields: Mapping[str, Any] | None = None, report: str = ""
) -> str:
    """Return the block above pytest-html's rows: the headline answers, totals, and where agents break.

    Args:
        run: The run to show.
        fields: Fields that sections add to `summary.json`, such as gate and comparison.
        report: The address of our own page, if there is one.
    """
    # The script unpacks a fragment when it is opened; fragments are escaped before
    # packing.
    head = f"<style>\n{read_assets(('embedded.css',))}</style><script>\n{read_assets(('embedded.js',))}</script>"
    if not run.conversations:
        return head
    material = report_material([LoadedRun.from_results(run, fields)])
    template = template_environment().get_template("embedded.html.j2")
    text = template.render(
        summary="\n".join(summary_lines(run, width=120, verbosity=0, color=False)),
        gates=[*gate_answers(material), *leading_metric_answers(material)],
        standings=agent_sentences(material),
        curve=score_by_span(material),
        trust=trust_line(material),
        breaks=breaking_points(material, frozenset()),
        report=report,
    )
    # pytest-html's page has its own style rules, so ours apply only to our part of it.
    colours = read_assets(("colours.css",)).replace(":root", ".ltm-charts")
    charts = read_assets(("charts.css",))
    style = f"{colours}.ltm-charts {{\n{charts}}}\n"
    return f"{head}<style>{style}</style>{text}"


def packed_element(title: str, fragment: str) -> str:
    """Return a foldable element whose content stays compressed until it is opened."""
    data = base64.b64encode(gzip.compress(fragment.encode(), 9, mtime=0)).decode()
    return f'<details class="ltm" data-z="{data}"><summary>{escape(title)}</summary><div></div></details>'


def example_transcript(
    result: ScenarioResult, exchanges: Sequence[Exchange], expected: str
) -> str:
    """Return the verdict and the example's own exchanges with the distances between them."""
    question_numbers = {question.number for question in result.questions}
    score = verdict_text(result, "none")
    if result.scored:
        score += f" (passes at {result.threshold:.2f})"
    checks = [f"{shown_state(check)}: {check.label}" for check in result.checks]
    facts = {
        "score": score,
        "why": result.reason,
        "checks": "; ".join(checks),
        "decided by": result.evidence,
        "expected": expected,
        "rule": result.rule,
        "answer given": result.questions[-1].answer if result.questions else "",
    }
    rows = ""
    for name, value in facts.items():
        if value:
            rows += f"<dt>{name}</dt><dd>{_html_text(value)}</dd>"
    parts = [f'<dl class="ltm-verdict">{rows}</dl>']
    former: Exchange | None = None
    for exchange in exchanges:
        if former is not None:
            apart = distance_between(former, exchange)
            parts.append(f'<p class="ltm-gap">… {escape(apart)} later …</p>')
        kind = "ltm-talk asked" if exchange.number in question_numbers else "ltm-talk"
        parts.append(
            f'<div class="{kind}">#{exchange.number} at {exchange.start:,} tokens, {exchange.now:%Y-%m-%d %H:%M}\n'
            f"<b>{_html_text(exchange.user or 'you')}:</b> {_html_text(exchange.message)}\n"
            f"<b>agent:</b> {_html_text(exchange.acted_reply)}</div>"
        )
        former = exchange
    return "".join(parts)


def _html_text(value: str) -> str:
    return escape(for_screen(value))


# Heading -> user property, in the order of the columns after pytest-html's "Test".
COLUMNS = {
    "Scenario": "ltm_scenario",
    "Skills": "ltm_skills",
    "Score": "ltm_score",
    "Span": "ltm_span",
    "Gap": "ltm_gap",
    "Tokens": "ltm_tokens",
    "Cost": "ltm_cost_usd",
}
# The index of our first column among the cells of a row.
_PLACE = 2


class HtmlRows:
    """Adds the transcript to the report of each item, in the process that played it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the transcript to the report of the item's outcome."""
        report = yield
        body = item.stash.get(LANE, None)
        outcome = report.when == "call" or not report.passed
        if (
            outcome
            and body is not None
            and body.result is not None
            and body.lane is not None
        ):
            from pytest_html import extras

            lane = body.lane
            expected = ""
            definition = lane.example.definition
            if definition and definition.expected is not None:
                expected = json.dumps(definition.expected, ensure_ascii=False)
            fragment = packed_element(
                f"transcript ({len(lane.own)} exchanges)",
                example_transcript(body.result, lane.own, expected),
            )
            vars(report).setdefault("extras", []).append(extras.html(fragment))
        return report


class HtmlReport:
    """Adds columns and the summary to pytest-html's page; controller only."""

    def __init__(self, report: Report, page: Path) -> None:
        """`page` is pytest-html's file. Rows and summary link to the file of `--ltm-report`."""
        self._report = report
        own_file = report.file
        self._own = ""
        if own_file is not None:
            try:
                self._own = quote(
                    Path(
                        os.path.relpath(own_file.absolute(), page.absolute().parent)
                    ).as_posix()
                )
            except ValueError:  # on another drive
                self._own = own_file.absolute().as_uri()

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add our columns to the header."""
        for place, (head, name) in enumerate(COLUMNS.items(), start=_PLACE):
            cells.insert(
                place, f'<th class="sortable" data-column-type="{name}">{head}</th>'
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(
        self, report: pytest.TestReport, cells: list[str]
    ) -> None:
        """Fill our columns from the item's properties."""
        fields: dict[str, object] = dict(getattr(report, "user_properties", ()))
        for place, name in enumerate(COLUMNS.values(), start=_PLACE):
            value = fields.get(name, "")
            if isinstance(value, float):
                text = f"{value:.4g}"
            elif isinstance(value, int):
                text = f"{value:,}"
            else:
                text = escape(str(value))
            if place == _PLACE and text and self._own:
                text = f'<a href="{escape(self._own)}#{urlencode({"ex": report.nodeid})}">{text}</a>'
            cells.insert(place, f'<td class="col-{name}">{text}</td>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Show totals, the curve over memory spans and where agents break above the rows."""
        run = self._report.result or RunResult(run_id="", conversations=())
        prefix.append(embedded_summary(run, self._report.section_fields, self._own))
