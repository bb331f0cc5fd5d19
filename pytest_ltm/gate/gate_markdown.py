"""The gate's verdict and the changes against another run, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api.journal import RunResult, Section
from pytest_ltm.api.storage import first_and_rest, pluralize
from pytest_ltm.figures.markdown import (
    bullet_list,
    folded_section,
    markdown_text,
    raw_table,
)
from pytest_ltm.figures.sentences import span_sentences
from pytest_ltm.gate import change_report
from pytest_ltm.gate.changes import Changes
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.verdict import GateVerdict


def comparison_markdown(
    run: RunResult, changes: Changes, verdict: GateVerdict | None
) -> str:
    """Return the changes against another run, and the verdict if there are rules."""
    section = gate_section(verdict)
    title = f"## {markdown_text(changes.after)}"
    if verdict:
        title += f": {section.verdict}"
    parts = [title, *section.lead, *changes_markdown(changes)]
    return "\n\n".join([*parts, *bullet_list(span_sentences(run))]) + "\n"


def gate_section(
    verdict: GateVerdict | None,
    changes: Changes | None = None,
    rules: Sequence[Rule] = (),
) -> Section:
    """Return the report section with the verdict and the changes."""
    details = () if changes is None else tuple(changes_markdown(changes))
    if verdict is None:
        return Section(details=details)
    line = change_report.verdict_line(verdict)
    parts = [f"**{markdown_text(line)}**"]
    parts += bullet_list(
        first_and_rest(
            change_report.verdict_details(verdict), change_report.MOST_LISTED
        )
    )
    must = bullet_list([f"{rule.text}: {rule.sentence}" for rule in rules])
    parts += [folded_section("Rules", body) for body in must]
    brief = change_report.name_verdict(verdict)
    return Section(verdict=brief, lead=tuple(parts), details=details)


def changes_markdown(changes: Changes) -> list[str]:
    """Return the changes against another run, a paragraph each."""
    rows = []
    for change in changes.changes:
        cells = map(markdown_text, change_report.overall_cells(change))
        rows.append([f"**{markdown_text(change.label)}**", *cells])
        names = change_report.most_moved(change)
        for name in names:
            cells = map(markdown_text, change_report.scenario_cells(change, name))
            rows.append([markdown_text(name), *cells])
        more = len(change_report.moved_scenarios(change)) - len(names)
        if more > 0:
            rows.append([f"… and {pluralize(more, 'more scenario')}", *[""] * 5])
    table = raw_table(["", *change_report.HEADS], rows)
    return [
        f"### What moved against {markdown_text(changes.opponent)}",
        table,
        *bullet_list(change_report.comparison_sentences(changes)),
    ]
