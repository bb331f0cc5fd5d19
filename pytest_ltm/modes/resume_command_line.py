"""Resuming or rescoring a run: its command line is reused, except for options given again."""

from __future__ import annotations

import copy
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.api.journal import LATEST, RunFile, find_run, read_run_file
from pytest_ltm.api.session import (
    DEFAULTS,
    RUN_FOLDER,
    SELECTING,
    is_recorded_option,
    option_table,
)
from pytest_ltm.api.storage import ConfigurationError

RESUME = "--ltm-resume"
RESCORE = "--ltm-rescore"
HIDDEN = "[redacted"


def take_over(config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Add the recorded words to the command line; UsageError if that is impossible."""
    arguments = config.known_args_namespace
    fields = {RESUME: arguments.ltm_resume, RESCORE: arguments.ltm_rescore}
    runs = {flag: run for flag, run in fields.items() if run is not None}
    if len(runs) > 1:
        raise pytest.UsageError(
            f"{RESCORE}: a run cannot be resumed and scored again at the same time"
        )
    ((flag, text),) = runs.items()
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
        if not started.is_dir():
            reason = f"run {result.name} was started in the folder {run.folder!r} of its project, which is not here"
            raise pytest.UsageError(f"{flag}: {reason}. Run it in that project")
        reason = f"run {result.name} was started in {str(started)!r}, and its paths are relative to that folder"
        command = f"cd {shlex.quote(str(started))} && pytest {flag}={shlex.quote(text)}"
        raise pytest.UsageError(f"{flag}: {reason}. Run it there: {command}")
    if flag == RESCORE:
        # `latest` is about to become another run.
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
            # Named by its path.
            args.append(f"--ltm-dir={result.parent.parent}")
    config.known_args_namespace = parser.parse_known_args(
        args, namespace=copy.copy(config.option)
    )
    # pytest has determined it; without it, all parent folders are searched for conftests
    config.known_args_namespace.confcutdir = arguments.confcutdir


def begun_by_controller(latest: Path) -> Mapping[str, Any]:
    """Return in an xdist worker the settings of the run begun by its controller, which is `latest` by then."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return read_run_file(latest).settings
    return {}


def _recorded_words(
    run: RunFile, arguments: Any, without: frozenset[str] = frozenset()
) -> list[str]:
    """Return the recorded words of the command line that are not given again; only known options."""
    words = []
    agents_anew = bool(arguments.ltm_agent) or arguments.ltm
    for name, value in run.options.items():
        is_recorded = is_recorded_option(name) or name in SELECTING
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
        for text in values:
            if text is True:
                words.append(flag)
            elif flag[1] == "-":
                words.append(f"{flag}={text}")
            else:
                words.append(f"{flag}{text}")
    if arguments.file_or_dir:
        return words
    return words + [path for path in run.paths if not path.startswith("-")]
