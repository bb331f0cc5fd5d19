"""`export RUN... --to FORMAT -o PATH`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._results.change_report import gate_from_json
from pytest_ltm._storage.disk import write_whole
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm._storage.sanitize import for_file
from pytest_ltm.reporting.exports import inspect_ai, junit, mlflow, tables, wandb
from pytest_ltm.reporting.exports.loaded import load
from pytest_ltm.reporting.exports.output import ExportTarget, write_all
from pytest_ltm.reporting.markdown import run_markdown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from pytest_ltm.reporting.exports.loaded import Results


TABLES = ("csv", "jsonl", "parquet")
"""The formats that have a file for each table."""
FILES = {"junit": ".xml", "markdown": ".md"}
"""Those of one file, with its suffix."""
ROOMS = {"junit": junit.outputs, "inspect": inspect_ai.outputs, "mlflow": mlflow.outputs, "wandb": wandb.outputs}


def run(given: Namespace) -> int:
    """Write runs in a format; 0, or 1 if something of them is missing.

    LtmError if a run cannot be read, a file is there or cannot be written, or a library is absent.
    """
    if given.table and given.to not in TABLES:
        raise ConfigurationError(f"--table goes with {', '.join(TABLES)}, not with {given.to}")
    results = load(*given.runs, ltm_dir=given.ltm_dir)
    suffix = f".{given.to}" if given.table else FILES.get(given.to, "")
    written = _outputs(results, given.output or Path(f"ltm-{given.table or given.to}{suffix}"), given)
    write_all(written, force=given.force)
    for each in written:
        print(each)
    for text in results.missing:
        print(f"missing: {text}", file=sys.stderr)
    return 1 if results.missing else 0


def _outputs(results: Results, to: Path, given: Namespace) -> Sequence[ExportTarget]:
    if given.to in TABLES:
        return tables.outputs(results, to, given.to, given.table)
    if given.to in ROOMS:
        return ROOMS[given.to](results, to)
    return [ExportTarget(to, lambda path: write_whole(path, for_file(_markdown(results))))]


def _markdown(results: Results) -> str:
    return "\n".join(
        run_markdown(run.result, verdict=gate_from_json(run.summary.get("gate"), f"{run.path}, gate"))
        for run in results.runs
    )
