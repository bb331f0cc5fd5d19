"""Runs that are killed, terminated or stopped at any moment."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from benchmarks import killed
from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one
from pytest_ltm.api.storage import sleep_interruptibly, stopwatch_seconds


def kills(setting: Setting) -> Iterator[Case]:
    """Yield drills that are killed repeatedly until they finish."""
    words = killed.WORDS if setting.size >= len(killed.KINDS) else runs.SUITE
    kinds = killed.KINDS[: setting.size]
    calm = {
        kind: killed.undisturbed(runs.prepared(setting.folder / kind), kind, words)
        for kind in kinds
    }

    def play(folder: Path, kind: str, number: int) -> Outcome:
        where = runs.prepared(folder / "drill")  # removed if it passes
        return Outcome(
            killed.drill(where, kind, calm[kind], setting.chance(number), words)
        )

    for number in count():
        kind = list(calm)[number % len(calm)]
        yield Case(f"{kind}-{number}", play, (kind, number))


# --- workers

STARTING = 2.0
"""Processor seconds within which the workers start."""


def workers(setting: Setting) -> Iterator[Case]:
    """Yield runs on two workers, which are killed; in every second run during their start."""

    def drill(folder: Path, moments: list[float], number: int) -> killed.Drill:
        folder.mkdir(exist_ok=True)
        shutil.copy(killed.AGENTS, folder / "drilled.py")
        return killed.on_workers(folder, moments, setting.chance(number))

    calm = drill(setting.folder / "calm", [], 0)

    def play(folder: Path, number: int) -> Outcome:
        chance = setting.chance(f"moments {number}")
        latest = STARTING if number % 2 else calm.cpu_seconds
        moments = sorted(chance.uniform(0.2, latest) for _ in range(killed.MOST_KILLS))
        disturbed = drill(folder, moments, number)
        fine = disturbed.equals(calm)
        return Outcome(
            disturbed.kills, () if fine else (killed.difference(calm, disturbed),)
        )

    for number in count():
        yield Case(f"run-{number}", play, (number,))


# --- signals

CHILD = """
import json, os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
import drilled
agent = drilled.Told()
subprocess.Popen(
    [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(9999)"],
    start_new_session=True, stdin=-3, stdout=-3, stderr=-3, cwd="/",
)
for line in sys.stdin:
    asked = json.loads(line)
    if "accept" in asked:
        agent.accept(asked["accept"]["message"], asked["accept"]["reply"])
        said = {"ok": True}
    else:
        said = {"reply": agent.reply(asked["message"])}
    print(json.dumps(said), flush=True)
time.sleep(9999)
"""
CHILDREN = f"agent: 'cmd:{sys.executable} child.py'\nparameters: {{capabilities: [AcceptsHistory]}}\n"
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
SLOWLY = {"LTM_DRILL_SECONDS": "0.05"}
"""The duration of a reply, so that moments are spread over the conversation as well."""


def with_children(folder: Path) -> Path:
    """Put an agent into a folder that is a process, with a child that ignores termination."""
    runs.prepared(folder)
    (folder / "child.py").write_text(CHILD, encoding="utf-8")
    (folder / "child.yml").write_text(CHILDREN, encoding="utf-8")
    return folder


def signals(setting: Setting) -> Iterator[Case]:
    """Yield runs that get a signal, as one process or as a group, once or twice, and with workers in every third."""
    given = runs.words("a=child.yml,b=child.yml")
    began = stopwatch_seconds()
    calm = runs.undisturbed(with_children(setting.folder / "calm"), given, SLOWLY)
    seconds = stopwatch_seconds() - began

    def play(folder: Path, number: int) -> Outcome:
        chance = setting.chance(number)
        of, on_workers = SIGNALS[number % len(SIGNALS)], number // len(SIGNALS) % 3 == 0
        moment, twice, group = (
            chance.uniform(0, 1.2 * seconds),
            chance.random() < 0.3,
            chance.random() < 0.5,
        )

        def strike(process: subprocess.Popen[bytes]) -> None:
            sleep_interruptibly(moment)
            for _ in range(1 + twice):
                with suppress(ProcessLookupError):
                    if process.poll() is None:
                        (os.killpg if group else os.kill)(process.pid, of)
                sleep_interruptibly(0.05)

        with_children(folder)
        words = [*given, "-p", "xdist", "-n2"] if on_workers else given
        ended = runs.run(folder, words, SLOWLY, disturb=strike)
        told = f"{of.name} after {moment:.2f} s{', twice' * twice}{', to the group' * group}{', -n2' * on_workers}"
        # pytest handles the second Ctrl-C itself, ending at once
        impatient = twice and of == signal.SIGINT
        why = _disorder(folder, of, ended, impatient) or _lost(
            folder, given, calm, SLOWLY
        )
        return one(why and f"{told}: {why}")

    for number in range(setting.size):
        yield Case(f"signal-{number}", play, (number,))


def _disorder(
    folder: Path, of: signal.Signals, ended: runs.Ended, impatient: bool
) -> str | None:
    """Return what is wrong with the ending; None also if pytest-ltm had no control: before the session and after it."""
    # After its last line pytest unloads its plugins with the default Ctrl-C handler:
    # the traceback is its own, not ours.
    screen, _, trace = ended.screen.partition("Traceback (most recent call last)")
    own = "_ensure_unconfigure" in trace and "pytest_ltm" not in trace
    is_over = re.search(
        r"\bin \d+\.\d+s(?: \(.*\))? =*\s*\Z", screen if own else ended.screen
    )
    if ended.status is not None and (
        runs.run_folder(folder) is None
        or impatient
        or (is_over and ended.status == -of)
    ):
        return None
    if ended.trouble:
        return ended.trouble
    if (
        ended.status == 75
        and "ended early" in ended.screen
        and "--ltm-resume" not in ended.screen
    ):
        return "it is not told how to resume"
    expected = {0, 1, 2 if of == signal.SIGINT else 75}
    return None if ended.status in expected else f"the exit status is {ended.status}"


def _lost(
    folder: Path, given: list[str], calm: killed.Run, more: dict[str, str]
) -> str | None:
    """Resume a run, or repeat it if it had not begun; return the difference from an undisturbed one."""
    ended = (
        runs.resumed(folder, more)
        if runs.run_folder(folder)
        else runs.run(folder, given, more)
    )
    if ended.status not in runs.FINE:
        return f"resumed, it ends with status {ended.status}: {ended.screen[-500:]}"
    now = runs.left(folder)
    again = len(now.heard) - len(calm.heard)
    most = 2  # each of two conversations may have had a message in flight
    return runs.changed(now, calm) or (
        f"{again} messages were sent again" if again > most else None
    )


# --- stops

STOPPED = 4.0
"""Seconds for which the process is stopped; the reply timeout is half of them."""


def stops(setting: Setting) -> Iterator[Case]:
    """Yield runs that are stopped and continued, as when a laptop sleeps."""
    given = [
        *runs.words("a=drilled:Told,b=drilled:Saved"),
        f"--ltm-reply-timeout={STOPPED / 2}",
    ]
    slowly = {"LTM_DRILL_SECONDS": "0.3"}
    calm = runs.undisturbed(runs.prepared(setting.folder / "calm"), given, slowly)

    def play(folder: Path, number: int) -> Outcome:
        def stop(process: subprocess.Popen[bytes]) -> None:
            sleep_interruptibly(setting.chance(number).uniform(1, 4))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGSTOP)
                sleep_interruptibly(STOPPED)
                os.kill(process.pid, signal.SIGCONT)

        runs.prepared(folder)
        ended = runs.run(folder, given, slowly, disturb=stop)
        if ended.status not in runs.FINE:
            return one(f"it ends with status {ended.status}: {ended.screen[-500:]}")
        return one(runs.changed(runs.left(folder), calm))

    for number in range(setting.size):
        yield Case(f"stop-{number}", play, (number,))
