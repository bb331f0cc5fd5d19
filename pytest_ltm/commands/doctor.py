"""`doctor [RUN]`: the contents, problems and options of a run folder; what is installed.

Reports everything it finds; only `--repair` changes files.
"""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from pytest_ltm.api.journal import JOURNAL, run_file
from pytest_ltm.api.storage import redact_secrets
from pytest_ltm.commands.arguments import RUN, add_flags, add_json, add_ltm_dir
from pytest_ltm.commands.environment import (
    Environment,
    diagnose_environment,
    environment_lines,
)
from pytest_ltm.commands.journal_check import repair_journals, verify_journals
from pytest_ltm.commands.run_diagnosis import Diagnosis, diagnose_run, run_lines

# The exit status if there are problems.
PROBLEMS = 1
_LEAST_WIDTH = 60


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, and the actions on its journals."""
    parser.add_argument("run", nargs="?", metavar="RUN", help=RUN)
    action = parser.add_mutually_exclusive_group()
    add_flags(
        action,
        verify="check every line of RUN's journals against its checksum, and print the last checksums",
        repair="restore flipped bits in RUN's journals, and cut a journal before other damage; damaged files are kept",
    )
    add_json(parser)
    add_ltm_dir(parser)


def show_diagnosis(arguments: Namespace) -> int:
    """Show the contents of a run folder, its problems and what can be done with it.

    Without RUN, show what is installed and configured here. Only --repair changes anything. Exit status 1 if there are
    problems.
    """
    ltm_dir: Path = arguments.ltm_dir
    if arguments.repair:
        return repair_journals(_find_folder(arguments.run or run_file.LATEST, ltm_dir))
    if arguments.verify:
        folder = _find_folder(arguments.run or run_file.LATEST, ltm_dir)
        return verify_journals(folder, as_json=arguments.json)
    width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
    diagnosis: Environment | Diagnosis
    if arguments.run is None:
        diagnosis = diagnose_environment(ltm_dir)
        lines = environment_lines(diagnosis, width)
    else:
        diagnosis = diagnose_run(_find_folder(arguments.run, ltm_dir), ltm_dir)
        lines = run_lines(diagnosis, width)
    text = "\n".join(lines)
    if arguments.json:
        text = json.dumps(asdict(diagnosis), indent=1)
    print(redact_secrets(text))
    return PROBLEMS if diagnosis.problems else 0


def _find_folder(text: str, ltm_dir: Path) -> Path:
    """Return the folder of a run, given as its ID, its path or the path of one of its conversations."""
    if (Path(text) / JOURNAL).is_file():
        return Path(text).parent
    return run_file.find_run(text, ltm_dir).resolve()
