"""Runs in a store of MLflow and as offline runs of W&B, which `wandb sync` sends: one for each agent and span."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pytest_ltm._core.storage.sanitize import escape_unprintable, for_library
from pytest_ltm.reports.exports.loaded import (
    Results,
    RunSlice,
    examples_of,
    run_slices,
)
from pytest_ltm.reports.exports.output import ExportTarget, import_library

# By column.
Examples: TypeAlias = "dict[str, list[Any]]"
EXPERIMENT = "pytest-ltm"
DATABASE = "mlflow.db"
# Says which agent, span and run it is: what is exported again is found by it.
_TAG = "ltm.part"
# What no part of a name in MLflow may hold: names may become paths.
_UNFIT = re.compile(r"[^A-Za-z0-9_\- ]")
_LONGEST_NAME, _LONGEST = 250, 6_000
"""Characters of a name, and of a parameter's value."""


def mlflow_outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an entry for each agent and span in the store in the folder `to`; LtmError where mlflow is absent."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import_library("mlflow", extra="mlflow", user="--to mlflow")
    # Both report each step of making a database, which is nobody's concern here.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    stored: set[str] = set()
    # Asking a store that is not there would make one.
    if (to / DATABASE).is_file():
        client, experiment = _open_store(to)
        stored = {
            run.data.tags.get(_TAG, "") for run in client.search_runs([experiment])
        }
    return _run_targets(results, to, _write_mlflow_run, lambda part: part.id in stored)


def _run_targets(
    results: Results,
    to: Path,
    write: Callable[[RunSlice, Examples, Path], None],
    is_there: Callable[[RunSlice], bool],
) -> list[ExportTarget]:
    rows = examples_of(results)
    return [
        ExportTarget(
            to,
            partial(write, part, rows(part)),
            escape_unprintable(part.name),
            is_there(part),
        )
        for part in run_slices(results)
    ]


def _open_store(store: Path) -> tuple[Any, str]:
    """Return a client of the store in this folder, and the id of our experiment in it."""
    mlflow = import_library("mlflow", extra="mlflow", user="")
    client = mlflow.MlflowClient(
        tracking_uri=f"sqlite:///{(store / DATABASE).resolve()}"
    )
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        return client, str(experiment.experiment_id)
    return client, str(
        client.create_experiment(
            EXPERIMENT, artifact_location=(store / "artifacts").resolve().as_uri()
        )
    )


def _write_mlflow_run(part: RunSlice, examples: Examples, store: Path) -> None:
    store.mkdir(exist_ok=True)
    client, experiment = _open_store(store)
    for old in client.search_runs(
        [experiment], filter_string=f"tags.`{_TAG}` = '{part.id}'"
    ):
        client.delete_run(old.info.run_id)
    began, ended = (
        int(at.timestamp() * 1_000) for at in (part.begin_time, part.end_time)
    )
    name, tags = escape_unprintable(for_library(part.name)), {_TAG: part.id}
    run = client.create_run(
        experiment, start_time=began, run_name=name, tags=tags
    ).info.run_id
    entities = import_library("mlflow.entities", extra="mlflow", user="")
    facts = part.facts()
    # MLflow has no nested values: those of the plan get names such as `plan/filler`.
    plan = {f"plan/{name}": value for name, value in facts.pop("plan").items()}
    known = {
        name: value
        for name, value in for_library(facts | plan).items()
        if value not in (None, "")
    }
    texts = {
        mlflow_name(key): one if isinstance(one, str) else json.dumps(one)
        for key, one in known.items()
    }
    client.log_batch(
        run,
        metrics=[
            entities.Metric(mlflow_name(key), figure, began, 0)
            for key, figure in part.figures().items()
        ],
        params=[
            entities.Param(key, escape_unprintable(text)[:_LONGEST])
            for key, text in texts.items()
        ],
    )
    client.log_table(run, examples, "examples.json")
    client.set_terminated(
        run, status="FINISHED" if part.complete else "KILLED", end_time=ended
    )


def mlflow_name(name: str) -> str:
    """Return a name as MLflow can have it."""
    kind, slash, rest = name.partition("/")
    return f"{_UNFIT.sub('_', kind)}{slash}{_UNFIT.sub('_', rest)}"[:_LONGEST_NAME]


PROJECT = "pytest-ltm"
# What W&B would add of itself: this machine, its packages, its repository, what is
# printed.
_QUIET = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "save_code": False,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}


def wandb_outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an offline run for each agent and span in the folder `to`; LtmError where wandb is absent."""
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    for kind in ("CACHE", "CONFIG", "DATA"):  # else they are in the user's home
        os.environ[f"WANDB_{kind}_DIR"] = str(to.resolve() / kind.lower())
    import_library("wandb", extra="wandb", user="--to wandb")
    return _run_targets(
        results, to, _write_wandb_run, lambda part: bool(_written_runs(part, to))
    )


def _written_runs(part: RunSlice, to: Path) -> list[Path]:
    return list((to / "wandb").glob(f"offline-run-*-{part.id}"))


def _write_wandb_run(part: RunSlice, examples: Examples, to: Path) -> None:
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
