"""`ltm_scheduler`: a conftest's view of a run; the fixture exists in any session."""

from __future__ import annotations

from conftest import Project

CONFTEST = """
import pytest
from ticks import tick

@pytest.fixture(scope="session", autouse=True)
def watched(ltm_scheduler):
    tick(bool(ltm_scheduler), dict(ltm_scheduler.agents), dict(ltm_scheduler.spans), ltm_scheduler.planned)
    yield
    tick(ltm_scheduler.ended, [result.score for result in ltm_scheduler.results], ltm_scheduler.in_progress)
"""
SCENARIOS = """
from ticks import tick

def test_a(ltm, ltm_scheduler):
    ltm.say("x")
    ltm.ask("y?")
    [talk] = ltm_scheduler.in_progress
    tick(len(ltm_scheduler.results), talk.channel.transcript[-1].message)

def test_b(ltm, ltm_scheduler):
    ltm.say("x")
    ltm.check("no", ltm.ask("z?") == "")
"""


def test_a_conftest_sees_agents_spans_conversations_and_results(
    project: Project,
) -> None:
    project.conftest(CONFTEST)
    project.file(SCENARIOS)

    project.ltm().assert_outcomes(passed=1, failed=1)

    assert project.ticks == [
        "True {'echo': 'echo'} {'300': 300} ('echo-300-0',)",
        "0 y?",
        "('echo-300-0',) [1.0, 0.0] ()",
    ]


def test_in_an_ordinary_session_it_is_false_and_empty(project: Project) -> None:
    project.conftest(CONFTEST)
    project.file("def test_ordinary(): pass")

    project.pytest().assert_outcomes(passed=1)

    assert project.ticks == ["False {} {} ()", "() [] ()"]
