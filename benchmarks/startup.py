"""The cost of starting: the unused plugin, a short LTM run, and both where no bytecode may be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import length
from benchmarks.runs import pytest_run
from pytest_ltm.api.storage import LtmError

PROJECT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "*.egg-info", "__pycache__", "build", "dist", "tests", "docs"
)
LONG = 500_000, 10_000_000
"""The memory span of the long conversations that are measured as well, and their tokens."""

ONE = "def test_one():\n    pass\n"
MANY = "import pytest\n\n\n@pytest.mark.parametrize('number', range(33))\ndef test_many(number):\n    pass\n"
ECHO = ("--ltm-agent=echo", "--ltm-suite=standard", "--ltm-span=2k", "--ltm-examples=3")


class Environments(NamedTuple):
    """The interpreters to compare."""

    bare: Path
    """pytest alone."""
    used: Path
    """pytest-ltm installed from a wheel."""
    image: Path
    """A copy of it with only the bytecode that pip wrote, as in a container image; no run writes any there."""


class Case(NamedTuple):
    """A way to run pytest."""

    python: Path
    test: str
    """The only test file of the folder."""
    words: Sequence[str] = ()
    writes: bool = True


def startup(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each comparison of processor time in fresh environments; then those of long conversations."""
    with tempfile.TemporaryDirectory() as name:
        environments = _environments(Path(name))
        for _ in range(repeats):
            yield from compared(environments, size)
    span, tokens = LONG
    yield from length.conversation(span, repeats)
    yield from length.scale(tokens, repeats)


def compared(environments: Environments, size: int) -> Iterator[str]:
    """Yield a line for each comparison: medians over `size` rounds, each of which runs every case."""
    bare, used, image = environments
    rows = {
        "one test, the plugin unused, against pytest alone": (
            Case(used, ONE),
            Case(bare, ONE),
        ),
        "the same, no bytecode written": (
            Case(image, ONE, writes=False),
            Case(bare, ONE, writes=False),
        ),
        "33 scenarios with echo at 2k against 33 trivial tests": (
            Case(used, "", ECHO),
            Case(used, MANY),
        ),
        "33 scenarios, no bytecode written, against written": (
            Case(image, "", ECHO, writes=False),
            Case(used, "", ECHO),
        ),
    }
    cases = list(dict.fromkeys(case for pair in rows.values() for case in pair))
    for case in cases:
        _seconds(case)  # warms the caches of files and bytecode
    rounds = []
    for number in range(size):
        in_order = cases if number % 2 else cases[::-1]
        rounds.append({case: _seconds(case) for case in in_order})
    for name, pair in rows.items():
        one, other = (median(seconds[case] for seconds in rounds) for case in pair)
        ratio = median(seconds[pair[0]] / seconds[pair[1]] for seconds in rounds)
        yield f"{name}: {one:.3f} s, {other:.3f} s; {ratio:.2f} times (median of {size})"


def _seconds(case: Case) -> float:
    """Return the processor seconds of a run."""
    with tempfile.TemporaryDirectory() as name:
        if case.test:
            Path(name, "test_it.py").write_text(case.test, encoding="utf-8")
        return pytest_run(
            Path(name), case.words, python=case.python, writes=case.writes
        ).cpu_seconds


def _environments(folder: Path) -> Environments:
    # nothing is built in the checkout
    source = shutil.copytree(PROJECT, folder / "source", ignore=LEFT_OUT)
    bare = _environment(folder / "bare", f"pytest=={version('pytest')}")
    used = _environment(folder / "used", f"pytest=={version('pytest')}", str(source))
    image = shutil.copytree(folder / "used", folder / "image", symlinks=True)
    return Environments(bare, used, image / used.relative_to(folder / "used"))


def _environment(folder: Path, *requirements: str) -> Path:
    """Create a virtual environment and return its interpreter; LtmError with pip's output if pip fails."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *requirements,
    ]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder
    )
    if done.returncode:
        raise LtmError(
            f"pip cannot install {', '.join(requirements)}: {done.stderr[-1_000:]}"
        )
    return python
