"""Logs and warnings belong to the scenario that caused them, however many are in progress."""

from __future__ import annotations

from conftest import Project
from lane_sources import TALKATIVE


def test_caplog_of_two_scenarios_has_its_own_records_and_levels(
    project: Project,
) -> None:
    project.file(TALKATIVE, "bot.py")
    project.file(
        """
import logging
import pytest

@pytest.fixture
def before():
    logging.getLogger("x").warning("in setup")

def test_a(ltm, before, caplog):
    caplog.set_level(logging.DEBUG)
    logging.debug("A before")
    ltm.say("A speaks")
    ltm.wait(span=0.5)
    logging.debug("A after")
    assert caplog.messages == ["A before", "agent logs A speaks", "A after"]
    assert [record.message for record in caplog.get_records("setup")] == ["in setup"]
    with caplog.at_level(logging.ERROR):
        logging.warning("dropped")
        ltm.wait(span=0.7)
        logging.warning("dropped, too")
    assert "A after" in caplog.text
    caplog.clear()
    ltm.ask("A asks")
    assert caplog.messages == ["agent logs A asks"]

def test_b(ltm, caplog):
    logging.debug("not shown at this level")
    logging.warning("B before")
    ltm.say("B speaks")
    ltm.wait(span=0.6)
    logging.info("not shown at this level")
    ltm.ask("B asks")
    assert caplog.messages == ["B before", "agent logs B speaks", "agent logs B asks"]

def test_c(ltm):
    level = logging.getLogger().level
    ltm.say("C speaks")
    ltm.wait(span=0.6)
    assert logging.getLogger().level == level
    ltm.ask("C asks")
"""
    )

    project.ltm(agent="bot:Talkative").assert_outcomes(passed=3)


def test_caplog_in_a_teardown_has_the_records_of_the_body(project: Project) -> None:
    project.file(
        """
import logging
import pytest
from ticks import tick

@pytest.fixture
def noted(caplog):
    yield
    tick([record.message for record in caplog.get_records("call")])

def talk(ltm, name):
    logging.warning("%s before", name)
    ltm.say(name)
    ltm.wait(span=0.5)
    logging.warning("%s after", name)
    ltm.ask(f"{name}?")

def test_a(ltm, noted): talk(ltm, "A")
def test_b(ltm, noted): talk(ltm, "B")
"""
    )

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == ["['A before', 'A after']", "['B before', 'B after']"]


def test_recwarn_of_two_scenarios_has_its_own_warnings(project: Project) -> None:
    project.file(
        """
import warnings

def talk(ltm, recwarn, name):
    warnings.warn(f"{name} before", UserWarning)
    ltm.say(name)
    ltm.wait(span=0.5)
    warnings.warn(f"{name} after", UserWarning)
    ltm.ask(f"{name}?")
    assert [str(one.message) for one in recwarn] == [f"{name} before", f"{name} after"]

def test_a(ltm, recwarn): talk(ltm, recwarn, "A")
def test_b(ltm, recwarn): talk(ltm, recwarn, "B")
"""
    )

    project.ltm("-W", "error").assert_outcomes(passed=2)


def test_pytest_warns_spans_a_wait_and_sees_its_own_scenario_and_agent_only(
    project: Project,
) -> None:
    project.file(
        """
import warnings

class Bot:
    def reply(self, message):
        warnings.warn(f"agent about {message[:8]}", FutureWarning)
        return message
""",
        "bot.py",
    )
    project.file(
        """
import warnings
import pytest

def talk(ltm, name):
    with pytest.warns(Warning) as seen:
        ltm.say(f"{name} speaks")
        ltm.wait(span=0.5)
        warnings.warn(f"{name} warns", UserWarning)
    assert [str(one.message) for one in seen] == [f"agent about {name} speaks"[:20], f"{name} warns"]
    ltm.ask(f"{name} asks")

def test_a(ltm): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    project.ltm(agent="bot:Bot").assert_outcomes(passed=2)


def test_filterwarnings_marks_hold_for_their_own_scenario_only(
    project: Project,
) -> None:
    project.file(
        """
import warnings
import pytest

def talk(ltm, name):
    ltm.say(name)
    ltm.wait(span=0.5)
    warnings.warn(f"{name} warns", UserWarning)
    ltm.ask(f"{name}?")

@pytest.mark.filterwarnings("error")
def test_a(ltm):
    with pytest.raises(UserWarning):
        talk(ltm, "A")
    ltm.ask("A??")

@pytest.mark.filterwarnings("ignore")
def test_b(ltm):
    talk(ltm, "B")

def test_c(ltm):
    talk(ltm, "C")
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=3, warnings=1)
    result.stdout.fnmatch_lines(
        ["*warnings summary*", "test_it.py::test_c*", "*UserWarning: C warns"]
    )


def test_under_w_error_a_warning_is_the_error_of_its_own_scenario(
    project: Project,
) -> None:
    project.file(
        """
import warnings

def test_a(ltm):
    ltm.say("A")
    ltm.wait(span=0.5)
    ltm.ask("A?")

def test_b(ltm):
    ltm.say("B")
    ltm.wait(span=0.5)
    warnings.warn("B warns", UserWarning)
"""
    )

    result = project.ltm("-W", "error")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR in test_b*", "E *UserWarning: B warns"])
