"""`drills`: workers are killed at any moment; the result must be that of an undisturbed run, to the byte."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._clock import stopwatch
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 100
"""So many runs are disturbed."""
WORKERS = 2
SLOW = 10
"""A drill that takes so many times as long as the undisturbed run is told, too."""
MOST_KILLS = 3
"""In one run, at moments spread over the time that the undisturbed run took."""
AGENT = '''
import json
import os
import time
from pathlib import Path

ASKED = Path(os.environ["DRILL_ASKED"])


class _Agent:
    """Its replies depend on all that it was told: a lost or doubled exchange would show."""

    def __init__(self):
        self.heard = []

    def reply(self, message):
        with ASKED.open("a", encoding="utf-8") as file:
            file.write("x")
        time.sleep(0.01)
        self.accept(message, "")
        return f"reply {len(self.heard)} to {sum(map(len, self.heard))} characters: {message[-80:]}"

    def accept(self, message, reply):
        self.heard.append(message)


class Told(_Agent):
    """Is told again what was said (AcceptsHistory)."""


class Saved:
    """Is saved and loaded (Checkpointable)."""

    def __init__(self):
        self._agent = _Agent()

    def reply(self, message):
        return self._agent.reply(message)

    def save(self):
        return json.dumps(self._agent.heard).encode()

    def load(self, state):
        self._agent.heard = json.loads(state)


class Stateless:
    """Needs nothing."""

    stateless = True

    def reply(self, message):
        return _Agent().reply(message)
'''


class Drill(NamedTuple):
    """What one run left behind."""

    files: dict[str, bytes]
    """Journals and results of all conversations, by path."""
    outcomes: str
    """The last words of the terminal, without the time."""
    asked: int
    """Messages that agents were sent."""
    kills: int
    seconds: float
    output: str


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each drill that differs, then the count; LtmError where processes cannot be found."""
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        raise LtmError("drills look for the workers' processes in /proc, which this system does not have")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "drill.py").write_text(AGENT, encoding="utf-8")
        for repeat in range(repeats):
            yield from _series(folder, size, random.Random(repeat))


def _series(folder: Path, size: int, chance: random.Random) -> Iterator[str]:
    calm = drill(folder, [])
    same = kills = again = 0
    longest = 0.0
    for number in range(1, size + 1):
        moments = sorted(chance.uniform(0, calm.seconds) for _ in range(chance.randint(1, MOST_KILLS)))
        disturbed = drill(folder, moments, chance)
        equal = (disturbed.files, disturbed.outcomes) == (calm.files, calm.outcomes)
        bounded = disturbed.asked - calm.asked <= disturbed.kills
        same, kills, again = same + (equal and bounded), kills + disturbed.kills, again + disturbed.asked - calm.asked
        longest = max(longest, disturbed.seconds)
        if not (equal and bounded) or disturbed.seconds > SLOW * calm.seconds:
            yield f"drill {number}: {_difference(calm, disturbed)}"
    yield f"{size} drills, {kills} workers killed: {same} ended like the undisturbed run, byte for byte"
    yield f"messages sent again: {again} (at most one for each kill); undisturbed {calm.asked} in {calm.seconds:.1f} s"
    yield f"the longest disturbed run: {longest:.1f} s"


def drill(folder: Path, moments: list[float], chance: random.Random | None = None) -> Drill:
    """Run once, and kill one worker at each of these moments, in seconds from the start."""
    asked, run = folder / "asked.txt", folder / ".ltm"
    asked.write_bytes(b"")
    words = [
        "--ltm-agent=told=drill:Told,saved=drill:Saved,still=drill:Stateless", "--ltm-suite=standard",
        "--ltm-examples=1", f"-n{WORKERS}", "--max-worker-restart=1000", "-q", "--tb=no", "-rN", "--ltm-worker-tries=9",
        "-p", "no:cacheprovider", f"--ltm-dir={run}",
    ]  # fmt: skip
    environment = {**os.environ, "DRILL_ASKED": str(asked), "PYTHONPATH": _found_first(folder)}
    began, kills = stopwatch(), 0
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output,
        )  # fmt: skip
        for moment in moments:
            if _ends_before(process, moment - (stopwatch() - began)):
                break
            kills += _kill_one(process.pid, chance or random.Random(0))
        process.wait()
    seconds = stopwatch() - began
    text = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
    files = {
        path.relative_to(run).as_posix().split("/", 2)[2]: path.read_bytes()
        for path in run.glob("runs/*/*/*")
        if path.name in {"journal.jsonl", "results.json"}
    }
    outcomes = next((line.rpartition(" in ")[0] for line in reversed(text.splitlines()) if " in " in line), "")
    drilled = Drill(files, outcomes, asked.stat().st_size, kills, seconds, text)
    _forget(run)
    return drilled


def _ends_before(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_one(controller: int, chance: random.Random) -> int:
    """Kill one of the workers of a controller that this process started; return how many were killed."""
    path = Path(f"/proc/{controller}/task/{controller}/children")
    workers = path.read_text(encoding="ascii").split() if path.exists() else []
    if not workers:
        return 0
    try:
        os.kill(int(chance.choice(workers)), signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _found_first(folder: Path) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def _forget(folder: Path) -> None:
    import shutil  # noqa: PLC0415 - beside its only use

    shutil.rmtree(folder, ignore_errors=True)


def _difference(calm: Drill, disturbed: Drill) -> str:
    names = sorted({*calm.files, *disturbed.files})
    differing = [name for name in names if calm.files.get(name) != disturbed.files.get(name)]
    told = [line for line in disturbed.output.splitlines() if ("ltm: " in line and "worker" in line) or "Error" in line]
    return (
        f"{disturbed.seconds:.0f} s, {disturbed.kills} kills; outcomes {disturbed.outcomes!r} for {calm.outcomes!r}; "
        f"{disturbed.asked - calm.asked} messages sent again; differing files: {', '.join(differing) or 'none'}; "
        + "; ".join(told)
    )
