"""Parameters of a suite file are validated before any message is sent."""

from __future__ import annotations

import json

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from run_folders import latest_run


def _run(project: Project, scenario: str, parameters: str) -> RunResult:
    project.file(
        f"scenarios: [{{scenario: {scenario}, parameters: {{{parameters}}}}}]\n",
        "own.ltm-suite.yml",
    )
    return project.pytest(
        "--ltm-agent=full", "--ltm-suite=own.ltm-suite.yml", "--ltm-span=3k"
    )


@pytest.mark.parametrize(
    ("scenario", "parameters", "says"),
    [
        (
            "colours",
            "colour_chnges: 6",
            "does not use 'colour_chnges'*reads language, colour_changes*mean 'colour_changes'[?]",
        ),
        (
            "spy_meeting",
            "meetings: 2",
            "'spy_meeting' does not use 'meetings'; here it reads language, last_wait.",
        ),
        ("chapter_break", "book: a.txt, chapters: 2", "a.txt: cannot be read*"),
        (
            "kv_pairs",
            "pairs: 4, level: 1",
            "does not use 'level'; here it reads pairs, levels, told, language, last_wait.*",
        ),
    ],
)
def test_a_parameter_that_nothing_reads_is_refused(
    project: Project, scenario: str, parameters: str, says: str
) -> None:
    refused = _run(project, scenario, parameters)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [f"*own.ltm-suite.yml: parameters of '{scenario}': *{says}"]
    )
    assert not (project.path / ".ltm").exists()


def test_a_value_that_cannot_be_used_is_refused(project: Project) -> None:
    refused = _run(project, "colours", "colour_changes: many")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*parameters of 'colours': colour_changes is a whole number * not 'many'"]
    )


@pytest.mark.parametrize(
    ("scenario", "parameters"),
    [
        ("jokes", "jokes_told: 2"),
        ("kv_pairs", "pairs: 3, levels: 1"),
        ("chapter_break", "chapters: 2, chapter_characters: 500"),
    ],
)
def test_parameters_that_a_generator_reads_or_copies_are_used(
    project: Project, scenario: str, parameters: str
) -> None:
    _run(project, scenario, parameters).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("scoring", "last"), [("current", "drawn"), ("v3.5", 0.9), ("paper", 0.9)]
)
def test_published_rules_of_scoring_go_with_the_published_last_waits(
    project: Project, scoring: str, last: object
) -> None:
    project.file(
        "scenarios: [colours, {scenario: jokes, parameters: {last_wait: 0.6, jokes_told: 1}}]\n",
        "own.ltm-suite.yml",
    )
    project.pytest(
        "--ltm-agent=full",
        "--ltm-suite=own.ltm-suite.yml",
        f"--ltm-scoring={scoring}",
        "--ltm-span=1k",
    )
    [plan] = latest_run(project.path).glob("*/plan.json")
    waits = {
        example["scenario"]: [
            step["wait"]["span"]
            for step in example["definition"]["steps"]
            if "wait" in step
        ]
        for example in json.loads(plan.read_text("utf-8"))["examples"]
    }
    assert waits["jokes"] == [0.6]
    assert (
        waits["colours"][-1] == last
        if last != "drawn"
        else 0.8 <= waits["colours"][-1] < 0.9
    )
