"""The `summary.json` of a data set is valid against the published schema, whatever additional figures it holds."""

from __future__ import annotations

import importlib.resources
import json

import jsonschema
import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.commands import main

BOT = """
class Bot:
    def reply(self, message):
        return "Not mentioned."

    def accept(self, message, reply):
        pass

    def retrieved(self):
        return ["D1:1", "answer_x_1"]
"""
MADE = {
    "locomo": [
        "data",
        "locomo-generate",
        "--sessions",
        "2",
        "--turns",
        "30",
        "--questions",
        "10",
    ],
    "longmemeval": ["data", "longmemeval-generate", "--count", "11"],
}
OPTIONS = {
    "locomo": ["?tasks=questions,events,dialogue", "--ltm-judge=rules"],
    "longmemeval": ["?history=shared"],
}


@pytest.mark.parametrize("name", MADE)
def test_the_summary_of_a_data_set_is_valid(project: Project, name: str) -> None:
    assert main([*MADE[name], "-o", str(project.path / "made.json")]) == 0
    project.file(BOT, "bot.py")

    project.pytest(
        f"--ltm-suite={name}",
        "?data=made.json",
        "--ltm-agent=bot:Bot",
        *OPTIONS[name],
    )

    summary = json.loads(
        (latest_run(project.path) / "summary.json").read_text(encoding="utf-8")
    )
    schema = (
        importlib.resources.files("pytest_ltm.reports")
        .joinpath("summary.schema.json")
        .read_text("utf-8")
    )
    examples = [
        example for held in summary["conversations"] for example in held["examples"]
    ]
    assert any(
        field.startswith("ltm_metric_") for example in examples for field in example
    )
    jsonschema.Draft202012Validator(json.loads(schema)).validate(summary)
