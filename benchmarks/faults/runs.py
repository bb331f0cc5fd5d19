"""Runs of pytest in the folder of a case, and the files that must be equal with and without a fault."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import killed
from benchmarks.faults import processes
from benchmarks.faults.traces import PLANTED
from pytest_ltm.api.storage import LtmError

LIMIT = 120.0
"""Seconds after which a run counts as hanging."""
SUITE = ("--ltm-suite=none", "--ltm-span=300", "test_talk.py")
TALK = """
import pytest


@pytest.mark.parametrize("number", range({count}))
def test_talk(ltm, number):
    ltm.say(f"Locker {{number}} opens with {{number}}4{{number}}.")
    ltm.wait(span=0.5)
    ltm.say(f"Never mind the weather, number {{number}}.")
    ltm.wait(span=0.5)
    ltm.check("names the locker", "locker" in ltm.ask(f"What opens locker {{number}}?"))
"""
FINE = (0, 1)
"""Exit statuses of a completed measurement, whatever the scores."""


class Ended(NamedTuple):
    """The end of a run of pytest."""

    status: int | None
    """None if it did not end within LIMIT."""
    screen: str

    @property
    def trouble(self) -> str | None:
        """A failure that no run may show under any fault, or None."""
        if self.status is None:
            return f"it does not end within {LIMIT:.0f} s"
        for words in ("INTERNALERROR", "LtmInternalError", "in _console_main"):
            if words in self.screen:
                return f"pytest broke: {self.screen.strip().splitlines()[-1]}"
        return None


def words(agents: str) -> list[str]:
    """Return the options of a run with these agents."""
    return [f"--ltm-agent={agents}", *SUITE, "--ltm-no-probe", "--ltm-worker-tries=9"]


def prepared(folder: Path, count: int = 2) -> Path:
    """Write agents and `count` scenarios into a new folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(killed.AGENTS, folder / "drilled.py")
    (folder / "test_talk.py").write_text(TALK.format(count=count), encoding="utf-8")
    (folder / "conftest.py").touch()
    # marks the root, so that pytest does not search above it
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return folder


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a case's processes, with planted secrets and the case's mark."""
    apart = {name: value for name, value in os.environ.items() if name not in _APART}
    return {**apart, **PLANTED, **_OURS, processes.MARK: str(folder), **(more or {})}


_APART = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
_OURS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "COLUMNS": "200",
}


def pytest_command(given: Sequence[str]) -> list[str]:
    """Return the command of a run, with no plugins but ours."""
    return [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "pytest_ltm._core.session",
        "-p",
        "no:cacheprovider",
        *given,
    ]


def run(
    folder: Path,
    given: Sequence[str],
    more: Mapping[str, str] | None = None,
    *,
    wrap: Sequence[str] = (),
    disturb: Callable[[subprocess.Popen[bytes]], object] = lambda _: None,
) -> Ended:
    """Run pytest in the folder of a case until it ends or reaches LIMIT.

    Args:
        folder: where it runs, and where its output is saved.
        given: its options.
        more: variables in addition to `environment`.
        wrap: a command in front of it.
        disturb: called with the running process.
    """
    screen = folder / f"screen-{len(list(folder.glob('screen-*.txt')))}.txt"
    with screen.open("wb") as output:
        process = subprocess.Popen(
            [*wrap, *pytest_command(given)],
            cwd=folder,
            env=environment(folder, more),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        status: int | None = None
        try:
            disturb(process)
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                processes.kill(processes.of(folder))
                process.wait()
    return Ended(status, screen.read_text(encoding="utf-8", errors="replace"))


def undisturbed(
    folder: Path, given: Sequence[str], more: Mapping[str, str] | None = None
) -> killed.Run:
    """Return the traces of a run without a fault; LtmError with its output if it breaks."""
    ended = run(folder, given, more)
    if ended.status not in FINE:
        raise LtmError(
            f"the undisturbed run ended with status {ended.status}:\n{ended.screen[-2_000:]}"
        )
    return left(folder)


def run_folder(folder: Path) -> Path | None:
    """Return the folder of the case's run, or None if it did not get that far."""
    return next((path.parent for path in folder.glob(".ltm/runs/*/run.json")), None)


def left(folder: Path) -> killed.Run:
    """Return the traces of the case's run, ignoring runs that ended before they had begun."""
    for path in folder.glob(".ltm/runs/*"):
        if not (path / "run.json").exists():
            shutil.rmtree(path)
    return killed.left(folder, killed.KEPT)


def resumed(folder: Path, more: Mapping[str, str] | None = None) -> Ended:
    """Resume the run of a case."""
    return run(folder, ["--ltm-resume=latest"], more)


def changed(now: killed.Run, calm: killed.Run, *, only: str = "") -> str | None:
    """Return the difference from a run without the fault, in conversation folders that begin with `only`."""
    names = sorted(name for name in {*now.files, *calm.files} if name.startswith(only))
    differing = [name for name in names if now.files.get(name) != calm.files.get(name)]
    return f"other than undisturbed: {', '.join(differing)}" if differing else None
