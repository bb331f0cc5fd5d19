"""Fixtures that fail or talk to the agent, with several scenarios in progress at once."""

from __future__ import annotations

import pytest
from conftest import Project
from lane_sources import TALK


def test_an_error_in_a_setup_ends_only_its_own_scenario_before_it_speaks(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def before():
    yield
    tick("before down")

@pytest.fixture
def broken(before):
    raise ValueError("broken fixture")

def test_a(ltm): talk(ltm, "A")
def test_b(ltm, broken): tick("never")
def test_c(ltm): talk(ltm, "C")
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of test_b*", "E *ValueError: broken fixture"]
    )
    assert project.ticks == ["before down"]


def test_an_error_in_a_module_fixture_is_told_by_each_scenario_that_needs_it(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def broken():
    tick("tried")
    raise ValueError("broken fixture")

def test_a(ltm, broken): pass
def test_b(ltm, broken): pass
def test_c(ltm): talk(ltm, "C")
"""
    )

    project.ltm().assert_outcomes(passed=1, errors=2)

    assert project.ticks == ["tried"]


def test_an_error_in_a_teardown_is_told_by_its_own_scenario_only(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    result = project.ltm("-v")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_a*", "E *ValueError: bad teardown"]
    )


def test_an_error_in_a_module_fixtures_teardown_is_told_by_the_last_scenario_that_needed_it(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end): talk(ltm, "A", 0.9)
def test_b(ltm, bad_end): talk(ltm, "B", 0.2)
"""
    )
    project.file(TALK + "def test_c(ltm): talk(ltm, 'C', 0.1)", "test_other.py")

    result = project.ltm()

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_a[[]echo-*", "E *ValueError: bad teardown"]
    )


def test_a_fixture_may_hand_the_conversation_on(project: Project) -> None:
    project.file(
        """
import pytest

@pytest.fixture
def introduce(ltm):
    return lambda name: ltm.say(f"I am {name}.")

def test_a(ltm, introduce):
    assert introduce("Ada") == "I am Ada."
    ltm.wait(span=0.4)
    assert ltm.ask("Who am I?")
"""
    )

    project.ltm().assert_outcomes(passed=1)


@pytest.mark.parametrize("where", ["setup", "teardown"])
def test_nobody_speaks_in_a_fixture(project: Project, where: str) -> None:
    body = {"setup": "ltm.say('hello'); yield", "teardown": "yield; ltm.say('bye')"}[
        where
    ]
    project.file(
        TALK
        + f"""
@pytest.fixture
def chatty(ltm):
    {body}

def test_a(ltm, chatty): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=1 if where == "setup" else 2, errors=1)
    result.stdout.fnmatch_lines(
        [
            f"*ERROR at {where} of test_a*",
            "E *ScenarioError: the conversation can only be used in the body of the test*",
        ]
    )


def test_ltm_is_of_function_scope(project: Project) -> None:
    project.file(
        "import pytest\n@pytest.fixture(scope='module')\ndef wide(ltm): pass\ndef test_a(ltm, wide): pass"
    )

    result = project.ltm()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ScopeMismatch*"])
