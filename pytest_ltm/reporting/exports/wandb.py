"""Runs as offline runs of W&B: one of the project `pytest-ltm` for each agent and span. `wandb sync` sends them."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.sanitize import escape_unprintable, for_library
from pytest_ltm.reporting.exports.output import ExportTarget, import_library
from pytest_ltm.reporting.exports.run_slices import examples_of, run_slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.reporting.exports.loaded import Results
    from pytest_ltm.reporting.exports.run_slices import RunSlice


PROJECT = "pytest-ltm"
# What W&B would add of itself: this machine, its packages, its repository, what is printed.
_QUIET = {
    "silent": True, "console": "off", "disable_git": True, "disable_code": True, "save_code": False,
    "x_disable_meta": True, "x_disable_stats": True, "x_disable_machine_info": True, "x_save_requirements": False,
}  # fmt: skip


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an offline run for each agent and span in the folder `to`; LtmError where wandb is absent."""
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    for kind in ("CACHE", "CONFIG", "DATA"):  # else they are in the user's home
        os.environ[f"WANDB_{kind}_DIR"] = str(to.resolve() / kind.lower())
    import_library("wandb", extra="wandb", user="--to wandb")
    rows = examples_of(results)
    return [
        ExportTarget(
            to,
            partial(_write_wandb_run, part, rows(part)),
            escape_unprintable(part.name),
            bool(_written_runs(part, to)),
        )
        for part in run_slices(results)
    ]


def _written_runs(part: RunSlice, to: Path) -> list[Path]:
    return list((to / "wandb").glob(f"offline-run-*-{part.id}"))


def _write_wandb_run(part: RunSlice, examples: Mapping[str, list[Any]], to: Path) -> None:
    wandb = import_library("wandb", extra="wandb", user="")
    to.mkdir(exist_ok=True)
    for old in _written_runs(part, to):
        shutil.rmtree(old)
    run = wandb.init(
        mode="offline",
        project=PROJECT,
        id=part.id,
        name=escape_unprintable(for_library(part.name)),
        group=escape_unprintable(for_library(part.run.result.run_id)),
        dir=str(to),
        config=for_library(part.facts()),
        settings=wandb.Settings(**_QUIET),
    )
    lines = [list(line) for line in zip(*examples.values(), strict=True)]
    table = wandb.Table(columns=list(examples), data=lines, allow_mixed_types=True)
    run.log({**for_library(part.figures()), "example_table": table})
    run.finish(exit_code=0 if part.complete else 1)
