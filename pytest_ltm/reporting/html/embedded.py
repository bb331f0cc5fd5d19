"""What stands in pytest-html's page: totals and charts, and each example's transcript, packed until it is opened."""

from __future__ import annotations

import base64
import gzip
from html import escape
from typing import TYPE_CHECKING

from pytest_ltm._model.transcript import needle_gap
from pytest_ltm._results.run_loading import LoadedRun
from pytest_ltm._results.text import format_distance, verdict_text
from pytest_ltm._storage.sanitize import for_screen
from pytest_ltm.reporting.failure import shown_state
from pytest_ltm.reporting.html.breaking_points import breaking_points
from pytest_ltm.reporting.html.charts import score_by_span
from pytest_ltm.reporting.html.headline import agent_sentences, gate_answers, leading_metric_answers, trust_line
from pytest_ltm.reporting.html.page import read_assets, template_environment
from pytest_ltm.reporting.html.report_data import report_material
from pytest_ltm.reporting.terminal import summary_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pytest_ltm._journal.result import RunResult, ScenarioResult
    from pytest_ltm._model.transcript import Exchange


# What the rules of our own page begin with that its charts need, too.
_CHARTS = (
    ".gate",
    ".first",
    ".standings",
    ".trust",
    ".band",
    ".chart",
    "figcaption",
    "svg",
    ".k",
    ".curve",
    ".dashed",
    ".bar",
    ".line",
    ".legend",
    ".h",
    ".breaks",
    ".grid",
    ".many",
    "table",
)


def embedded_summary(run: RunResult, gate: Mapping[str, Any] | None = None, report: str = "") -> str:
    """Return what stands above pytest-html's rows: the first screen of our own page, totals, and where agents break.

    Args:
        run: What is shown.
        gate: Gate and comparison as `summary.json` has them.
        report: The address of our own page, if there is one.
    """
    # The script unpacks a fragment when it is opened: what it unpacks was escaped before it was packed.
    head = f"<style>\n{read_assets(('embedded.css',))}</style><script>\n{read_assets(('embedded.js',))}</script>"
    if not run.conversations:
        return head
    material = report_material([LoadedRun.from_results(run, gate)])
    text = (
        template_environment()
        .get_template("embedded.html.j2")
        .render(
            summary="\n".join(summary_lines(run, width=120, verbosity=0, color=False)),
            gates=[*gate_answers(material), *leading_metric_answers(material)],
            standings=agent_sentences(material),
            curve=score_by_span(material),
            trust=trust_line(material),
            breaks=breaking_points(material, frozenset()),
            report=report,
        )
    )
    return f"{head}<style>{_chart_style()}</style>{text}"


def _chart_style() -> str:
    """Return the rules of our own page that charts need, for the charts alone, in its colours on a light ground."""
    colours, _, rules = read_assets(("page.css", "tables.css", "breaks.css")).removeprefix(":root {").partition("}")
    kept = [rule for rule in rules.splitlines() if rule.startswith(_CHARTS)]
    return "\n".join([".ltm-charts {", colours, *kept, "}"])


def packed_element(title: str, fragment: str) -> str:
    """Return a foldable element that holds the fragment compressed until it is opened."""
    data = base64.b64encode(gzip.compress(fragment.encode(), 9, mtime=0)).decode()
    return f'<details class="ltm" data-z="{data}"><summary>{escape(title)}</summary><div></div></details>'


def example_transcript(result: ScenarioResult, own: Sequence[Exchange], expected: str = "") -> str:
    """Return the verdict, and the example's own exchanges with the distance between them."""
    asked = {question.number for question in result.questions}
    parts = [_verdict_html(result, expected)]
    before: Exchange | None = None
    for exchange in own:
        if before is not None:
            apart = format_distance(needle_gap(before, exchange), exchange.now - before.now)
            parts.append(f'<p class="ltm-gap">… {escape(apart)} later …</p>')
        parts.append(_exchange_html(exchange, asked=exchange.number in asked))
        before = exchange
    return "".join(parts)


def _verdict_html(result: ScenarioResult, expected: str) -> str:
    score = verdict_text(result, "none") + f" (passes at {result.threshold:.2f})" * result.scored
    facts = {
        "score": score,
        "why": result.reason,
        "checks": "; ".join(f"{shown_state(check)}: {check.label}" for check in result.checks),
        "decided by": result.evidence,
        "expected": expected,
        "rule": result.rule,
        "answer given": result.questions[-1].answer if result.questions else "",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{_html_text(value)}</dd>" for name, value in facts.items() if value)
    return f'<dl class="ltm-verdict">{rows}</dl>'


def _exchange_html(exchange: Exchange, *, asked: bool) -> str:
    kind = "ltm-talk asked" if asked else "ltm-talk"
    return (
        f'<div class="{kind}">#{exchange.number} at {exchange.start:,} tokens, {exchange.now:%Y-%m-%d %H:%M}\n'
        f"<b>{_html_text(exchange.user or 'you')}:</b> {_html_text(exchange.message)}\n"
        f"<b>agent:</b> {_html_text(exchange.reply)}</div>"
    )


def _html_text(value: str) -> str:
    return escape(for_screen(value))
