"""What others read: `report`, an HTML file; `export`, files for other tools; `badge`, a score in a few words."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._cli.arguments import RUN, add_ltm_dir, add_output, add_runs
from pytest_ltm._journal.run_file import LATEST, find_run
from pytest_ltm._results.change_report import gate_from_json
from pytest_ltm._results.columns import result_columns
from pytest_ltm._results.gate.baseline import load_baseline
from pytest_ltm._results.run_loading import results_in
from pytest_ltm._results.text import one_line
from pytest_ltm._storage.disk import write_output
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm._storage.sanitize import for_file
from pytest_ltm._storage.secrets import redact_secrets
from pytest_ltm.reporting.agents import run_sentences
from pytest_ltm.reporting.badge import GREY, badge_of, badge_svg, endpoint_json
from pytest_ltm.reporting.exports import every_eval_ever, inspect_ai, junit, mlflow, table_files, wandb
from pytest_ltm.reporting.exports.loaded import load
from pytest_ltm.reporting.exports.output import ExportTarget, write_all
from pytest_ltm.reporting.exports.paper import paper_latex, paper_markdown
from pytest_ltm.reporting.history import Past, read_past, result_standings
from pytest_ltm.reporting.html.page import build_report
from pytest_ltm.reporting.markdown import run_markdown
from pytest_ltm.reporting.verification import DIFFERS, mark_discrepancies

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from pytest_ltm.reporting.exports.loaded import Results
    from pytest_ltm.reporting.history import HistoricalScore


# The formats that have a file for each table.
TABLES = ("csv", "jsonl", "parquet")
# Those of one file, with its suffix.
SINGLE_FILE_FORMATS = {"junit": ".xml", "markdown": ".md", "latex": ".tex"}
WRITERS = {
    "junit": junit.outputs,
    "inspect": inspect_ai.outputs,
    "mlflow": mlflow.outputs,
    "wandb": wandb.outputs,
    "eee": every_eval_ever.outputs,
}


# The forms of a badge by the suffix of its file.
WRITTEN = {".svg": badge_svg, ".json": endpoint_json}


# --- report


def add_write_arguments(parser: ArgumentParser) -> None:
    """Add the runs and the file."""
    add_output(parser, "FILE", "the file to write", default="ltm-report.html")
    add_runs(parser)


def write_report(given: Namespace) -> int:
    """Write one self-contained HTML file about one or many runs. It opens offline."""
    folders = [find_run(text, given.ltm_dir) for text in given.runs or [LATEST]]
    build_report(folders, given.output)
    print(f"{given.output} ({given.output.stat().st_size / 1_000_000:.1f} MB)")
    damaged = [damage for folder in folders for part in results_in(folder)[0] if (damage := part.damage())]
    for damage in damaged:
        print(redact_secrets(f"left out of the report: {damage}"), file=sys.stderr)
    return 1 if damaged else 0


# --- export


def add_export_arguments(parser: ArgumentParser) -> None:
    """Add the runs, the format and the place."""
    parser.add_argument(
        "--to",
        required=True,
        choices=[*TABLES, *SINGLE_FILE_FORMATS, *(name for name in WRITERS if name not in SINGLE_FILE_FORMATS)],
        help="the format",
    )
    add_output(parser, "PATH", "the file or folder (default: ltm-FORMAT, with a suffix if it is a file)")
    table = f"with {', '.join(TABLES)}: this table only"
    parser.add_argument("--table", default="", choices=["examples", "questions", "exchanges", "verdicts"], help=table)
    parser.add_argument("--force", action="store_true", help="overwrite what exists")
    add_runs(parser, kinds=f"{RUN}, or a folder of runs")


def export_runs(given: Namespace) -> int:
    """Write one or many runs in the format of another tool.

    csv, jsonl and parquet are a folder with a file for each table, or one file with --table; inspect, mlflow, wandb and
    eee (Every Eval Ever) are a folder with an entry for each agent and span. Nothing is overwritten without --force.
    Exit status 1 if something is missing because a run was killed or a journal is damaged, or if results do not follow
    from the record.
    """
    if given.table and given.to not in TABLES:
        raise ConfigurationError(f"--table goes with {', '.join(TABLES)}, not with {given.to}")
    loaded = load(*given.runs, ltm_dir=given.ltm_dir)
    results = replace(loaded, runs=tuple(map(mark_discrepancies, loaded.runs)))
    suffix = f".{given.to}" if given.table else SINGLE_FILE_FORMATS.get(given.to, "")
    written = _export_targets(results, given.output or Path(f"ltm-{given.table or given.to}{suffix}"), given)
    write_all(written, force=given.force)
    for each in written:
        print(each)
    differs = [text for run in results.runs for text in run.result.notices if text.startswith(DIFFERS)]
    for text in [*(f"missing: {text}" for text in results.missing), *map(one_line, differs)]:
        print(redact_secrets(text), file=sys.stderr)
    return 1 if results.missing or differs else 0


def _export_targets(results: Results, to: Path, given: Namespace) -> Sequence[ExportTarget]:
    if given.to in TABLES:
        return table_files.outputs(results, to, given.to, given.table)
    if given.to in WRITERS:
        return WRITERS[given.to](results, to)
    text = paper_latex(results.runs) if given.to == "latex" else _runs_markdown(results)
    return [ExportTarget(to, lambda path: write_output(path, for_file(text)))]


def _runs_markdown(results: Results) -> str:
    pages = [
        run_markdown(
            run.result,
            sentences=run_sentences(result_columns(run.result), run.summary.get("comparison")),
            verdict=gate_from_json(run.summary.get("gate"), f"{run.path}, gate"),
        )
        for run in results.runs
    ]
    return "\n".join([*pages, paper_markdown(results.runs)])


# --- badge


def add_draw_arguments(parser: ArgumentParser) -> None:
    """Add the run, which of its scores, and the file."""
    kinds = f"{RUN}, or a baseline file (default: latest)"
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=kinds)
    add_output(parser, "FILE", "a file .svg or .json", default="ltm-badge.svg")
    for flag, metavar, text in (
        ("--agent", "LABEL", "the agent, if the run tests several, or bundled ones only"),
        ("--span", "LABEL", "the memory span's label (default: the longest)"),
        ("--label", "TEXT", "the text on the left (default: memory of AGENT at SPAN)"),
    ):
        parser.add_argument(flag, default="", metavar=metavar, help=text)
    add_ltm_dir(parser)


def draw_badge(given: Namespace) -> int:
    """Draw a badge: an agent's total at a memory span with its interval, and what the gate said.

    The badge has no score if the run is incomplete or could not be measured. Without --agent and --span it is about the
    agent under test at the longest span.
    """
    if given.output.suffix not in WRITTEN:
        raise ConfigurationError(f"-o: {str(given.output)!r}: a badge is a file {' or '.join(WRITTEN)}")
    past = _baseline_as_run(given)
    made = badge_of(past, _badge_score(past, given), given.label)
    write_output(given.output, for_file(WRITTEN[given.output.suffix](made)))
    # a script that reads stdout should not take a badge without a score for a result
    print(one_line(made.title), file=sys.stderr if made.colour == GREY else sys.stdout)
    return 0


def _baseline_as_run(given: Namespace) -> Past:
    path = Path(given.run)
    if not path.is_file():
        return read_past(find_run(given.run, given.ltm_dir))
    return Past(
        name=path.stem, path=path, at=None, state="finished", standings=result_standings(load_baseline(path).result)
    )


def _badge_score(past: Past, given: Namespace) -> HistoricalScore | None:
    """Return what the badge is about: the agent under test at the longest of its spans; None where nothing is known."""
    if not past.standings:
        return None
    matching_standings = [each for each in past.standings if given.agent in ("", each.agent)]
    if not given.agent:
        matching_standings = [each for each in matching_standings if each.own] or matching_standings
    matching_standings = [each for each in matching_standings if given.span in ("", each.span_label)]
    agents = {each.agent for each in matching_standings}
    if len(agents) == 1:
        return max(matching_standings, key=lambda each: each.span or 0)
    why = (
        "tests several agents" if agents else "has no such agent or span" if given.agent else "tests no agent of yours"
    )
    raise ConfigurationError(
        f"{past.name} {why}. Choose with --agent and --span: agents {', '.join(map(one_line, past.agents))}; spans "
        f"{', '.join(map(one_line, past.spans))}"
    )
