"""Python's garbage collector pauses during the start of an LTM run and works while scenarios are played."""

from __future__ import annotations

import gc

import pytest
from conftest import Project

LOOK = """
import gc

def pytest_collection_finish(session):
    print("collected:", gc.isenabled())

def pytest_unconfigure():
    print("over:", gc.isenabled())
"""
SCENARIO = """
import gc

def test_it(ltm):
    ltm.say("Hello.")
    ltm.ask("Hello?")
    assert gc.isenabled()
"""


def test_the_collector_rests_until_scenarios_are_played(project: Project) -> None:
    project.conftest(LOOK)
    project.file(SCENARIO)
    run = project.ltm("-s")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["*collected: False", "*over: True"])


def test_after_a_run_that_could_not_start_the_collector_is_at_work(
    project: Project,
) -> None:
    project.conftest(LOOK)
    run = project.pytest("--ltm-agent=nobody:Bot")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert gc.isenabled()


def test_who_has_switched_the_collector_off_keeps_it_so(project: Project) -> None:
    project.conftest(LOOK + "\ngc.disable()\n")
    project.file(SCENARIO.replace("assert gc", "assert not gc"))
    try:
        project.ltm("-s").stdout.fnmatch_lines(["*collected: False", "*over: False"])
    finally:
        gc.enable()
