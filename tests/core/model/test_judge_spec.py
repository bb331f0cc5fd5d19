"""Specs of `--ltm-judge`, on the command line and in files, and the reading of older runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ltm._core.model.judge_spec import JudgeSpec, fold_judge_options
from pytest_ltm._core.model.spec_files import spec_text
from pytest_ltm._core.storage.errors import ConfigurationError, DefinitionError

FILE = """
judge: openai:m@http://127.0.0.1:1/v1
parameters: {votes: 5, cache: off, key_env: "A&B"}
"""


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("rules", JudgeSpec("rules")),
        ("rules?votes=5", JudgeSpec("rules", votes=5)),
        ("openai:m?key_env=K&votes=1", JudgeSpec("openai:m?key_env=K", votes=1)),
        ("openai:m?key_env=K", JudgeSpec("openai:m?key_env=K")),
        ("cmd:ask why?", JudgeSpec("cmd:ask why?")),
        ("cmd:ask why??cache=off", JudgeSpec("cmd:ask why?", is_cached=False)),
        ("j:J?canaries=off&cache=on", JudgeSpec("j:J", has_canaries=False)),
    ],
)
def test_the_parameters_of_a_run_are_taken_from_those_of_the_judge(
    text: str, spec: JudgeSpec
) -> None:
    assert JudgeSpec.parse(text) == spec


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("rules?votes=2", "votes: 2 may be tied; use an odd number"),
        ("rules?votes=x", "votes: 'x' is not a number of votes"),
        ("rules?votes=1&votes=3", "'votes' is given twice"),
        ("rules?cache=no", "cache: 'no' is not one of on, off"),
        ("none?votes=3", "none judges nothing"),
    ],
)
def test_a_wrong_parameter_is_an_error(text: str, cure: str) -> None:
    with pytest.raises(ConfigurationError, match=cure):
        JudgeSpec.parse(text)


def test_a_file_says_the_same_as_a_spec(tmp_path: Path) -> None:
    (tmp_path / "judge.yml").write_text(FILE)
    text = spec_text("judge.yml", "judge", tmp_path)
    assert JudgeSpec.parse(text) == JudgeSpec(
        "openai:m@http://127.0.0.1:1/v1?key_env=A%26B", votes=5, is_cached=False
    )


@pytest.mark.parametrize(
    ("content", "cure"),
    [
        ("parameters: {votes: 5}", "judge"),
        ("judge: rules\nvotes: 5", "votes"),
        ("judge: rules\nparameters: {votes: [5]}", "votes: a parameter is a text"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_it(
    tmp_path: Path, content: str, cure: str
) -> None:
    (tmp_path / "judge.yml").write_text(content)
    with pytest.raises(DefinitionError, match=rf"judge\.yml.*{cure}"):
        spec_text("judge.yml", "judge", tmp_path)


def test_a_run_recorded_with_options_of_the_judge_has_parameters() -> None:
    recorded = {"ltm_judge": "j:J", "ltm_judge_votes": "1", "ltm_judge_canaries": "off"}
    assert fold_judge_options(recorded, "j:J") == {
        "ltm_judge": "j:J?votes=1&canaries=off"
    }
    of_ini = fold_judge_options({"ltm_judge_cache": "off"}, "openai:m?key_env=K")
    assert of_ini == {"ltm_judge": "openai:m?key_env=K&cache=off"}
    assert fold_judge_options({"ltm_judge_votes": "5"}, "none") == {}
