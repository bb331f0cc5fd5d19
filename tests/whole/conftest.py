"""A separate project for each test, in which pytest runs as a user would run it."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from _pytest.pytester import RunResult
from alone import alone
from run_folders import latest_run
from suite_words import with_parameters

NEIGHBOURS = (
    "anyio",
    "asyncio",
    "faker",
    "html",
    "html_fixtures",
    "hypothesispytest",
    "metadata",
    "pytest_cov",
    "randomly",
    "rerunfailures",
    "time_machine",
    "timeout",
)
"""Plugins that most tests leave out; each has its own tests with it installed."""

TICKS = '''
"""Notes what happens, in order, from whatever process."""
import os
PATH = os.path.join(os.path.dirname(__file__), "ticks.txt")
def tick(*words):
    with open(PATH, "a", encoding="utf-8") as file:
        file.write(" ".join(map(str, words)) + "\\n")
'''


class Project:
    """A folder with test files, and methods that run pytest in it."""

    def __init__(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        self._monkeypatch = monkeypatch
        pytester.makepyfile(ticks=TICKS)

    def invite(self, *neighbours: str) -> None:
        """Load these plugins as well, or all of NEIGHBOURS if none is named."""
        for name, value in alone(*(neighbours or NEIGHBOURS)).items():
            self._monkeypatch.setenv(name, value)

    def conftest(self, source: str) -> None:
        """Write the project's conftest."""
        self.pytester.makeconftest(source)

    def file(self, source: str, name: str = "test_it.py") -> None:
        """Write a file; the first one needs no name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime if path.exists() else None
        path.write_text(source, encoding="utf-8")
        if before is not None:
            # Bytecode is matched by its source's length and whole second, so the next
            # text gets another second.
            os.utime(path, (before + 2, before + 2))

    def pytest(self, *args: str, subprocess: bool = False) -> RunResult:
        """Run pytest, in this process by default."""
        run = (
            self.pytester.runpytest_subprocess
            if subprocess
            else self.pytester.runpytest_inprocess
        )
        with warnings.catch_warnings():
            # the outer run's warning filters do not apply to the project
            warnings.simplefilter("default")
            return run(*with_parameters(args))

    def ltm(
        self,
        *args: str,
        agent: str = "echo",
        span: str = "300",
        subprocess: bool = False,
    ) -> RunResult:
        """Run the project's scenarios; options in `args` replace the defaults here."""
        defaults = {"--ltm-span": span, "--ltm-suite": "none"}
        chosen = {word.partition("=")[0] for word in args}
        return self.pytest(
            f"--ltm-agent={agent}",
            *(
                f"{flag}={value}"
                for flag, value in defaults.items()
                if flag not in chosen
            ),
            *args,
            subprocess=subprocess,
        )

    @property
    def ticks(self) -> list[str]:
        """The ticks that the run has logged, in order."""
        path = self.path / "ticks.txt"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def results(self) -> dict[str, dict[str, Any]]:
        """Return the results of the latest run by scenario, with all agents and examples."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(latest_run(self.path).glob("*/results.json")):
            for row in json.loads(path.read_text(encoding="utf-8"))["scenarios"]:
                found[row["scenario"]] = row
        return found


@pytest.fixture
def pytester(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """pytester with a fixed kind of screen, and without messages that no test asked for."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    # most tests count messages; test_probe_run.py tests the probe
    monkeypatch.setenv("PYTEST_ADDOPTS", "--ltm-no-probe")
    return pytester


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in pytester's folder."""
    return Project(pytester, monkeypatch)
