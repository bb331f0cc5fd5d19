"""Writes tables as CSV, JSON Lines and Parquet, and a table for papers in LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.api.storage import (
    csv_cell,
    escape_json_text,
    join_words,
    one_line,
    write_output,
)
from pytest_ltm.figures.columns import Column, result_columns
from pytest_ltm.figures.markdown import markdown_table
from pytest_ltm.figures.text import NOTHING
from pytest_ltm.reports.exports.output import ExportTarget, import_library
from pytest_ltm.reports.exports.result_rows import TABLES, PlacedRow

if TYPE_CHECKING:
    from pytest_ltm.figures.run_loading import LoadedRun
    from pytest_ltm.reports.exports.loaded import Results, ResultTable


CITATION = """\
@software{{pytest_ltm,
  title = {{pytest-ltm: tests of the long-term memory of conversational agents}},
  author = {{{{the pytest-ltm developers}}}},
  version = {{{version}}},
}}
@article{{castillo_bolado_2024_beyond_prompts,
  title = {{Beyond Prompts: Dynamic Conversational Benchmarking of Large Language Models}},
  author = {{Castillo-Bolado, David and Davidson, Joseph and Gray, Finlay and Rosa, Marek}},
  year = {{2024}},
}}"""
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
}


class PaperTable(NamedTuple):
    """Accuracy by agent and memory span."""

    spans: Sequence[str]
    """From the shortest span; isolated examples come first."""
    rows: Sequence[tuple[str, Sequence[Column | None]]]
    """Each agent with its column at each span."""
    caption: str


def paper_table(runs: Sequence[LoadedRun]) -> PaperTable:
    """Return the table of all agents of some runs; labels that several runs share are qualified."""
    run_columns: list[tuple[str, Column]] = []
    for run in runs:
        for column in result_columns(run.result):
            run_columns.append((run.result.run_id, column))
    labels = {(column.agent, run_id) for run_id, column in run_columns}
    run_counts = Counter(agent for agent, _ in labels)
    spans = {column.span_label: column.span or 0 for _, column in run_columns}
    columns_by_agent: dict[str, dict[str, Column]] = {}
    for run_id, column in run_columns:
        agent = column.name
        if run_counts[column.agent] > 1:
            agent += f" ({run_id})"
        columns_by_agent.setdefault(one_line(agent), {})[column.span_label] = column
    ordered = sorted(spans, key=spans.__getitem__)
    suites = join_words(
        list(dict.fromkeys(run.result.suite for run in runs if run.result.suite))
    )
    parts = ["Accuracy in percent by memory span in tokens"]
    if any(column.interval for _, column in run_columns):
        parts.append("95% intervals over conversations in brackets")
    parts.append(
        f"pytest-ltm {version('pytest-ltm')}" + (f", suite {suites}" if suites else "")
    )
    rows: list[tuple[str, list[Column | None]]] = []
    for agent, columns in columns_by_agent.items():
        rows.append((agent, list(map(columns.get, ordered))))
    return PaperTable(
        [one_line(span) for span in ordered], rows, "; ".join(parts) + "."
    )


def paper_latex(runs: Sequence[LoadedRun]) -> str:
    """Return the table as LaTeX, which needs the package booktabs, with the citation as comments."""
    table = paper_table(runs)
    lines = [
        "% Needs \\usepackage{booktabs}. Please cite:",
        *(f"%   {line}" for line in _citation().splitlines()),
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{_escape_latex(table.caption)}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(table.spans)}}}",
        "    \\toprule",
        f"    {' & '.join(['Agent', *map(_escape_latex, table.spans)])} \\\\",
        "    \\midrule",
    ]
    for agent, columns in table.rows:
        cells = [_cell(column, small=True) for column in columns]
        lines.append(f"    {' & '.join([_escape_latex(agent), *cells])} \\\\")
    lines += ["    \\bottomrule", "  \\end{tabular}", "\\end{table}"]
    return "\n".join(lines) + "\n"


def paper_markdown(runs: Sequence[LoadedRun]) -> str:
    """Return the same table as Markdown, with the citation below it."""
    table = paper_table(runs)
    rows = []
    for agent, columns in table.rows:
        cells = [_cell(column, small=False) for column in columns]
        rows.append([agent, *cells])
    return f"{markdown_table(['Agent', *table.spans], rows)}\n\n{table.caption}\n\n```bibtex\n{_citation()}\n```\n"


def _cell(column: Column | None, *, small: bool) -> str:
    """Return a cell such as `54.2 [41.0, 66.1]`; open scores count as missed."""
    if column is None or column.accuracy_lower_bound is None:
        return NOTHING
    text = f"{100 * column.accuracy_lower_bound:.1f}"
    interval = column.interval
    if not interval:
        return text
    ends = f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
    if small:
        ends = f"{{\\scriptsize {ends}}}"
    return f"{text} {ends}"


def _citation() -> str:
    return CITATION.format(version=version("pytest-ltm"))


def _escape_latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda sign: _SPECIAL[sign[0]], text)


def outputs(
    results: Results, to: Path, kind: str, only: str = ""
) -> Sequence[ExportTarget]:
    """Return one file per table in the folder `to`, or the file `to` for the single table named by `only`.

    `kind` is csv, jsonl or parquet. LtmError if the library it needs is absent.
    """
    # Checked before writing: a missing library must not leave half an export behind.
    if kind == "parquet":
        import_library("pyarrow.parquet", extra="parquet", user="--to parquet")
    if only:
        targets = {only: to}
    else:
        targets = {name: to / f"{name}.{kind}" for name in TABLES}
    exports: list[ExportTarget] = []
    for name, path in targets.items():
        write = partial(_write_table, kind=kind, table=getattr(results, name))
        exports.append(ExportTarget(path, write))
    return exports


def _write_table(path: Path, kind: str, table: ResultTable[PlacedRow]) -> None:
    records = table.records()
    if kind == "parquet":
        arrow = import_library("pyarrow", extra="parquet", user="")
        parquet = import_library("pyarrow.parquet", extra="parquet", user="")
        types = {
            str: arrow.string(),
            int: arrow.int64(),
            float: arrow.float64(),
            bool: arrow.bool_(),
            datetime: arrow.timestamp("us", tz="UTC"),
        }
        schema = arrow.schema(
            [(name, types[cell_type]) for name, cell_type in table.columns.items()]
        )
        parquet.write_table(arrow.Table.from_pylist(records, schema=schema), path)
        return
    if kind == "csv":
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        # A spreadsheet would evaluate a cell that begins with `=` as a formula.
        for record in records:
            writer.writerow(csv_cell(_time_as_text(value)) for value in record.values())
        text = file.getvalue()
    else:
        lines: list[str] = []
        for record in records:
            line = json.dumps(record, ensure_ascii=False, default=_time_as_text)
            lines.append(f"{escape_json_text(line)}\n")
        text = "".join(lines)
    write_output(path, text.encode())


def _time_as_text(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value
