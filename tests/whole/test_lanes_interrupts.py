"""When a run is stopped, every teardown runs, and the files record how far it got."""

from __future__ import annotations

import json

import pytest
from _pytest.pytester import RunResult
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

CAST = """
import pytest
from ticks import tick

@pytest.fixture(scope="session")
def building():
    tick("building up")
    yield
    tick("building down")

@pytest.fixture
def room(request, building):
    tick("room up", request.node.originalname)
    yield
    tick("room down", request.node.originalname)

def talk(ltm, name, span=0.5):
    try:
        ltm.say(f"{name} speaks")
        ltm.wait(span=span)
        ltm.ask(f"{name} asks")
    finally:
        tick("finally", name)

def test_a(ltm, room): talk(ltm, "A", 0.9)
def test_b(ltm, room): talk(ltm, "B")
def test_c(ltm, room):
    talk(ltm, "C", 0.2)
"""
BOT = """
import pytest

class Bot:
    def reply(self, message):
        if message == "C asks":
            {ends}
        return message
"""


def stopped(
    project: Project, *args: str, agent: str = "echo", subprocess: bool = False
) -> RunResult:
    result = project.ltm(*args, agent=agent, subprocess=subprocess)
    ticks = project.ticks
    for name in "ABC":
        assert ticks.count(f"finally {name}") == 1
        assert (
            ticks.count(f"room up test_{name.lower()}")
            == ticks.count(f"room down test_{name.lower()}")
            == 1
        )
        assert ticks.index(f"finally {name}") < ticks.index(
            f"room down test_{name.lower()}"
        )
    assert ticks[-1] == "building down"
    return result


def endings(project: Project) -> list[str]:
    """Return the endings of the conversations in the latest run."""
    lines = [
        path.read_text().splitlines()[-1]
        for path in project.path.glob(".ltm/runs/*/*/journal.jsonl")
    ]
    return [json.loads(line)["reason"] for line in lines]


@pytest.mark.parametrize("where", ["agent", "body", "fixture"])
def test_a_keyboard_interrupt_anywhere_stops_the_run_and_cleans_up(
    project: Project, where: str
) -> None:
    project.file(
        BOT.format(ends="raise KeyboardInterrupt" if where == "agent" else "pass"),
        "bot.py",
    )
    source = CAST + ("    raise KeyboardInterrupt\n" if where == "body" else "")
    if where == "fixture":
        source += "@pytest.fixture\ndef breaks():\n    raise KeyboardInterrupt\ndef test_d(ltm, breaks): pass\n"
    project.file(source)

    result = stopped(project, agent="bot:Bot", subprocess=True)

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*long-term memory*", "*KeyboardInterrupt*"])
    assert endings(project) == ["interrupted"]


def test_sys_exit_in_a_body_is_the_error_of_its_own_scenario(project: Project) -> None:
    project.file(CAST + "    raise SystemExit(3)\n")

    result = stopped(project)

    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("where", ["agent", "body"])
@pytest.mark.parametrize(("given", "status"), [(42, 42), (0, 75), (1, 75)])
def test_pytest_exit_stops_the_run_with_its_status_unless_that_is_one_of_a_whole_run(
    project: Project, where: str, given: int, status: int
) -> None:
    ends = f"pytest.exit('enough', {given})"
    project.file(BOT.format(ends=ends if where == "agent" else "pass"), "bot.py")
    project.file(CAST + (f"    {ends}\n" if where == "body" else ""))

    result = stopped(project, agent="bot:Bot")

    assert result.ret == status
    if status != given:
        result.stdout.fnmatch_lines(
            ["unmeasurable (exit status 75): * of 3 examples never ended"]
        )
    result.stdout.fnmatch_lines(["*_pytest.outcomes.Exit: enough*"])
    assert endings(project) == ["interrupted"]


def test_pytest_exit_of_an_agent_on_a_worker_is_a_fault(project: Project) -> None:
    pytest.importorskip("xdist")
    project.file(BOT.format(ends="pytest.exit('enough', 0)"), "bot.py")
    project.file(CAST)

    result = project.ltm("-n2", agent="bot:Bot", subprocess=True)

    result.assert_outcomes(passed=2, errors=1)
    assert result.ret == 75


def test_x_tears_down_what_was_in_progress(project: Project) -> None:
    project.file(CAST + "    assert 0\n")

    result = stopped(project, "-x")

    result.assert_outcomes(failed=1)
    assert endings(project) == ["interrupted"]


def test_an_error_in_the_teardown_of_what_was_in_progress_is_told(
    project: Project,
) -> None:
    project.file(
        """
import pytest

@pytest.fixture
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end):
    ltm.say("A")
    ltm.wait(span=0.9)
    ltm.ask("A?")

def test_b(ltm):
    ltm.say("B")
    assert 0
"""
    )

    result = project.ltm("-x")

    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_a*",
            "E *ValueError: bad teardown",
            "*long-term memory*",
        ]
    )


def test_an_error_in_a_session_fixtures_teardown_is_told_after_x(
    project: Project,
) -> None:
    project.file(
        """
import pytest

@pytest.fixture(scope="session")
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end):
    ltm.say("A")
    ltm.ask("A?")
    assert 0

def test_b(ltm, bad_end):
    pass
"""
    )

    result = project.ltm("-x")

    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["E *ValueError: bad teardown", "*long-term memory*"])


def test_what_ended_before_the_stop_stays_in_the_record(project: Project) -> None:
    project.file(CAST + "    raise KeyboardInterrupt\n")
    project.file((project.path / "test_it.py").read_text().replace('"B")', '"B", 0.1)'))

    project.ltm(subprocess=True)

    assert set(project.results()) == {"b"}


def test_a_body_may_not_speak_while_it_is_unwound(project: Project) -> None:
    project.file(
        """
from ticks import tick

def test_a(ltm):
    try:
        ltm.say("A")
        ltm.wait(span=0.9)
    finally:
        try:
            ltm.say("goodbye")
        except Exception as error:
            tick(type(error).__name__)

def test_b(ltm):
    ltm.say("B")
    assert 0
"""
    )

    project.ltm("-x").assert_outcomes(failed=1)

    assert project.ticks == ["ScenarioError"]


def test_a_second_conversation_is_not_begun_after_a_stop(project: Project) -> None:
    project.file(CAST + "    assert 0\n")

    project.ltm("-x", agent="echo,silent").assert_outcomes(failed=1)

    assert len(list(project.path.glob(".ltm/runs/*/*/journal.jsonl"))) == 1
