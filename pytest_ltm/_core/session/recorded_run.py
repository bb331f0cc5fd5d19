"""How a session was started, as its run records it; and the recorded settings of a resumed or rescored run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.journal.run_file import (
    RunFile,
    own_version,
    read_run_file,
    source_revision,
)
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.secrets import redacted_data

# Options of pytest that decide which items a conversation has.
SELECTING = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "ignore": "--ignore",
}
# Options about the current session only: what to do, and where.
OF_THIS_SESSION = frozenset(
    {"ltm_resume", "ltm_rescore", "ltm_dry_run", "ltm_dir", "ltm_live"}
)
# The folder of the run that is resumed.
RUN_FOLDER: pytest.StashKey[Path] = pytest.StashKey()


def source_of(config: pytest.Config) -> Path | None:
    """Return the folder of the run to rescore; None if there is none."""
    option = config.getoption("ltm_rescore")
    if option is None:
        return None
    return config.invocation_params.dir / str(option)


def recorded_settings(config: pytest.Config) -> Mapping[str, Any] | None:
    """Return the settings of the run that is resumed or rescored; None if there is none."""
    folder = config.stash.get(RUN_FOLDER, None) or source_of(config)
    return None if folder is None else read_run_file(folder).settings


def recorded_plan(config: pytest.Config, label: str) -> Mapping[str, Any] | None:
    """Return a plan of this agent in the run that is resumed or rescored; None if there is none yet."""
    folder = config.stash.get(RUN_FOLDER, None) or source_of(config)
    plans = () if folder is None else sorted(folder.glob(f"{label}~*/plan.json"))
    for path in plans:
        with suppress(OSError, ValueError):
            plan = json.loads(read_regular(path))
            if isinstance(plan, dict):
                return plan
    return None


def run_file(config: pytest.Config, settings: RunSettings, run: str) -> RunFile:
    """Return the record of how this session was started."""
    options = {
        name: redacted_data(value if isinstance(value, (bool, list)) else str(value))
        for name, value in vars(config.option).items()
        if value and (name in SELECTING or is_recorded_option(name))
    }
    versions = {"pytest-ltm": own_version(), "pytest": version("pytest")}
    return RunFile(
        run=run,
        options=options,
        paths=tuple(map(str, config.option.file_or_dir or ())),
        folder=os.path.relpath(config.invocation_params.dir, config.rootpath),
        settings=resume_identity(settings),
        versions=versions,
        source=source_revision(config.rootpath),
    )


def resume_identity(settings: RunSettings) -> dict[str, Any]:
    """Return the settings that must be equal for a run to be resumed."""
    fields: dict[str, Any] = json.loads(
        json.dumps({**settings.describe_settings(), "seed": settings.seed.recorded})
    )
    return {name: redacted_data(value) for name, value in fields.items()}


def is_recorded_option(name: str) -> bool:
    """Return whether an option is ours and is recorded with the run."""
    return (name == "ltm" or name.startswith("ltm_")) and name not in OF_THIS_SESSION
