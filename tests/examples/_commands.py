"""Commands as a reader of the documentation types them: run in a folder, with comparable output."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from alone import alone

ROOT = Path(__file__).parents[2]

# Like the installed command `pytest`; `python -m pytest` would put the working
# directory on sys.path.
_PYTEST = "import sys; sys.path[:] = filter(None, sys.path); import pytest; sys.exit(pytest.main())"
_SCREEN = {"NO_COLOR": "1", "TERM": "xterm"}
_VOLATILE = [
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}"), "RUN-ID"),
    (re.compile(r"\bin \d+\.\d+s\b(?: \([\d:]+\))?"), "in TIME"),
    (re.compile(r"^[=_\-]{2,} | [=_\-]{2,}$"), ""),
    (re.compile(r"─{2,}"), "─"),
    (re.compile(r"(pytest-ltm \d+\.\d+\.\d+)\+[0-9a-f]{8}"), r"\1"),
]


@dataclass(frozen=True)
class Output:
    """The output of a command, and its exit status."""

    status: int
    printed: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines in comparable form."""
        return tuple(map(comparable, self.printed))

    def counts(self) -> dict[str, int]:
        """Return pytest's last line as numbers by noun."""
        last = next(line for line in reversed(self.lines) if " in TIME" in line)
        return {
            noun: int(number)
            for number, noun in re.findall(r"(\d+) ([a-z]+)", last.partition(" in ")[0])
        }


def run(command: str, folder: Path, *, columns: int = 80) -> Output:
    """Run a command line of the documentation with this Python."""
    program, *arguments = shlex.split(command, comments=True)
    python = [sys.executable]
    programs = {
        "pytest": [*python, "-c", _PYTEST],
        "python": python,
        "ltm": [*python, "-m", "pytest_ltm"],
        "rm": ["rm"],
        "sed": ["sed"],
    }
    # The inner run would otherwise inherit the outer one's worker, options and current
    # test.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_"))
    }
    done = subprocess.run(
        [*programs[program], *arguments],
        cwd=folder,
        env=environment
        | alone()
        | {"COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8", **_SCREEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return Output(done.returncode, tuple(done.stdout.splitlines()))


def comparable(line: str) -> str:
    """Return a line without the parts that differ between equal runs, heading rulers, and alignment."""
    for pattern, instead in _VOLATILE:
        line = pattern.sub(instead, line)
    return " ".join(line.split())
