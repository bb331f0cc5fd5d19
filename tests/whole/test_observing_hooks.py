"""Hooks let other plugins observe a run: each exchange and each verdict."""

from __future__ import annotations

import sys

import pytest
from conftest import Project

WATCHING = """
import pathlib
import pytest
from pytest_ltm import Score

def noted(line):
    with pathlib.Path("noted.txt").open("a") as file:
        file.write(line + "\\n")

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_exchange(config, conversation, exchange):
    noted(f"{conversation} {exchange.number} {exchange.kind} {exchange.message} -> {exchange.reply}")

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_verdict(config, nodeid, verdict):
    noted(f"{nodeid} {verdict.value if isinstance(verdict, Score) else verdict.reason}")
"""
SCENARIOS = """
def test_a(ltm):
    ltm.say("A.")
    ltm.check("echoes", ltm.ask("B?") == "B?")
    ltm.check("says no", False)

def test_b(ltm):
    ltm.say("C.")
    raise OSError("broken")
"""


def test_exchanges_and_verdicts_are_told(project: Project) -> None:
    project.conftest(WATCHING)
    project.file(SCENARIOS)

    project.ltm(span="isolated")

    assert (project.path / "noted.txt").read_text().splitlines() == [
        "echo-isolated-0.a_0 0 say A. -> A.",
        "echo-isolated-0.a_0 1 ask B? -> B?",
        "test_it.py::test_a[echo-isolated-0.a_0-0] 0.5",
        "echo-isolated-0.b_0 0 say C. -> C.",
    ]


def test_what_is_recorded_is_not_told_again(project: Project) -> None:
    project.conftest(WATCHING)
    project.file(SCENARIOS)
    project.ltm("-x", "--ltm-max-tokens=5")
    project.pytest("--ltm-resume=latest", "--ltm-max-tokens=1m")

    told = [
        line
        for line in (project.path / "noted.txt").read_text().splitlines()
        if "-> " in line
    ]
    assert len(told) == len(set(told))
    assert {"A.", "B?", "C."} <= {line.split()[3] for line in told}


HANGING = """
import time
import pytest

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_exchange(config, conversation, exchange):
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no interval timers there")
def test_a_hook_that_hangs_is_named_in_the_report_and_the_run_goes_on(
    project: Project,
) -> None:
    project.conftest(HANGING)
    project.file(SCENARIOS)

    run = project.ltm("--ltm-evaluator-timeout=0.3", span="isolated")

    named = "*the hook pytest_ltm_exchange of * did not return within 0.3 s*"
    run.stdout.fnmatch_lines([named])
    assert len(project.results()) == 2
