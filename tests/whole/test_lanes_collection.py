"""Which tests are scenarios, and which scenarios never overlap."""

from __future__ import annotations

import pytest
from conftest import Project

GOOD = "def test_good(ltm):\n    ltm.say('hello')\n    ltm.ask('hello?')\n"


def test_users_of_monkeypatch_never_overlap(project: Project) -> None:
    project.file(
        """
import os
import pytest
from ticks import tick

def talk(ltm, name):
    tick(name, "begins")
    ltm.say(name)
    ltm.wait(span=0.5)
    tick(name, "ends")
    ltm.ask(f"{name}?")

def patched(ltm, monkeypatch, name):
    assert "WHO" not in os.environ
    monkeypatch.setenv("WHO", name)
    talk(ltm, name)
    assert os.environ["WHO"] == name

@pytest.fixture
def through(monkeypatch):
    return monkeypatch

def test_a(ltm, monkeypatch): patched(ltm, monkeypatch, "A")
def test_b(ltm, through): patched(ltm, through, "B")
def test_c(ltm): talk(ltm, "C")
"""
    )

    project.ltm().assert_outcomes(passed=3)

    assert [tick for tick in project.ticks if "C" not in tick] == [
        "A begins",
        "A ends",
        "B begins",
        "B ends",
    ]
    assert project.ticks[:2] == ["A begins", "C begins"]


def test_scenarios_that_a_marker_names_never_overlap(project: Project) -> None:
    project.file(
        """
import pytest
from ticks import tick

def talk(ltm, name):
    tick(name, "begins")
    ltm.say(name)
    ltm.wait(span=0.5)
    tick(name, "ends")
    ltm.ask(f"{name}?")

def test_a(ltm): talk(ltm, "A")
@pytest.mark.ltm(incompatible=["a"])
def test_b(ltm): talk(ltm, "B")
"""
    )

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == ["A begins", "A ends", "B begins", "B ends"]


@pytest.mark.parametrize(
    "ltm_run", [True, False], ids=["in an LTM run", "in any other"]
)
def test_a_testcase_with_ltm_is_a_collection_error_with_the_cure(
    project: Project, *, ltm_run: bool
) -> None:
    project.file(GOOD)
    project.file(
        """
import unittest
import pytest

class Talks(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _ltm(self, ltm):
        self.ltm = ltm

    def test_a(self):
        self.ltm.say("hello")
""",
        "test_case.py",
    )

    arguments = ["--ltm-agent=echo", "--ltm-suite=none"] if ltm_run else []
    result = project.pytest(*arguments)

    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting test_case.py*",
            "*Talks is a unittest.TestCase*Make it a plain class (class Talks:)*",
        ]
    )
    result = project.pytest(*arguments, "--continue-on-collection-errors")
    result.assert_outcomes(errors=1, **({"passed": 1} if ltm_run else {"skipped": 1}))


@pytest.mark.parametrize("requested", ["ltm", "ltm, ltm_agent"])
def test_overriding_ltm_agent_is_an_error_that_names_the_hook(
    project: Project, requested: str
) -> None:
    project.conftest("import pytest\n@pytest.fixture\ndef ltm_agent(): return object()")
    project.file(GOOD.replace("(ltm)", f"({requested})"))

    result = project.ltm()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*'ltm_agent' is overridden in conftest*pytest_ltm_make_agent*"]
    )


def test_overriding_ltm_agent_elsewhere_is_nobodys_business(project: Project) -> None:
    project.file(GOOD)
    project.file(
        "import pytest\n@pytest.fixture\ndef ltm_agent(): return 5\ndef test_x(ltm_agent): assert ltm_agent == 5",
        "test_x.py",
    )

    project.pytest().assert_outcomes(passed=1, skipped=1)


def test_a_project_with_an_ltm_fixture_of_its_own_is_left_alone(
    project: Project,
) -> None:
    project.conftest(
        "import pytest\n@pytest.fixture\ndef ltm(): return 'long-term mortgage'"
    )
    project.file("def test_a(ltm): assert ltm == 'long-term mortgage'")

    project.pytest().assert_outcomes(passed=1)
    project.pytest("-m", "ltm").assert_outcomes(deselected=1)
    project.ltm().assert_outcomes(deselected=1)


def test_fixtures_of_the_conversation_are_handed_out(project: Project) -> None:
    project.file(
        "class Bot:\n    name = 'Bot 7'\n    def reply(self, message): return message",
        "bot.py",
    )
    project.file(
        """
from datetime import timedelta

def test_a(ltm, ltm_agent, ltm_conversation, ltm_clock, ltm_judge):
    assert ltm_agent.name == "Bot 7"
    before = ltm_clock.now
    ltm.say("hello")
    ltm.wait(time="3h")
    assert ltm.now == ltm_clock.now == before + timedelta(hours=3)
    ltm.ask("hello?")
    assert [one.message for one in ltm_conversation.channel.transcript][-2:] == ["hello", "hello?"]
    assert not ltm_judge
"""
    )

    project.ltm(agent="bot:Bot").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "fixture", ["ltm_agent", "ltm_conversation", "ltm_clock", "ltm_judge"]
)
def test_an_ordinary_test_cannot_use_a_conversations_fixtures(
    project: Project, fixture: str
) -> None:
    project.file(f"def test_a({fixture}): pass")

    result = project.pytest()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*'{fixture}' can only be used by a test that is a scenario of an LTM run*"]
    )


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "@pytest.mark.ltm(\n    examples=2,\n    exampels=3,\n)\ndef test_a(ltm): ...",
            "4: *has no keyword 'exampels'*",
        ),
        (
            "pytestmark = pytest.mark.ltm(threshold=3)\n\ndef test_a(ltm): ...",
            "2: *(threshold=3): expected a score*",
        ),
        (
            "@pytest.mark.skipif(False, reason='')\n@pytest.mark.ltm(3)\ndef test_a(ltm): ...",
            "3: *takes keywords only*",
        ),
    ],
)
def test_a_marker_that_cannot_be_is_a_collection_error_of_its_file_at_its_line(
    project: Project, source: str, told: str
) -> None:
    project.file(f"import pytest\n{source}\n", "test_wrong.py")
    project.file(GOOD)

    result = project.ltm("--continue-on-collection-errors")

    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*ERROR collecting test_wrong.py*", f"test_wrong.py:{told}"]
    )
    result.stdout.no_fnmatch_line("*_multicall*")


def test_a_mark_of_a_parameter_that_cannot_be_ends_the_run_in_a_sentence(
    project: Project,
) -> None:
    project.file(
        "import pytest\n@pytest.mark.parametrize('a', [pytest.param(2, marks=pytest.mark.ltm(exampels=3))])\n"
        "def test_a(ltm, a): ..."
    )

    result = project.ltm()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: test_it.py:2: @pytest.mark.ltm has no keyword 'exampels'. *"]
    )


def test_a_yaml_scenario_is_an_item_like_any_other(project: Project) -> None:
    project.file(GOOD)
    project.file(
        """
description: a name
steps:
  - say: My name is Ada.
  - wait: {span: 0.5}
  - ask: What is my name?
    expect:
      contains: name
""",
        "name.ltm.yml",
    )

    result = project.ltm("-v")

    result.stdout.fnmatch_lines(["*name.ltm.yml::test_name[[]echo-300-0-0[]] *"])
