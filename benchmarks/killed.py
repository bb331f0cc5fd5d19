"""Runs killed at random points must end with the same files as undisturbed ones, byte for byte.

`crash`: the standard suite with three examples, 33 in one conversation. The process
kills itself (SIGKILL) some milliseconds after a random message has arrived, and the run
is resumed until it finishes. `drills`: three agents on two workers, which are killed at
any moment. `in_flight`: three agents in 33 conversations, 32 of them played at once.
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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.runs import check_ended, children
from pytest_ltm.api.storage import LtmError, sleep_interruptibly, stopwatch_seconds

AGENTS = Path(__file__).with_name("killed_agents.py")


class Run(NamedTuple):
    """The traces of a run."""

    files: dict[str, bytes]
    """All files that must be equal, by path in the run folder."""
    heard: list[tuple[int, str]]
    """Each message that reached an agent, with the id of its process."""


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]


def left(folder: Path, names: Sequence[str]) -> Run:
    """Return the traces of the only run in a folder, with the files that match these patterns."""
    (run,) = (folder / ".ltm" / "runs").iterdir()
    files = {}
    for name in names:
        for path in run.glob(name):
            files[str(path.relative_to(run))] = path.read_bytes()
    return Run(files, _heard(folder))


def _heard(folder: Path) -> list[tuple[int, str]]:
    path = folder / "heard.jsonl"
    if not path.exists():
        return []
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(process, message) for process, message in rows]


# --- crash

KINDS = ("Saved", "Told", "Stateless", "SavedAndTold")
WORDS = ("--ltm-suite=standard", "--ltm-examples=3", "--ltm-span=2k")
KILLS = 3
"""Average number of kills per run."""
LATEST = 20.0
"""Longest delay from a message to the kill, in milliseconds."""
KEPT = ("*/journal.jsonl", "*/results.json", "*/plan.json", "verdicts.csv")


def crash(size: int, repeats: int) -> Iterator[str]:
    """Yield a line per ten drills and a total; LtmError for the first failure, whose folder is kept."""
    began, kills, passed = stopwatch_seconds(), 0, 0
    with tempfile.TemporaryDirectory(prefix="ltm-drill-") as folder:
        whole = {}
        for kind in KINDS[:size]:
            whole[kind] = undisturbed(Path(folder) / kind, kind, WORDS)
        for number in range(size * repeats):
            kind = KINDS[number % len(KINDS)]
            kills += drill(
                Path(folder) / f"drill{number}",
                kind,
                whole[kind],
                random.Random(number),
                WORDS,
            )
            passed += 1
            if passed % 10 == 0:
                yield f"{passed} drills passed, {kills} kills, {stopwatch_seconds() - began:.0f} s"
    yield f"{passed} of {size * repeats} drills passed; {kills} kills survived"


def drill(
    folder: Path, kind: str, undisturbed: Run, rng: random.Random, words: Sequence[str]
) -> int:
    """Kill and resume one run until it is done; return the number of kills.

    LtmError, keeping the folder, if the run differs from the undisturbed one, or if a
    message was sent again that was not in flight.
    """
    asked = len(undisturbed.heard)
    kills, status, start = 0, _started(folder, kind, words, _when(rng, asked)), 0
    while status == -signal.SIGKILL:
        kills += 1
        before, start = start, len({message for _, message in _heard(folder)})
        if kills > 2 * asked:
            raise LtmError(f"{folder}: killed {kills} times and not done")
        # After two kills at the same message let the run get past it: on a slow
        # machine this might otherwise never end.
        when = _when(rng, max(asked - start, 1), least=1 if start > before else 2)
        status = _pytest(folder, ["--ltm-resume=latest"], when)
    check_ended(status, folder / "output.txt", f"{folder}: pytest")
    _compare(folder, left(folder, KEPT), undisturbed, kills)
    shutil.rmtree(folder)
    return kills


def undisturbed(folder: Path, kind: str, words: Sequence[str]) -> Run:
    """Return the traces of a run that is not killed."""
    status = _started(folder, kind, words, "")
    check_ended(status, folder / "output.txt", f"{folder}: the undisturbed run")
    return left(folder, KEPT)


def _compare(folder: Path, run: Run, undisturbed: Run, kills: int) -> None:
    for name in sorted(undisturbed.files.keys() | run.files.keys()):
        if run.files.get(name) != undisturbed.files.get(name):
            raise LtmError(
                f"{folder}: after {kills} kills {name} is another one than undisturbed"
            )
    once = []
    before, earlier = (0, "")
    for process, message in run.heard:
        if process == before or message != earlier:
            once.append(message)
        before, earlier = process, message
    if once != [message for _, message in undisturbed.heard]:
        raise LtmError(
            f"{folder}: after {kills} kills other messages were sent than undisturbed"
        )


def _when(rng: random.Random, messages: int, least: int = 1) -> str:
    """Return the number of the message, and the delay in milliseconds, after which the process kills itself."""
    number = rng.randint(least, max(least, 2 * messages // (KILLS + 1)))
    return f"{number}:{rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, LATEST)])}"


def _started(folder: Path, kind: str, words: Sequence[str], kill: str) -> int:
    folder.mkdir(exist_ok=True)
    shutil.copy(AGENTS, folder / "drilled.py")
    return _pytest(folder, [f"--ltm-agent=drilled:{kind}", *words], kill)


def _pytest(folder: Path, words: Sequence[str], kill: str) -> int:
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "LTM_DRILL_KILL": kill,
    }
    environment.pop("PYTEST_ADDOPTS", None)
    with (folder / "output.txt").open("wb") as output:
        return subprocess.run(
            _command(["-p", "pytest_ltm._core.session", "--ltm-no-probe", *words]),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        ).returncode


# --- drills

WORKERS = 2
LOOK = 0.01
"""Seconds between two checks of a run's progress."""
SLOW = 10
"""Drills that take this many times as long as the undisturbed run are reported, too."""
MOST_KILLS = 3
"""Per run, at moments spread over the duration of the undisturbed run."""
DRILLED = (
    "--ltm-agent=told=drilled:Told,saved=drilled:Saved,still=drilled:Stateless",
    "--ltm-suite=standard",
    "--ltm-examples=1",
    f"-n{WORKERS}",
    "--max-worker-restart=1000",
    "--tb=no",
    "-rN",
    "--ltm-worker-tries=9",
    "--ltm-no-probe",  # an interrupted probe begins again, which sends more than one message again
)


class Drill(NamedTuple):
    """The outcome of one run."""

    run: Run
    """Journals and results of all conversations, and the messages sent to agents."""
    outcomes: str
    """The terminal's summary line, without the time."""
    kills: int
    seconds: float
    cpu_seconds: float
    """Processor time of the controller and its workers: a measure of progress that load does not affect."""
    output: str

    def equals(self, calm: Drill) -> bool:
        """Return whether it ended like the undisturbed run, with at most one message sent again for each kill."""
        again = len(self.run.heard) - len(calm.run.heard)
        return (self.run.files, self.outcomes) == (
            calm.run.files,
            calm.outcomes,
        ) and again <= self.kills


def drills(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each drill that differs, then the count; LtmError if child processes cannot be listed."""
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        raise LtmError(
            "drills look for the workers' processes in /proc, which this system does not have"
        )
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(AGENTS, Path(name) / "drilled.py")
        for repeat in range(repeats):
            yield from _series(Path(name), size, random.Random(repeat))


def _series(folder: Path, size: int, chance: random.Random) -> Iterator[str]:
    calm = on_workers(folder, [], chance)
    same = kills = again = 0
    longest = 0.0
    for number in range(1, size + 1):
        count = chance.randint(1, MOST_KILLS)
        moments = sorted(chance.uniform(0, calm.cpu_seconds) for _ in range(count))
        disturbed = on_workers(folder, moments, chance)
        fine = disturbed.equals(calm)
        same, kills = same + fine, kills + disturbed.kills
        again += len(disturbed.run.heard) - len(calm.run.heard)
        longest = max(longest, disturbed.seconds)
        if not fine or disturbed.seconds > SLOW * calm.seconds:
            yield f"drill {number}: {difference(calm, disturbed)}"
    asked = len(calm.run.heard)
    yield f"{size} drills, {kills} workers killed: {same} ended like the undisturbed run, byte for byte"
    yield f"messages sent again: {again} (at most one for each kill); undisturbed {asked} in {calm.seconds:.1f} s"
    yield f"the longest disturbed run: {longest:.1f} s"


def on_workers(folder: Path, moments: Sequence[float], chance: random.Random) -> Drill:
    """Run once in a folder that holds `drilled.py`, and kill one worker at each of these moments.

    Args:
        folder: its run is removed at the end.
        moments: seconds of processor time that the run has used.
        chance: chooses among the workers.
    """
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    # other plugins take up most of a worker's start
    apart = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": path,
    }
    environment = {**os.environ, **apart, "LTM_DRILL_SECONDS": "0.01"}
    began, kills, used = stopwatch_seconds(), 0, 0.0
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            _command(
                ["-p", "pytest_ltm._core.session", "-p", "xdist.plugin", *DRILLED]
            ),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        left_over = [*moments]
        while process.poll() is None:
            used = cpu_seconds(process.pid) or used
            if left_over and used >= left_over[0]:
                kills += _kill_one(process.pid, chance)
                del left_over[0]
            sleep_interruptibly(LOOK)
    seconds = stopwatch_seconds() - began
    text = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
    outcomes = ""
    for line in text.splitlines():
        if " in " in line:
            outcomes = line.rpartition(" in ")[0]
    drilled = Drill(
        left(folder, ("*/journal.jsonl", "*/results.json")),
        outcomes,
        kills,
        seconds,
        used,
        text,
    )
    shutil.rmtree(folder / ".ltm", ignore_errors=True)
    (folder / "heard.jsonl").unlink()
    return drilled


def cpu_seconds(controller: int) -> float:
    """Return the processor time of a process and its descendants; 0 if it has ended."""
    ticks = 0
    for pid in (controller, *children(controller)):
        with suppress(OSError):
            fields = (
                Path(f"/proc/{pid}/stat")
                .read_text(encoding="utf-8")
                .rpartition(")")[2]
                .split()
            )
            ticks += sum(
                map(int, fields[11:15] if pid == controller else fields[11:13])
            )
    return ticks / os.sysconf("SC_CLK_TCK")


def _kill_one(controller: int, chance: random.Random) -> int:
    """Kill one worker of a controller that this process started; return the number of kills."""
    with suppress(ProcessLookupError, IndexError):  # ended, or not started
        os.kill(chance.choice(children(controller)), signal.SIGKILL)
        return 1
    return 0


def difference(calm: Drill, disturbed: Drill) -> str:
    """Return a one-line comparison of a disturbed run with the undisturbed one."""
    before, after = calm.run, disturbed.run
    names = sorted({*before.files, *after.files})
    differing = []
    for name in names:
        if before.files.get(name) != after.files.get(name):
            differing.append(name)
    told = []
    for line in disturbed.output.splitlines():
        if ("ltm: " in line and "worker" in line) or "Error" in line:
            told.append(line)
    return (
        f"{disturbed.seconds:.0f} s, {disturbed.kills} kills; outcomes {disturbed.outcomes!r} for {calm.outcomes!r}; "
        f"{len(after.heard) - len(before.heard)} messages sent again; "
        f"differing files: {', '.join(differing) or 'none'}; " + "; ".join(told)
    )


# --- in flight

AT_ONCE = 32
TRIALS = 11
"""Trials per agent: when the first conversation ends, another one begins."""
IN_FLIGHT = (
    DRILLED[0],
    f"--ltm-trials={TRIALS}",
    f"--ltm-concurrency={AT_ONCE}",
    "--ltm-span=300",
    "--ltm-suite=none",
    "--tb=no",
    "-rN",
    "--ltm-no-probe",
    "test_talk.py",
)
TALK = """
def talk(ltm, name):
    ltm.say(f"{name} speaks")
    ltm.wait(span=0.5)
    assert name in ltm.ask(f"{name} asks")


def test_a(ltm):
    talk(ltm, "A")


def test_b(ltm):
    talk(ltm, "B")
"""


def in_flight(size: int, repeats: int) -> Iterator[str]:
    """Yield a line per ten runs and a total; LtmError for the first that differs, whose folder is kept."""
    for repeat in range(repeats):
        chance, folder = (
            random.Random(repeat),
            Path(tempfile.mkdtemp(prefix="ltm-in-flight-")),
        )
        (calm, _), kills, again = _flown(folder / "calm", []), 0, 0
        asked = len(calm.heard)
        for number in range(1, size + 1):
            moments = sorted(chance.sample(range(1, asked), chance.choice([1, 1, 2])))
            flown, killed = _flown(folder / str(number), moments)
            more = Counter(message for _, message in flown.heard)
            more.subtract(message for _, message in calm.heard)
            if (
                flown.files != calm.files
                or min(more.values()) < 0
                or more.total() > AT_ONCE * killed
            ):
                names = []
                for name, kept in sorted(calm.files.items()):
                    if flown.files.get(name) != kept:
                        names.append(name)
                raise LtmError(
                    f"{folder / str(number)}: killed {killed} times, after {moments} messages, it differs in {names}; "
                    f"{more.total()} messages sent again, {sum(one < 0 for one in more.values())} never sent"
                )
            shutil.rmtree(folder / str(number))
            kills, again = kills + killed, again + more.total()
            if number % 10 == 0:
                yield f"{number} runs, {kills} kills: all ended like the undisturbed one"
        shutil.rmtree(folder)
        yield (
            f"{size} runs killed {kills} times with {AT_ONCE} conversations in flight: all ended like the undisturbed "
            f"one, byte for byte; messages sent again: {again} of {size * asked}, at most {AT_ONCE} for each kill"
        )


def _flown(folder: Path, moments: Sequence[int]) -> tuple[Run, int]:
    """Play in a new folder, with a kill and a resume after each number of messages; return the traces and the kills."""
    folder.mkdir()
    kills = 0
    shutil.copy(AGENTS, folder / "drilled.py")
    (folder / "test_talk.py").write_text(TALK, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "LTM_DRILL_SECONDS": "0.03",
    }
    words: Sequence[str] = IN_FLIGHT
    for moment in [*moments, None]:
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                _command(["-p", "pytest_ltm._core.session", *words]),
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        while (
            moment is not None
            and process.poll() is None
            and len(_heard(folder)) < moment
        ):
            sleep_interruptibly(0.005)
        if moment is not None:
            process.kill()
        kills += process.wait() == -signal.SIGKILL
        words = ["--ltm-resume=latest", "--tb=no", "-rN"]
    check_ended(process.returncode, folder / "output.txt", f"{folder}: pytest")
    return left(folder, KEPT), kills
