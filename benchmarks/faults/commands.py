"""Output files of commands killed at any moment, and runs given files with odd names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one
from pytest_ltm.api.storage import LtmError, stopwatch_seconds

OUTPUT = "written"
COMMANDS: dict[str, Sequence[str]] = {
    "merge": ("merge", "first", "second"),
    "csv": ("export", "first", "--to=csv"),
    "report": ("report", "first", "second"),
    "locomo": ("data", "locomo-generate", "--sessions=2"),
}
REFUSED = 4
"""The exit status of a run that is refused before any message is sent."""
READERS = ("show", "doctor", "report")
"""Commands that must not mistake half a merged run for a whole one."""


def interrupted(setting: Setting) -> Iterator[Case]:
    """Yield commands that are killed and repeated, after which their output must equal the undisturbed one."""
    for name, agent in (("first", "drilled:Told"), ("second", "drilled:Stateless")):
        made = runs.prepared(setting.folder / f"made-{name}")
        runs.undisturbed(made, runs.words(agent))
        shutil.copytree(next(made.glob(".ltm/runs/2*")), setting.folder / "runs" / name)
    calm = {}
    for name in COMMANDS:
        folder = setting.folder / f"calm-{name}"
        calm[name] = _undisturbed(folder, setting.folder / "runs", name)

    def play(folder: Path, name: str, number: int) -> Outcome:
        seconds, whole = calm[name]
        where = folder / "project"
        shutil.copytree(setting.folder / "runs", where)
        moment = setting.chance(number).uniform(0.2, 1.1) * seconds
        _give(where, COMMANDS[name], moment)
        now = _written(where)
        if now and now != whole:
            return one(
                f"killed after {moment:.2f} s, it has left a part: {', '.join(now)}"
            )
        for reader in READERS if name == "merge" and not now else ():
            if (status := _give(where, (reader, f"./{OUTPUT}"), to="read.txt")[0]) == 0:
                return one(f"ltm {reader} reads what is not there")
        if not now and (status := _give(where, COMMANDS[name])[0]):
            return one(f"given again, it ends with status {status}")
        return one(
            None
            if _written(where) == whole
            else "given again, it has written something else"
        )

    for number in range(setting.size):
        name = list(COMMANDS)[number % len(COMMANDS)]
        yield Case(f"{name}-{number}", play, (name, number))


def _undisturbed(folder: Path, made: Path, name: str) -> tuple[float, dict[str, bytes]]:
    """Return the duration and the output of an undisturbed command."""
    shutil.copytree(made, folder)
    began = stopwatch_seconds()
    status, screen = _give(folder, COMMANDS[name])
    if status:
        raise LtmError(
            f"ltm {' '.join(COMMANDS[name])} ended with status {status}: {screen}"
        )
    if not (written := _written(folder)):
        raise LtmError(
            f"ltm {' '.join(COMMANDS[name])} has written nothing at {folder / OUTPUT}"
        )
    return stopwatch_seconds() - began, written


def _give(
    folder: Path, words: Sequence[str], seconds: float = runs.LIMIT, to: str = OUTPUT
) -> tuple[int | None, str]:
    """Run a command and kill it after `seconds`; return its exit status (None if killed) and its output."""
    # a run name without a slash is a run ID
    output = [] if words[0] in {"show", "doctor"} else ["-o", f"./{to}"]
    command = [sys.executable, "-m", "pytest_ltm", *words, *output]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=runs.environment(folder),
            capture_output=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:  # on the timeout it was sent SIGKILL
        return None, ""
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def _written(folder: Path) -> dict[str, bytes]:
    """Return the files that a command has written, by path."""
    place = folder / OUTPUT
    files = (
        [place]
        if place.is_file()
        else sorted(path for path in place.rglob("*") if path.is_file())
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# --- files with odd names

NAMES = (
    "a-b",
    "c d",
    "e.f",
    "1.2",
    "UPPER",
    "ö",
    "e\u0301",
    "漢",
    "-x",
    " y",
    "[z]",
    "x::y",
    "a" * 200,
    "%41",
    "con",
)
DEFINITION = {
    "script": [
        "I like {0} best.",
        "By now I prefer {0}y.",
        "Which colour do I like best?",
    ],
    "is_question": [False, False, True],
    "waits": [{}, {"percentage_finished": 50.0}, {}],
    "expected_responses": ["{0}y"],
}


def odd_names(setting: Setting) -> Iterator[Case]:
    """Yield published definitions in files with odd names, which must be played or refused."""

    def play(folder: Path, name: str) -> Outcome:
        runs.prepared(folder)
        colour = f"teal{len(name)}"
        place = folder / "definitions" / "Colours" / f"{name}.def.json"
        place.parent.mkdir(parents=True)
        place.write_text(
            json.dumps(DEFINITION).replace("{0}", colour), encoding="utf-8"
        )
        words = [word for word in runs.words("drilled:Told") if word not in runs.SUITE]
        ended = runs.run(
            folder,
            [
                *words,
                "--ltm-suite=standard",
                "--ltm-definitions=definitions",
                "--ltm-span=300",
            ],
        )
        if ended.trouble or ended.status not in {*runs.FINE, REFUSED}:
            return one(
                ended.trouble
                or f"the exit status is {ended.status}: {ended.screen[-500:]}"
            )
        if ended.status == REFUSED:
            is_named = name in ended.screen or ascii(name)[1:-1] in ended.screen
            return one(None if is_named else "it is refused without its name")
        played = ""
        for path in folder.glob(".ltm/runs/*/*/journal.jsonl"):
            played += path.read_text(encoding="utf-8")
        return one(
            None if f"I like {colour} best." in played else "another text was played"
        )

    for name in setting.some(NAMES):
        yield Case(f"name-{NAMES.index(name)}", play, (name,))
