"""Writes runs as text for papers and pull requests: a table in LaTeX, and whole runs in Markdown."""

from __future__ import annotations

from pathlib import Path

from pytest_ltm.api.journal import sections_of
from pytest_ltm.api.storage import for_file, write_output
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.gate.change_report import gate_from_json
from pytest_ltm.gate.gate_markdown import gate_section
from pytest_ltm.reports.agent_sentences import run_sentences
from pytest_ltm.reports.exports.loaded import Results
from pytest_ltm.reports.exports.output import ExportTarget
from pytest_ltm.reports.exports.table_files import paper_latex, paper_markdown
from pytest_ltm.reports.run_markdown import run_markdown


def latex_outputs(results: Results, to: Path) -> list[ExportTarget]:
    """Return one file with the table of all runs."""
    return [_text_target(to, paper_latex(results.runs))]


def markdown_outputs(results: Results, to: Path) -> list[ExportTarget]:
    """Return one file with each run, and the table of all runs."""
    pages = list(map(_run_page, results.runs))
    return [_text_target(to, "\n".join([*pages, paper_markdown(results.runs)]))]


def _run_page(run: LoadedRun) -> str:
    gate = gate_from_json(run.summary.get("gate"), f"{run.path}, gate")
    return run_markdown(
        run.result,
        sections=[gate_section(gate), *sections_of(run.summary)],
        sentences=run_sentences(
            result_columns(run.result), run.summary.get("comparison")
        ),
    )


def _text_target(to: Path, text: str) -> ExportTarget:
    return ExportTarget(to, lambda path: write_output(path, for_file(text)))
