"""pytest in its own process, for commands that measure scenarios rather than agents."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_ltm.api.storage import LtmError
from pytest_ltm.figures.run_loading import LoadedRun, read_run

_PLAYED = {0, 1, 75}  # exit statuses of pytest that leave results


def play_run(
    specs: Sequence[str], words: Sequence[str], folder: Path, cwd: Path | None = None
) -> LoadedRun:
    """Play in a separate pytest session below `folder`; return the run. LtmError with its output if none.

    `cwd`: a working directory without the project's tests and settings.
    """
    run, printed = run_pytest(
        [*(f"--ltm-agent={spec}" for spec in specs), *words], folder, cwd=cwd
    )
    if run is None:
        lines = [line for line in printed if line.startswith("ERROR")] or printed[-12:]
        raise LtmError(
            "nothing was played; pytest says:\n"
            + "\n".join(f"  {line}" for line in lines)
        )
    return read_run(run)


def run_pytest(
    words: Sequence[str],
    ltm_dir: Path,
    *,
    python: str = sys.executable,
    cwd: Path | None = None,
) -> tuple[Path | None, list[str]]:
    """Return the run of a pytest session in this folder (None without results), and the output."""
    # the cache is the user's: --lf must not mean tests that a command played
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        f"--ltm-dir={ltm_dir}",
        *words,
    ]
    session = subprocess.run(  # noqa: S603 - the interpreter that runs this, or the one that the user names
        command, capture_output=True, text=True, errors="replace", check=False, cwd=cwd
    )
    runs = sorted((ltm_dir / "runs").glob("*"))
    run = runs[-1] if runs and session.returncode in _PLAYED else None
    return run, (session.stdout + session.stderr).strip().splitlines()
