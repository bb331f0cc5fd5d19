"""`python -m pytest_ltm doctor [RUN]`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._doctor._environment import environment
from pytest_ltm._doctor._run import diagnose
from pytest_ltm._doctor._show import environment_lines, run_lines
from pytest_ltm._errors import ConfigurationError
from pytest_ltm._run_file import find_run
from pytest_ltm._secrets import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBLEMS = 1
"""The exit status where something is wrong."""
_LEAST = 60


def main(argv: Sequence[str]) -> int:
    """Print a diagnosis; 0, or 1 if something is wrong. ConfigurationError if there is no such run."""
    chosen = _parser().parse_args(argv)
    ltm_dir = Path(chosen.ltm_dir)
    width = max(shutil.get_terminal_size().columns, _LEAST)
    if chosen.run is None:
        here = environment(ltm_dir)
        lines, data, problems = environment_lines(here, width), here.to_json(), here.problems
    else:
        found = diagnose(_folder(chosen.run, ltm_dir), ltm_dir)
        lines, data, problems = run_lines(found, width), found.to_json(), found.problems
    text = json.dumps(data, indent=1, ensure_ascii=True) if chosen.json else "\n".join(lines)
    print(redacted(text))  # noqa: T201 - a command speaks
    return PROBLEMS if problems else 0


def _folder(said: str, ltm_dir: Path) -> Path:
    path = Path(said)
    if path.is_dir() and (path / "journal.jsonl").is_file():  # of one conversation
        return path.parent
    try:
        return find_run(ltm_dir, said, Path())
    except ConfigurationError:
        if path.is_dir():
            return path
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm doctor",
        description="Say what a run folder holds, what is wrong with it and what can be done with it; without RUN: "
        "what is installed and set here. Nothing is changed. Exit status 1 if something is wrong.",
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id, the path of its folder, or 'latest'")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where run folders are (default .ltm)")
    return parser
