"""Many short runs of pytest: modules are imported once, and each run is a fork of this process.

A line of JSON on stdin, `[FOLDER, COMMAND LINE]`, is one run, or one of our own
commands if it begins with that name. The line on stdout is its exit status, or null if
it did not end. Its output goes to `screen.txt` in its folder.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from _pytest.config import default_plugins

from benchmarks.faults import processes, runs
from pytest_ltm._core import session
from pytest_ltm.api.model import load_encoding
from pytest_ltm.commands import PROGRAM
from pytest_ltm.commands import main as main_of_ltm

SECONDS = 60
"""Seconds after which a run is killed."""


@contextmanager
def forks(folder: Path) -> Iterator[Callable[[Path, Sequence[str]], runs.Ended]]:
    """Start such a process, and yield a function that runs pytest in a folder below `folder`."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env={**runs.environment(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None

        def play(where: Path, given: Sequence[str]) -> runs.Ended:
            return _asked(process.stdin, process.stdout, where, given)

        yield play


def _asked(
    put: IO[str] | None, get: IO[str] | None, where: Path, given: Sequence[str]
) -> runs.Ended:
    assert put is not None
    assert get is not None
    put.write(json.dumps([str(where), list(given)]) + "\n")
    put.flush()
    status = json.loads(get.readline())
    return runs.Ended(
        status, (where / "screen.txt").read_text(encoding="utf-8", errors="replace")
    )


def main() -> None:
    """Execute the runs from stdin until it ends."""
    modules = [
        module.name
        for module in pkgutil.walk_packages(
            session.__path__, "pytest_ltm._core.session."
        )
    ]
    for name in [
        *modules,
        *(f"_pytest.{plugin}" for plugin in default_plugins),
        "filelock",
    ]:
        importlib.import_module(name)
    load_encoding("cl100k_base")
    gc.freeze()  # lets garbage collections in the forks skip all this
    for line in sys.stdin:
        folder, given = json.loads(line)
        pid = os.fork()
        if not pid:
            _play(folder, given)
        print(json.dumps(_ended(pid)), flush=True)


def _play(folder: str, given: list[str]) -> None:
    try:
        os.chdir(folder)
        sys.path.insert(0, folder)
        os.environ[processes.MARK] = folder
        screen = os.open("screen.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(screen, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if given[0] == PROGRAM:
            status = main_of_ltm(given[1:])
        else:
            status = int(
                pytest.main(
                    ["-p", "pytest_ltm._core.session", "-p", "no:cacheprovider", *given]
                )
            )
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - whatever it is, this copy must not go on as the original
        status = 99
    os._exit(status)


def _ended(pid: int) -> int | None:
    def late(*_: object) -> None:
        os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return None if signal.alarm(0) == 0 and status == -signal.SIGKILL else status


if __name__ == "__main__":
    main()
