"""Doors: every file and screen through which data may leave, with secrets and control characters behind each.

Leaks are counted for every case of the matrix (see `traces`); the cases here do
everything to cause them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults import runs
from benchmarks.faults.agents import HOSTILE
from benchmarks.faults.cases import Case, Outcome, Setting, one

TALK = """
import logging
import warnings

import pytest

from hostile import ESCAPES, SECRET, Unspeakable

TOLD = f"{SECRET} and {ESCAPES}"


def test_says(ltm):
    ltm.say(f"My password is {SECRET}.")
    ltm.wait(span=0.5)
    ltm.check(f"names {TOLD}", SECRET in ltm.ask(f"Which password? {ESCAPES}"))


def test_prints(ltm, record_property):
    ltm.ask("What?")
    print(TOLD)
    record_property("told", TOLD)
    logging.getLogger("told").warning("%s", TOLD)
    warnings.warn(TOLD, stacklevel=1)
    assert TOLD == "nothing"


def test_raises(ltm):
    ltm.ask("What?")
    local = {"told": TOLD, "bytes": TOLD.encode()}
    raise ValueError(f"{TOLD} {local}")


def test_skips(ltm):
    ltm.ask("What?")
    pytest.skip(TOLD)


@pytest.mark.parametrize("parameter", [SECRET])
def test_scores(ltm, parameter):
    ltm.ask("What?")
    ltm.score(0.5, TOLD)
"""
NOISY = """
import os
import subprocess
import sys

from hostile import ESCAPES, SECRET, Tame


def print_everywhere(where):
    told = f"{where} {SECRET} {ESCAPES}"
    print(told)
    print(told, file=sys.stderr)
    for descriptor in (1, 2):
        os.write(descriptor, f"{told}\\n".encode())
    subprocess.run(["sh", "-c", "echo $LTM_FAULTS_TOKEN; echo $LTM_FAULTS_TOKEN >&2"], check=True)


class Noisy(Tame):
    def __init__(self):
        print_everywhere("made")

    def configuration(self):
        return print_everywhere("configured") or {}

    def save(self):
        return print_everywhere("saved") or b"x"

    def load(self, state):
        print_everywhere("loaded")

    def close(self):
        print_everywhere("closed")

    def __del__(self):
        print(f"collected {SECRET} {ESCAPES}")


print_everywhere("imported")
KEPT = Noisy()
"""
OTHERS = """
import json
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    seen = [report.nodeid, item._report_sections, report.sections, str(report.longrepr)]
    with Path("others.jsonl").open("a") as file:
        print(json.dumps(seen), file=file)
    return report
"""
"""A third-party reporter that saves everything it receives."""
AGENTS = (
    "says=hostile:returns_secret,turns=hostile:returns_controls,raises=hostile:raises,floods=hostile:floods_stdout,"
    "noisy=noisy:Noisy"
)
DOORS = {
    "plain": (),
    "quiet": ("-q", "-rA"),
    "live": ("-s", "-vv"),
    "sys": ("--capture=sys",),
    "tee": ("--capture=tee-sys",),
    "at once": ("--ltm-concurrency=4",),
    "locals": ("-l", "--tb=long", "-rA", "-vv"),
    "short": ("--tb=short", "--color=no", "-o", "log_cli=true"),
    "native": ("--tb=native", "--full-trace"),
    "junit": ("--junitxml=junit.xml", "-o", "junit_logging=all"),
    "html": (
        "-p",
        "metadata",
        "-p",
        "html",
        "--html=pytest.html",
        "--self-contained-html",
    ),
    "reports": (
        "--ltm-report=report.html",
        "--ltm-summary=summary.md",
        "--ltm-fail-under=0.1",
    ),
    "log file": ("--log-file=log.txt", "--log-level=DEBUG"),
    "workers": ("-p", "xdist", "-n2", "-vv", "--junitxml=junit.xml"),
    "child": ("--ltm-agent-process", "--ltm-report=report.html"),
    "dry run": ("--ltm-dry-run",),
    "collected": ("--collect-only", "-q"),
}
COMMANDS = (
    "report latest -o again.html",
    "doctor latest",
    "doctor latest --json",
    "compare latest latest",
)


def opened(setting: Setting) -> Iterator[Case]:
    """Yield a run for each kind of output, and our commands on a recorded run."""
    for name in setting.some([*DOORS, "commands", "rescored"]):
        yield Case(name.replace(" ", "-"), _play, (name,))


def _play(folder: Path, name: str) -> Outcome:
    runs.prepared(folder)
    shutil.copy(HOSTILE, folder / "hostile.py")
    for file, text in {
        "test_talk.py": TALK,
        "noisy.py": NOISY,
        "conftest.py": OTHERS,
    }.items():
        (folder / file).write_text(text, encoding="utf-8")
    first = runs.run(folder, [*runs.words(AGENTS), *DOORS.get(name, ())])
    if first.trouble or first.status not in {0, 1, 75}:
        return one(
            first.trouble or f"the exit status is {first.status}: {first.screen[-500:]}"
        )
    if name == "rescored":
        return one(runs.run(folder, ["--ltm-rescore=latest"]).trouble)
    for words in COMMANDS if name == "commands" else ():
        done = subprocess.run(
            [sys.executable, "-m", "pytest_ltm", *words.split()],
            cwd=folder,
            env=runs.environment(folder),
            capture_output=True,
            check=False,
            timeout=runs.LIMIT,
        )
        (folder / f"screen-{words.partition(' ')[0]}.txt").write_bytes(
            done.stdout + done.stderr
        )
        if b"Traceback" in done.stderr:
            return one(f"ltm {words}: {done.stderr.decode()[-500:]}")
    return one(None)
