"""A project's own scenarios are first played without memory: answers that they give away are reported in advance."""

from __future__ import annotations

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

BOT = """
from ticks import tick

class Bot:
    def __init__(self):
        self.notes = []

    def reply(self, message):
        tick("heard")
        self.notes.append(message)
        return " ".join(note for note in self.notes if not note.endswith("?"))
"""
SAYS = "def test_own(ltm):\n    ltm.say('My favourite colour is teal.')\n"
WAITS = "    ltm.wait(span=0.5)\n"
GOOD = f"{SAYS}{WAITS}    ltm.check('teal', 'teal' in ltm.ask('Which one?'))\n"
GIVEAWAYS = {
    "the question holds the answer": (
        f"{SAYS}{WAITS}    ltm.check('teal', 'teal' in ltm.ask('Is it teal?'))\n",
        "1.00 here (echo)",
    ),
    "any answer passes": (
        f"{SAYS}{WAITS}    assert ltm.ask('Which one?')\n",
        "1.00 here (echo)",
    ),
    "no answer passes": (
        f"{SAYS}{WAITS}    ltm.check('not red', 'red' not in ltm.ask('Not red?'))\n",
        "1.00 here (silent)",
    ),
    "it was said just before": (
        f"{SAYS}    ltm.check('teal', 'teal' in ltm.ask('Which one?'))\n",
        "1.00 here (repeating the message before)",
    ),
    "half of it": (
        f"{GOOD}    ltm.check('not red', True)\n",
        "0.50 here (echo)",
    ),
}


@pytest.fixture
def project(project: Project) -> Project:
    project.file(BOT, "bots.py")
    return project


def played(project: Project, scenario: str, *words: str) -> str:
    project.file(scenario)
    options = ("--ltm-agent=bots:Bot", "--ltm-span=500", "test_it.py")
    result = project.pytest(*options, *words)
    shown = result.stdout.str() + result.stderr.str()
    return " ".join(shown.split())


@pytest.mark.parametrize("kind", GIVEAWAYS)
def test_a_scenario_that_needs_no_memory_is_named_where_a_baseline_is_saved(
    project: Project, kind: str
) -> None:
    scenario, told = GIVEAWAYS[kind]
    shown = played(project, scenario, "--ltm-save=main")
    assert f"note: own: an agent without memory earns {told}" in shown
    assert "baseline saved" in shown
    assert project.ticks


@pytest.mark.parametrize("kind", GIVEAWAYS)
def test_under_strict_it_is_an_error_before_the_first_message(
    project: Project, kind: str
) -> None:
    scenario, told = GIVEAWAYS[kind]
    shown = played(project, scenario, "--strict")
    assert f"ERROR: own: an agent without memory earns {told}" in shown
    assert not project.ticks


@pytest.mark.parametrize("option", ["--ltm-save=main", "--strict"])
@pytest.mark.parametrize(
    "scenario",
    [
        GOOD,
        f"import pytest\n@pytest.mark.ltm(floor=1.0)\n{GIVEAWAYS['any answer passes'][0]}",
        f"{SAYS}{WAITS}    while 'teal' not in ltm.ask('Which one?'):\n        pass\n",
        f"{SAYS}    ltm.ask('Which one?')\n    raise OSError\n",
    ],
    ids=["good", "declared", "goes on until it is content", "raises"],
)
def test_nothing_is_said_of_other_scenarios(
    project: Project, scenario: str, option: str
) -> None:
    assert "without memory earns" not in played(project, scenario, option)
    assert project.ticks


def test_elsewhere_no_scenario_is_played_twice(project: Project) -> None:
    scenario = f"from ticks import tick\n{GOOD}    tick('body')\n"
    shown = played(project, scenario)
    assert "without memory earns" not in shown
    assert project.ticks.count("body") == 1
