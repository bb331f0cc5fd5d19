"""Runs in a store of MLflow: a run of the experiment `pytest-ltm` for each agent and span. No server, no network."""

from __future__ import annotations

import json
import logging
import os
import re
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


EXPERIMENT = "pytest-ltm"
DATABASE = "mlflow.db"
# Says which agent, span and run it is: what is exported again is found by it.
_TAG = "ltm.part"
# What no part of a name in MLflow may hold: names may become paths.
_UNFIT = re.compile(r"[^A-Za-z0-9_\- ]")
_LONGEST_NAME, _LONGEST = 250, 6_000
"""Characters of a name, and of a parameter's value."""


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an entry for each agent and span in the store in the folder `to`; LtmError where mlflow is absent."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    import_library("mlflow", extra="mlflow", user="--to mlflow")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    there = _stored_ids(to) if (to / DATABASE).is_file() else set()
    rows = examples_of(results)
    return [
        ExportTarget(to, partial(_write_mlflow_run, part, rows(part)), escape_unprintable(part.name), part.id in there)
        for part in run_slices(results)
    ]


def _mlflow_client(store: Path) -> Any:
    mlflow = import_library("mlflow", extra="mlflow", user="")
    return mlflow.MlflowClient(tracking_uri=f"sqlite:///{(store / DATABASE).resolve()}")


def _experiment_id(client: Any, store: Path) -> str:
    experiment_by_name = client.get_experiment_by_name(EXPERIMENT)
    if experiment_by_name is not None:
        return str(experiment_by_name.experiment_id)
    return str(client.create_experiment(EXPERIMENT, artifact_location=(store / "artifacts").resolve().as_uri()))


def _stored_ids(store: Path) -> set[str]:
    client = _mlflow_client(store)
    return {run.data.tags.get(_TAG, "") for run in client.search_runs([_experiment_id(client, store)])}


def _write_mlflow_run(part: RunSlice, examples: Mapping[str, Any], store: Path) -> None:
    store.mkdir(exist_ok=True)
    client = _mlflow_client(store)
    experiment = _experiment_id(client, store)
    for old in client.search_runs([experiment], filter_string=f"tags.`{_TAG}` = '{part.id}'"):
        client.delete_run(old.info.run_id)
    began, ended = (int(at.timestamp() * 1_000) for at in (part.begin_time, part.end_time))
    name, tags = escape_unprintable(for_library(part.name)), {_TAG: part.id}
    run = client.create_run(experiment, start_time=began, run_name=name, tags=tags).info.run_id
    entities = import_library("mlflow.entities", extra="mlflow", user="")
    client.log_batch(
        run,
        metrics=[entities.Metric(mlflow_name(key), figure, began, 0) for key, figure in part.figures().items()],
        params=[entities.Param(key, value) for key, value in _run_parameters(part.facts()).items()],
    )
    client.log_table(run, dict(examples), "examples.json")
    client.set_terminated(run, status="FINISHED" if part.complete else "KILLED", end_time=ended)


def mlflow_name(name: str) -> str:
    """Return a name as MLflow can have it."""
    kind, slash, rest = name.partition("/")
    return f"{_UNFIT.sub('_', kind)}{slash}{_UNFIT.sub('_', rest)}"[:_LONGEST_NAME]


def _run_parameters(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts as names and texts; those of the plan have names such as `plan/filler`."""
    flat = {name: value for name, value in facts.items() if name != "plan"}
    flat |= {f"plan/{name}": value for name, value in facts["plan"].items()}
    known = {name: value for name, value in for_library(flat).items() if value not in (None, "")}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
    return {mlflow_name(name): escape_unprintable(text)[:_LONGEST] for name, text in texts.items()}
