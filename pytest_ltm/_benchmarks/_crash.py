"""`crash`: runs that are killed at random points and gone on with until they are done must equal those that never were.

Each drill plays the standard suite with three examples, 33 in one conversation, with an agent whose every reply depends
on everything that it heard. The process kills itself (SIGKILL) some milliseconds after a random message has come in.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._clock import stopwatch
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIZE = 200
"""How many drills."""
KINDS = ("Saved", "Told", "Stateless", "SavedAndTold")
WORDS = ("--ltm-suite=standard", "--ltm-examples=3", "--ltm-span=2k")
KILLS = 3
"""So many times each run is killed on average."""
LATEST = 20.0
"""Milliseconds that may pass from a message to the kill."""
AGENTS = Path(__file__).with_name("_crash_agents.py")


class Run(NamedTuple):
    """What a run left."""

    files: dict[str, bytes]
    """Everything that must be equal, by its path in the run folder."""
    heard: list[tuple[int, str]]
    """Each message that an agent was asked, with the process that it was in."""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for every tenth drill and one for all; LtmError, with the folder kept, for the first that fails."""
    began, kills, passed = stopwatch(), 0, 0
    with tempfile.TemporaryDirectory(prefix="ltm-drill-") as folder:
        whole = {kind: undisturbed(Path(folder) / kind, kind, WORDS) for kind in KINDS[:size]}
        for number in range(size * repeats):
            kind = KINDS[number % len(KINDS)]
            kills += drill(Path(folder) / f"drill{number}", kind, whole[kind], random.Random(number), WORDS)
            passed += 1
            if passed % 10 == 0:
                yield f"{passed} drills passed, {kills} kills, {stopwatch() - began:.0f} s"
    yield f"{passed} of {size * repeats} drills passed; {kills} kills survived"


def drill(folder: Path, kind: str, undisturbed: Run, rng: random.Random, words: Sequence[str]) -> int:
    """Kill and resume one run until it is done, and return how often it was killed.

    LtmError, and the folder stays, if it does not equal the undisturbed run or a message was sent again that was not
    on its way.
    """
    asked = len(undisturbed.heard)
    kills, status, start = 0, _started(folder, kind, words, _when(rng, asked)), 0
    while status == -signal.SIGKILL:
        kills += 1
        before, start = start, len({message for _, message in _heard(folder)})
        if kills > 2 * asked:
            raise LtmError(f"{folder}: killed {kills} times and not done")
        # Who was killed twice at one message gets past it: on a slow machine that might go on for ever.
        status = _resumed(folder, _when(rng, max(asked - start, 1), least=1 if start > before else 2))
    if status not in {0, 1}:
        raise LtmError(f"{folder}: pytest ended with status {status}: {_tail(folder)}")
    _compare(folder, _left(folder), undisturbed, kills)
    shutil.rmtree(folder)
    return kills


def undisturbed(folder: Path, kind: str, words: Sequence[str]) -> Run:
    """Return what a run leaves that nobody kills."""
    status = _started(folder, kind, words, "")
    if status not in {0, 1}:
        raise LtmError(f"{folder}: the undisturbed run ended with status {status}: {_tail(folder)}")
    return _left(folder)


def _compare(folder: Path, run: Run, undisturbed: Run, kills: int) -> None:
    for name in sorted(undisturbed.files.keys() | run.files.keys()):
        if run.files.get(name) != undisturbed.files.get(name):
            raise LtmError(f"{folder}: after {kills} kills {name} is another one than undisturbed")
    once = [
        message
        for (before, earlier), (process, message) in zip([(0, ""), *run.heard], run.heard, strict=False)
        if process == before or message != earlier
    ]
    if once != [message for _, message in undisturbed.heard]:
        raise LtmError(f"{folder}: after {kills} kills other messages were sent than undisturbed")


def _when(rng: random.Random, messages: int, least: int = 1) -> str:
    """Return after which message, and how many milliseconds later, the process is to kill itself."""
    number = rng.randint(least, max(least, 2 * messages // (KILLS + 1)))
    return f"{number}:{rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, LATEST)])}"


def _started(folder: Path, kind: str, words: Sequence[str], kill: str) -> int:
    folder.mkdir(exist_ok=True)
    shutil.copy(AGENTS, folder / "drilled.py")
    return _pytest(folder, [f"--ltm-agent=drilled:{kind}", *words], kill)


def _resumed(folder: Path, kill: str) -> int:
    return _pytest(folder, ["--ltm-resume=latest"], kill)


def _pytest(folder: Path, words: Sequence[str], kill: str) -> int:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LTM_DRILL_KILL": kill}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_ltm.plugin", "-p", "no:cacheprovider", *words]
    with (folder / "output.txt").open("wb") as output:
        return subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        ).returncode


def _left(folder: Path) -> Run:
    (run,) = (folder / ".ltm" / "runs").iterdir()
    names = ("*/journal.jsonl", "*/results.json", "*/plan.json", "verdicts.csv")
    files = {str(path.relative_to(run)): path.read_bytes() for name in names for path in run.glob(name)}
    return Run(files, _heard(folder))


def _heard(folder: Path) -> list[tuple[int, str]]:
    path = folder / "heard.jsonl"
    if not path.exists():
        return []
    return [(process, message) for process, message in map(json.loads, path.read_text(encoding="utf-8").splitlines())]


def _tail(folder: Path) -> str:
    return (folder / "output.txt").read_text(encoding="utf-8", errors="replace")[-2_000:]
