"""Renders a run as Markdown, for `--ltm-summary` and the step summary of a CI job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pytest_ltm.api.journal import RunResult, Section
from pytest_ltm.api.storage import for_file, one_line, refuse_named_pipe
from pytest_ltm.figures.columns import GUESSED_NOTE, result_columns, scenario_names
from pytest_ltm.figures.figures import figure_notes, shown_figures
from pytest_ltm.figures.markdown import (
    bullet_list,
    folded_section,
    markdown_table,
    markdown_text,
)
from pytest_ltm.figures.metrics import agent_metrics, leading_sentences
from pytest_ltm.figures.sentences import precheck_sentences, span_sentences
from pytest_ltm.reports.section_tables import section_tables
from pytest_ltm.reports.summary_page import STEP_SUMMARY
from pytest_ltm.reports.terminal import missing_lines, scoreless_sentence


def run_markdown(
    run: RunResult, *, sentences: Sequence[str] = (), sections: Sequence[Section] = ()
) -> str:
    """Return a run's verdict, `sentences` on its agents, totals, scores, missing scores and notes.

    `sections`: those that features add to the report.
    """
    columns = result_columns(run)
    heading = ", ".join(section.verdict for section in sections if section.verdict)
    parts = [f"## Long-term memory: {heading or 'no gate'}"]
    for section in sections:
        parts += section.lead
    section_parts = list(chain.from_iterable(map(_section_markdown, sections)))
    if not columns:
        return "\n\n".join([*parts, *section_parts, "No conversation was held."]) + "\n"
    sentences = (*sentences, *leading_sentences(run))
    parts += [f"**{markdown_text(sentence)}**" for sentence in sentences]
    figures = shown_figures(columns, "markdown")
    labels = [column.label for column in columns]
    heads = [run.suite, *(figure.heading(columns) for figure in figures)]
    cells = [figure.cells(columns) for figure in figures]
    table = markdown_table(heads, zip(labels, *cells, strict=True))
    parts.append("\n\n".join([table, *figure_notes(columns)]))
    parts += section_parts
    sentences_below = list(chain.from_iterable(map(scoreless_sentence, columns)))
    sentences_below += span_sentences(run)
    for section in sections:
        sentences_below += section.notes
    parts += bullet_list(sentences_below)
    means = []
    for name in scenario_names(columns):
        means.append([name, *(column.cell_text(name) for column in columns)])
    table = markdown_table([run.suite, *labels], means)
    if any(column.scenarios_at_guessing_level for column in columns):
        table += f"\n\n{GUESSED_NOTE}"
    parts.append(folded_section("Mean score of each scenario", table))
    for metric in agent_metrics(run):
        *rows, total_row = metric.rows()
        table = markdown_table(
            ["", "examples", *metric.names],
            [*rows, *([total_row] if len(rows) > 1 else [])],
        )
        table = "\n\n".join([table, *bullet_list(metric.sentences)])
        parts.append(
            folded_section(f"Further metrics: {markdown_text(metric.label)}", table)
        )
    # Wider than any line, as Markdown wraps lines itself.
    parts += bullet_list(
        [line.removeprefix("* ").strip() for line in missing_lines(run, 10_000)]
    )
    parts += bullet_list([*run.notices, *precheck_sentences(run)])
    if run.trust:
        parts.append(f"Trust: {markdown_text(run.trust)}.")
    if run.folder:
        parts.append(f"Run folder: `{one_line(run.folder).replace('`', '')}`")
    return "\n\n".join(parts) + "\n"


def _section_markdown(section: Section) -> list[str]:
    parts = [f"### {markdown_text(section.title)}"] if section.title else []
    parts += [*section.details, *bullet_list(section.sentences)]
    for table in section_tables(section):
        text = markdown_table(table.columns, table.rows)
        parts.append(folded_section(markdown_text(table.title), text))
    return parts


def add_to_step_summary(page: str) -> str:
    """Append a page to a CI job's step summary, if the environment names its file; return any error."""
    path = os.environ.get(STEP_SUMMARY)
    try:
        if path:
            # Append, because other steps of the job may have written there before.
            refuse_named_pipe(Path(path))
            with Path(path).open("ab") as file:
                file.write(for_file(page))
    except OSError as error:
        return f"step summary: cannot write {path!r}: {error.strerror or error}"
    return ""
