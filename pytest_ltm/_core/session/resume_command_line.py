"""Starting a recorded run again (`--ltm-resume=RUN`): its command line is reused, except for options given again."""

from __future__ import annotations

import copy
import json
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.journal.run_file import (
    LATEST,
    RunFile,
    find_run,
    read_run_file,
    source_revision,
)
from pytest_ltm._core.session.options import DEFAULTS, option_table
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.errors import ConfigurationError
from pytest_ltm._core.storage.secrets import redacted_data

# Options of pytest that decide which items a conversation has.
SELECTING = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "ignore": "--ignore",
}
# Options that say what to do now, and where.
OF_THIS_SESSION = frozenset(
    {"ltm_resume", "ltm_rescore", "ltm_dry_run", "ltm_dir", "ltm_live"}
)
RESCORE = "--ltm-rescore"
HIDDEN = "[redacted"
# The folder of the run that is resumed.
RUN_FOLDER: pytest.StashKey[Path] = pytest.StashKey()


def take_over(
    config: pytest.Config,
    text: str,
    parser: pytest.Parser,
    args: list[str],
    *,
    flag: str,
) -> None:
    """Add to the command line what the run was started with; UsageError if it cannot be."""
    arguments = config.known_args_namespace
    folder = config.invocation_params.dir
    ltm_dir = config.rootpath / str(config.getini("ltm_dir") or DEFAULTS["ltm_dir"])
    if arguments.ltm_dir is not None:
        ltm_dir = folder / str(arguments.ltm_dir)
    try:
        result = find_run(text, ltm_dir, folder).resolve()
        if flag == RESCORE and text == LATEST:
            result = find_run(
                str(begun_by_controller(result).get("rescored") or text),
                ltm_dir,
                folder,
            ).resolve()
        run = read_run_file(result)
    except ConfigurationError as error:
        raise pytest.UsageError(f"{flag}: {error}") from error
    started = (config.rootpath / run.folder).resolve()
    if started != folder.resolve():
        reason = f"run {result.name} was started in {str(started)!r}, and its paths are relative to that folder"
        command = f"cd {shlex.quote(str(started))} && pytest {flag}={shlex.quote(text)}"
        raise pytest.UsageError(f"{flag}: {reason}. Run it there: {command}")
    if flag == RESCORE:
        # `latest` is about to be another one.
        rows = option_table(config).rows.values()
        without = frozenset(option.dest for option in rows if option.writes)
        args += [
            *_recorded_words(run, arguments, without=without),
            f"{RESCORE}={result}",
        ]
    else:
        config.stash[RUN_FOLDER] = result
        args += _recorded_words(run, arguments)
        if result.parent.name == "runs" and result.parent.parent != ltm_dir.resolve():
            # named by its path
            args.append(f"--ltm-dir={result.parent.parent}")
    config.known_args_namespace = parser.parse_known_args(
        args, namespace=copy.copy(config.option)
    )


def begun_by_controller(latest: Path) -> Mapping[str, Any]:
    """Return in an xdist worker the settings of the run that its controller has begun, as what `latest` is by then."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return read_run_file(latest).settings
    return {}


def source_of(config: pytest.Config) -> Path | None:
    """Return the folder of the run that is scored again, None where none is."""
    option = config.getoption("ltm_rescore")
    if option is None:
        return None
    return config.invocation_params.dir / str(option)


def recorded_settings(config: pytest.Config) -> Mapping[str, Any] | None:
    """Return the settings of the run that is resumed or scored again, None where none is."""
    folder = config.stash.get(RUN_FOLDER, None) or source_of(config)
    return None if folder is None else read_run_file(folder).settings


def recorded_plan(config: pytest.Config, label: str) -> Mapping[str, Any] | None:
    """Return a plan of this agent in the run that is resumed or scored again; None where there is none yet."""
    folder = config.stash.get(RUN_FOLDER, None) or source_of(config)
    plans = () if folder is None else sorted(folder.glob(f"{label}~*/plan.json"))
    for path in plans:
        with suppress(OSError, ValueError):
            plan = json.loads(read_regular(path))
            if isinstance(plan, dict):
                return plan
    return None


def run_file(config: pytest.Config, settings: RunSettings, run: str) -> RunFile:
    """Return how this session was started."""
    options = {
        name: redacted_data(value if isinstance(value, (bool, list)) else str(value))
        for name, value in vars(config.option).items()
        if value and (name in SELECTING or _is_ours(name))
    }
    versions = {name: version(name) for name in ("pytest-ltm", "pytest")}
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
    """Return what must be equal for a run to be resumed."""
    fields: dict[str, Any] = json.loads(
        json.dumps({**settings.describe_settings(), "seed": settings.seed.recorded})
    )
    return {name: redacted_data(value) for name, value in fields.items()}


def _is_ours(name: str) -> bool:
    return (name == "ltm" or name.startswith("ltm_")) and name not in OF_THIS_SESSION


def _recorded_words(
    run: RunFile, arguments: Any, without: frozenset[str] = frozenset()
) -> list[str]:
    """Return the words of the recorded command line that are not given again; only options that we know."""
    words = []
    agents_anew = bool(arguments.ltm_agent) or arguments.ltm
    for name, value in run.options.items():
        is_recorded = _is_ours(name) or name in SELECTING
        if (
            name in without
            or not is_recorded
            or not hasattr(arguments, name)
            or getattr(arguments, name)
        ):
            continue
        if name in {"ltm", "ltm_agent"} and agents_anew:
            continue
        flag = SELECTING.get(name) or f"--{name.replace('_', '-')}"
        values = value if isinstance(value, list) else [value]
        if any(isinstance(value, str) and HIDDEN in value for value in values):
            raise pytest.UsageError(
                f"{flag} held a secret, which is not recorded. Give it again"
            )
        words += [
            flag
            if value is True
            else f"{flag}={value}"
            if flag[1] == "-"
            else f"{flag}{value}"
            for value in values
        ]
    if arguments.file_or_dir:
        return words
    return words + [path for path in run.paths if not path.startswith("-")]
