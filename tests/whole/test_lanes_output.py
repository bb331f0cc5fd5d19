"""Output belongs to the scenario that printed it, however many are in progress."""

from __future__ import annotations

import re

import pytest
from conftest import Project
from lane_sources import PAIR, TALKATIVE, section_of


def test_captured_output_is_in_the_report_of_the_scenario_that_wrote_it(
    project: Project,
) -> None:
    project.file(PAIR)

    result = project.ltm()

    result.assert_outcomes(failed=2)
    for name in "AB":
        test = f"test_{name.lower()}"
        assert section_of(result, "Captured stdout call", test) == [
            f"{name} out before",
            f"{name} out after",
        ]
        assert section_of(result, "Captured stderr call", test) == [f"{name} err after"]
        (logged,) = section_of(result, "Captured log call", test)
        assert logged.endswith(f"{name} logs")


def test_what_the_agent_prints_and_logs_is_in_the_report_of_the_scenario_that_spoke(
    project: Project,
) -> None:
    project.file(PAIR)
    project.file(TALKATIVE, "bot.py")

    result = project.ltm(agent="bot:Talkative")

    result.assert_outcomes(failed=2)
    for name in "AB":
        test = f"test_{name.lower()}"
        assert section_of(result, "Captured stdout call", test) == [
            f"{name} out before",
            f"agent heard {name} speaks",
            f"{name} out after",
            f"agent heard {name} asks",
        ]
        assert section_of(result, "Captured stderr call", test) == [
            f"agent warns about {name} speaks",
            f"{name} err after",
            f"agent warns about {name} asks",
        ]
        logged = [
            line.partition(".py:")[2].split(" ", 1)[1]
            for line in section_of(result, "Captured log call", test)
        ]
        assert logged == [
            f"agent logs {name} speaks",
            f"{name} logs",
            f"agent logs {name} asks",
        ]
    assert "Filler" not in "".join(section_of(result, "Captured stdout call", "test_a"))


def test_what_the_agent_prints_for_fillers_sake_is_nobodys(project: Project) -> None:
    project.file(
        "def test_a(ltm):\n    ltm.say('A')\n    ltm.wait(span=0.9)\n    assert ltm.ask('A?') == 'never'"
    )
    project.file(TALKATIVE, "bot.py")

    result = project.ltm(agent="bot:Talkative")

    assert section_of(result, "Captured stdout call", "test_a") == [
        "agent heard A",
        "agent heard A?",
    ]
    assert "\n".join(result.outlines).count("agent heard") == 2


@pytest.mark.parametrize("capture", ["fd", "sys"])
def test_every_kind_of_capture_keeps_scenarios_apart(
    project: Project, capture: str
) -> None:
    project.file(PAIR)

    result = project.ltm(f"--capture={capture}")

    assert section_of(result, "Captured stdout call", "test_a") == [
        "A out before",
        "A out after",
    ]


def test_fd_capture_sees_what_other_programs_write(project: Project) -> None:
    project.file(
        """
import os

def test_a(ltm):
    ltm.say("A")
    ltm.wait(span=0.5)
    os.system("echo from the shell")
    assert ltm.ask("A?") == "never"
"""
    )

    result = project.ltm()

    assert section_of(result, "Captured stdout call", "test_a") == ["from the shell"]


def test_s_shows_everything_at_once(project: Project) -> None:
    project.file(PAIR)

    result = project.ltm("-s")

    lines = re.findall("[AB] out (?:before|after)", "\n".join(result.outlines))
    assert lines == ["A out before", "B out before", "A out after", "B out after"]
    result.stdout.no_fnmatch_line("*Captured stdout*")


@pytest.mark.parametrize(
    "missing",
    [
        "cacheprovider",
        "debugging",
        "junitxml",
        "logging",
        "setuponly",
        "setupplan",
        "stepwise",
        "warnings",
    ],
)
def test_scenarios_run_without_a_plugin_of_pytests_own(
    project: Project, missing: str
) -> None:
    project.file(PAIR)

    result = project.ltm(f"-pno:{missing}")

    result.assert_outcomes(failed=2)
    assert section_of(result, "Captured stdout call", "test_a") == [
        "A out before",
        "A out after",
    ]


def test_scenarios_run_without_a_terminal(project: Project) -> None:
    # pytest 8.0 cannot explain a failed assert without its terminal
    project.file(PAIR.replace(' == "never"', ""))

    assert project.ltm("-pno:terminal").ret == pytest.ExitCode.OK
    assert set(project.results()) == {"a", "b"}


@pytest.mark.parametrize("fixture", ["capsys", "capfd"])
def test_capturing_fixtures_of_two_scenarios_see_their_own_output_only(
    project: Project, fixture: str
) -> None:
    project.file(
        f"""
def talk(ltm, {fixture}, name):
    print(name, "before")
    ltm.say(f"{{name}} speaks")
    ltm.wait(span=0.5)
    print(name, "after")
    ltm.ask(f"{{name}} asks")
    assert {fixture}.readouterr().out == f"{{name}} before\\n{{name}} after\\n"
    with {fixture}.disabled():
        print(name, "shown")

def test_a(ltm, {fixture}): talk(ltm, {fixture}, "A")
def test_b(ltm, {fixture}): talk(ltm, {fixture}, "B")
def test_c(ltm):
    print("C before")
    ltm.say("C speaks")
    ltm.wait(span=0.5)
    assert ltm.ask("C asks") == "never"
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=2, failed=1)
    assert section_of(result, "Captured stdout call", "test_c") == ["C before"]
    result.stdout.fnmatch_lines(["*A shown", "*B shown"])


def test_capsys_of_a_scenario_sees_what_the_agent_prints_for_it(
    project: Project,
) -> None:
    project.file(TALKATIVE, "bot.py")
    project.file(
        """
def test_a(ltm, capsys):
    ltm.say("A speaks")
    ltm.wait(span=0.5)
    ltm.ask("A asks")
    assert capsys.readouterr().out == "agent heard A speaks\\nagent heard A asks\\n"
"""
    )

    project.ltm(agent="bot:Talkative").assert_outcomes(passed=1)


def test_output_of_fixtures_is_in_the_sections_of_setup_and_teardown(
    project: Project,
) -> None:
    project.file(
        """
import pytest

@pytest.fixture
def noisy(request):
    print("up", request.node.originalname)
    yield
    print("down", request.node.originalname)

def talk(ltm, name):
    ltm.say(name)
    ltm.wait(span=0.5)
    assert ltm.ask(f"{name}?") == "never"

def test_a(ltm, noisy): talk(ltm, "A")
def test_b(ltm, noisy): talk(ltm, "B")
"""
    )

    result = project.ltm("-rA")

    for name in ("test_a", "test_b"):
        assert section_of(result, "Captured stdout setup", name) == [f"up {name}"]
        assert section_of(result, "Captured stdout teardown", name) == [f"down {name}"]


def test_the_current_test_is_the_one_that_speaks(project: Project) -> None:
    project.file(
        """
import os

class Bot:
    def reply(self, message):
        return os.environ.get("PYTEST_CURRENT_TEST", "")
""",
        "bot.py",
    )
    project.file(
        """
import os

def talk(ltm, request):
    expected = f"{request.node.nodeid} (call)"
    assert ltm.say("hello") == expected
    ltm.wait(span=0.5)
    assert os.environ["PYTEST_CURRENT_TEST"] == expected
    assert ltm.ask("hello?") == expected

def test_a(ltm, request): talk(ltm, request)
def test_b(ltm, request): talk(ltm, request)
"""
    )

    project.ltm(agent="bot:Bot").assert_outcomes(passed=2)


def test_context_variables_are_each_scenarios_own(project: Project) -> None:
    project.file(
        """
import contextvars
import pytest

WHO = contextvars.ContextVar("WHO", default="nobody")

@pytest.fixture
def someone():
    WHO.set("someone of a fixture")

def test_a(ltm):
    WHO.set("A")
    ltm.say("A")
    ltm.wait(span=0.5)
    assert WHO.get() == "A"
    ltm.ask("A?")

def test_b(ltm, someone):
    assert WHO.get() == "someone of a fixture"
    ltm.say("B")
    ltm.wait(span=0.5)
    assert WHO.get() == "someone of a fixture"
    ltm.ask("B?")
"""
    )

    project.ltm().assert_outcomes(passed=2)


def test_v_shows_one_line_for_each_scenario_in_the_order_in_which_they_end(
    project: Project,
) -> None:
    project.file(
        """
def talk(ltm, span):
    ltm.say("hello")
    ltm.wait(span=span)
    ltm.ask("hello?")

def test_a(ltm): talk(ltm, 0.9)
def test_b(ltm): talk(ltm, 0.2)
"""
    )

    result = project.ltm("-v")

    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_b[[]echo-300-0-0[]] PASSED *50%*",
            "test_it.py::test_a[[]echo-300-0-0[]] PASSED *100%*",
        ]
    )


def test_vv_s_prints_every_exchange_live(project: Project) -> None:
    project.file(
        "def test_a(ltm):\n    ltm.say('A speaks')\n    ltm.wait(span=0.5)\n    print('awake')\n    ltm.ask('A asks')"
    )

    result = project.ltm("-vv", "-s")

    result.stdout.fnmatch_lines(
        ["*a/0 *", "*you: *A speaks", "*agent: A speaks", "awake*", "*you: *A asks"]
    )


def test_what_the_agent_warns_of_for_fillers_sake_is_not_an_items_error(
    project: Project,
) -> None:
    project.file(
        """
import warnings

class Bot:
    def reply(self, message):
        if not message.startswith("A"):
            warnings.warn("for filler's sake", FutureWarning)
        return message
""",
        "bot.py",
    )
    project.file(
        """
import pytest

@pytest.mark.filterwarnings("error")
def test_a(ltm):
    ltm.say("A speaks")
    ltm.wait(span=0.5)
    ltm.ask("A asks")
"""
    )

    result = project.ltm(agent="bot:Bot")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*FutureWarning: for filler's sake"])


FLOODS = """
import os
class Bot:
    stateless = True
    def reply(self, message):
        if "flood" in message or "quiz" in message:
            print("the beginning", flush=True)
            for _ in range(200):
                os.write(1, b"x" * 1_000)
            print("the end")
        return "all right"
"""


@pytest.mark.parametrize("capture", ["fd", "sys"])
def test_of_endless_output_beginning_and_end_are_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, capture: str
) -> None:
    monkeypatch.setattr("pytest_ltm._core.internals.item_context.LONGEST", 10_000)
    project.file(
        FLOODS
        if capture == "fd"
        else FLOODS.replace('os.write(1, b"x" * 1_000)', 'print("x" * 1_000)'),
        "bot.py",
    )
    project.file(
        "def test_a(ltm):\n    ltm.say('one')\n    ltm.say('flood')\n    ltm.say('flood again')\n"
        "    print('after')\n    assert ltm.ask('two?') == ''\n"
    )

    result = project.ltm(f"--capture={capture}", agent="bot:Bot")

    text = "\n".join(section_of(result, "Captured stdout call", "test_a"))
    assert text.startswith("the beginning")
    assert text.endswith("the end\nafter")
    assert "are left out here]" in text
    assert len(text) < 12_000
