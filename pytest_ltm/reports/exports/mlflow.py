"""Exports runs to an MLflow store: one entry per agent and span."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pytest_ltm.api.storage import escape_unprintable, for_library
from pytest_ltm.reports.exports.loaded import Results, RunSlice, examples_of, run_slices
from pytest_ltm.reports.exports.output import ExportTarget, import_library

# Values by column name.
Examples: TypeAlias = "dict[str, list[Any]]"
EXPERIMENT = "pytest-ltm"
DATABASE = "mlflow.db"
# Identifies agent, span and run, so that a repeated export finds its entry.
_TAG = "ltm.part"
# Characters that MLflow names must not contain: names may become paths.
_UNFIT = re.compile(r"[^A-Za-z0-9_\- ]")
_LONGEST_NAME, _LONGEST = 250, 6_000
"""Characters of a name, and of a parameter's value."""


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an entry per agent and span in the store in folder `to`; LtmError if mlflow is not installed."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import_library("mlflow", extra="mlflow", user="--to mlflow")
    # Both log every step of creating a database.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    stored: set[str] = set()
    # Querying a store that does not exist would create one.
    if (to / DATABASE).is_file():
        client, experiment = _open_store(to)
        runs = client.search_runs([experiment])
        stored = {run.data.tags.get(_TAG, "") for run in runs}
    rows = examples_of(results)
    targets: list[ExportTarget] = []
    for part in run_slices(results):
        target = ExportTarget(
            to,
            partial(_write_mlflow_run, part, rows(part)),
            escape_unprintable(part.name),
            part.id in stored,
        )
        targets.append(target)
    return targets


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
    begin = int(part.begin_time.timestamp() * 1_000)
    end = int(part.end_time.timestamp() * 1_000)
    name = escape_unprintable(for_library(part.name))
    tags = {_TAG: part.id}
    run = client.create_run(
        experiment, start_time=begin, run_name=name, tags=tags
    ).info.run_id
    entities = import_library("mlflow.entities", extra="mlflow", user="")
    facts = part.facts()
    # MLflow has no nested values, so plan fields get names such as `plan/filler`.
    plan = {f"plan/{name}": value for name, value in facts.pop("plan").items()}
    texts = {}
    for key, value in for_library(facts | plan).items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value)
            texts[mlflow_name(key)] = escape_unprintable(text)[:_LONGEST]
    metrics: list[Any] = []
    for key, figure in part.figures().items():
        metrics.append(entities.Metric(mlflow_name(key), figure, begin, 0))
    params = [entities.Param(key, text) for key, text in texts.items()]
    client.log_batch(run, metrics=metrics, params=params)
    client.log_table(run, examples, "examples.json")
    status = "FINISHED" if part.complete else "KILLED"
    client.set_terminated(run, status=status, end_time=end)


def mlflow_name(name: str) -> str:
    """Return the name with the characters that MLflow forbids replaced."""
    kind, slash, remainder = name.partition("/")
    return f"{_UNFIT.sub('_', kind)}{slash}{_UNFIT.sub('_', remainder)}"[:_LONGEST_NAME]
