"""Nearly correct input is accepted, or reported with the correct spelling; nothing is dropped silently."""

from __future__ import annotations

import pytest
from conftest import Project

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import Wait
from pytest_ltm.api.storage import AgentError, ScenarioError
from pytest_ltm.commands import USAGE, main

DOG = """
steps:
  - say: My dog is Ohm.
  - ask: What is my dog called?
    expect: [{contains: Ohm}]
"""
CAT = """
def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    assert "Kelvin" in ltm.ask("Who is my cat?")
"""


@pytest.mark.parametrize("suffix", ["yml", "yaml"])
def test_a_scenario_file_is_played_whichever_way_it_is_spelt(
    project: Project, suffix: str
) -> None:
    project.file(DOG, f"dog.ltm.{suffix}")
    result = project.ltm(agent="full")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["dog *1.00*"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--ltm-span=2k", "--ltm-span=4k"], "both at once: --ltm-span=2k,4k"),
        (
            ["--ltm-seed=1", "--ltm-seed=2"],
            "--ltm-seed is given 2 times: 1 and 2. Give",
        ),
    ],
)
def test_an_option_is_not_dropped_for_a_later_one(
    project: Project, given: list[str], told: str
) -> None:
    project.file(CAT)
    result = project.pytest("--ltm-agent=echo", "--ltm-suite=none", *given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{told}*"])


def test_an_option_that_takes_several_may_be_repeated(project: Project) -> None:
    project.file(CAT)
    words = ["--ltm-agent=full", "--ltm-agent=window:2k", "--ltm-suite=none"]
    project.pytest(*words, "--ltm-span=300").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "condition", [{"span": "90%"}, {"tokens": "5"}, {"span": True}]
)
def test_a_wait_that_is_no_number_says_what_to_write(
    condition: dict[str, object],
) -> None:
    with pytest.raises(ScenarioError, match=r"is a number, as in span=0\.9"):
        Wait(**condition)  # type: ignore[arg-type]


def test_an_address_without_a_scheme_is_no_module() -> None:
    with pytest.raises(AgentError, match="as in 'http://localhost:8000/chat'"):
        find_agent("localhost:8000/chat")


@pytest.mark.parametrize("word", ["run", "test", "eval"])
def test_who_looks_for_the_run_is_sent_to_pytest(
    capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert main([word]) == USAGE
    assert "started by pytest: pytest --ltm-agent=SPEC" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limit", "ending"), [("0.9", "gate: failed"), ("0", "gate: passed")]
)
def test_the_last_line_ends_with_the_verdict_of_the_gate(
    project: Project, limit: str, ending: str
) -> None:
    project.file(CAT)
    result = project.ltm(f"--ltm-fail-under=mean:{limit}", agent="silent")
    assert ending in result.outlines[-1]
    assert "1 passed" in result.outlines[-1]
