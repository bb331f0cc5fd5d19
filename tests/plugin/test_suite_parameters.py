"""Parameters of a suite file are tried before anything is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.pytester import RunResult
    from conftest import Project


def _run(project: Project, scenario: str, parameters: str) -> RunResult:
    project.file(f"scenarios: [{{scenario: {scenario}, parameters: {{{parameters}}}}}]\n", "own.ltm-suite.yml")
    return project.pytest("--ltm-agent=full", "--ltm-suite=own.ltm-suite.yml", "--ltm-span=3k")


@pytest.mark.parametrize(
    ("scenario", "parameters", "says"),
    [
        ("colours", "colour_chnges: 6", "does not use 'colour_chnges'*reads colour_changes*mean 'colour_changes'[?]"),
        ("spy_meeting", "meetings: 2", "'spy_meeting' does not use 'meetings'; it has none."),
        ("chapter_break", "book: a.txt, chapters: 2", "a.txt: cannot be read*"),
        ("kv_pairs", "pairs: 4, level: 1", "does not use 'level'; here it reads pairs, levels, told.*"),
    ],
)
def test_a_parameter_that_nothing_reads_is_refused(project: Project, scenario: str, parameters: str, says: str) -> None:
    refused = _run(project, scenario, parameters)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines([f"*own.ltm-suite.yml: parameters of '{scenario}': *{says}"])
    assert not (project.path / ".ltm").exists()


def test_a_value_that_cannot_be_used_is_refused(project: Project) -> None:
    refused = _run(project, "colours", "colour_changes: many")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*parameters of 'colours': colour_changes is a whole number * not 'many'"])


@pytest.mark.parametrize(
    ("scenario", "parameters"),
    [
        ("jokes", "jokes_told: 2"),
        ("kv_pairs", "pairs: 3, levels: 1"),
        ("chapter_break", "chapters: 2, chapter_characters: 500"),
    ],
)
def test_parameters_that_a_generator_reads_or_copies_are_used(project: Project, scenario: str, parameters: str) -> None:
    _run(project, scenario, parameters).assert_outcomes(passed=1)
