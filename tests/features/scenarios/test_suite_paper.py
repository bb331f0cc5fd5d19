"""The suite `paper` is frozen: its file leaves nothing to defaults, and a version always has the same texts."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import PlannedExample, definition_rng, to_json
from pytest_ltm.api.scenarios import suite as _suite
from pytest_ltm.datasets.suite_parameters import Noticing
from pytest_ltm.lab.published_results import SKILLS
from pytest_ltm.testing import run_conversation

RECORD = Path(__file__).with_name("suite_paper.json")
WRITE = "LTM_WRITE_DIGESTS"
PAPER = _suite.built_in("paper")
ELSEWHERE = {"book", "dataset", "language", "locale", "menu"}
"""Parameters that replace a scenario's own texts with external ones."""


def _test_of(entry: _suite.SuiteEntry) -> Any:
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{entry.scenario}"),
        f"test_{entry.scenario}",
    )


def _digest(entry: _suite.SuiteEntry) -> str:
    """Return the hash of all examples for seed 0: their definitions, and the messages to a perfect agent."""
    test = _test_of(entry)
    [marker] = [mark.kwargs for mark in test.pytestmark if mark.name == "ltm"]
    said: list[object] = [marker["reset"]]
    for number in map(str, range(entry.examples or 1)):
        definition = marker["generate"](
            definition_rng(0, 0, entry.name, number), dict(entry.parameters)
        )
        example = PlannedExample(
            scenario=entry.name, example=number, definition=definition
        )
        played = run_conversation(
            {entry.name: test},
            find_agent("oracle").make(),
            examples=[example],
            span=None,
        )
        said += [
            _without_tells(to_json(definition)),
            [exchange.message for exchange in played.transcript],
        ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _without_tells(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without the facts that its messages declare, which no agent sees."""
    steps = [
        {name: value for name, value in step.items() if name != "tells"}
        for step in definition["steps"]
    ]
    return {**definition, "steps": steps}


def _digests() -> dict[str, str]:
    return {entry.name: _digest(entry) for entry in PAPER.entries}


@pytest.mark.slow
def test_what_the_suite_paper_says_is_that_of_its_version() -> None:
    recorded, digests = json.loads(RECORD.read_text("utf-8")), _digests()
    changed = [
        name for name in digests if digests[name] != recorded["digests"].get(name)
    ]
    if os.environ.get(WRITE) and (not changed or PAPER.version != recorded["version"]):
        RECORD.write_text(
            json.dumps({"version": PAPER.version, "digests": digests}, indent=1) + "\n",
            "utf-8",
        )
        return
    assert not changed, (
        f"the suite paper {PAPER.version} says something else now in: {', '.join(changed)}. Its totals would not be "
        "comparable with earlier ones: take the change back, or raise `version` in scenarios/paper.ltm-suite.yml, "
        f"run this test with {WRITE}=1, and say in CHANGELOG.md what has changed"
    )
    assert recorded == {"version": PAPER.version, "digests": digests}


@pytest.mark.parametrize("entry", PAPER.entries, ids=lambda entry: entry.name)
def test_the_suite_paper_leaves_no_parameter_to_its_default(
    entry: _suite.SuiteEntry,
) -> None:
    given = Noticing(dict(entry.parameters))
    [marker] = [
        mark.kwargs for mark in _test_of(entry).pytestmark if mark.name == "ltm"
    ]
    marker["generate"](definition_rng(0, 0, entry.name, "0"), given)
    assert given.asked.keys() - ELSEWHERE == entry.parameters.keys()


def test_the_trigger_of_the_suite_paper_is_one_phrase_three_times_without_controls() -> (
    None
):
    [entry] = [entry for entry in PAPER.entries if entry.name == "trigger_response"]
    [marker] = [
        mark.kwargs for mark in _test_of(entry).pytestmark if mark.name == "ltm"
    ]
    for number in range(20):
        rng = definition_rng(0, 0, entry.name, str(number))
        definition = marker["generate"](rng, dict(entry.parameters))
        assert len(definition.questions) == len(definition.expected) == 3
        assert len({question.text for question in definition.questions}) == 1


def test_published_results_have_the_skills_of_the_scenarios_here() -> None:
    tags = {entry.name: marks_of_test(entry) for entry in PAPER.entries}
    assert tags == SKILLS
    assert tags["name_list"] == ("R", "C")


def marks_of_test(entry: _suite.SuiteEntry) -> tuple[str, ...]:
    [marker] = [
        mark.kwargs for mark in _test_of(entry).pytestmark if mark.name == "ltm"
    ]
    return tuple(marker["skills"].split(","))


def test_the_published_numbers_of_the_suite_paper() -> None:
    assert [entry.examples for entry in PAPER.entries] == [3] * 11
    assert {
        entry.name: entry.parameters.get("last_wait") for entry in PAPER.entries
    } == {
        entry.name: None if entry.name == "chapter_break" else 0.9
        for entry in PAPER.entries
    }
