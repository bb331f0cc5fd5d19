"""docs/adding.md names the three places of a new scenario and the folder of everything else: they are there.

And what else a new scenario must have is told here, in the fast loop, although it takes
a second.
"""

from __future__ import annotations

import importlib
import inspect
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_ltm.scenarios import _parameters

from pytest_ltm import Definition, Wait, evaluators
from pytest_ltm.api.scenarios import built_in, built_in_names, scenario_names
from pytest_ltm.lab.verdict_mutants import _MAKERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
)
FOLDERS = "Everything else: one folder"
AT_ONCE = {"chapter_break"}
"""A book is read out without waits."""


def is_there(name: str, *folders: Path) -> bool:
    pattern = name.rstrip("/").replace("NAME", "*").replace("FOLDER", "*")
    return any(any(folder.glob(pattern)) for folder in folders)


def test_a_scenario_has_three_places() -> None:
    places = re.findall(r"^\| `([\w*./-]+)` \|", SECTIONS["A scenario"], re.MULTILINE)
    assert len(places) == 3
    lost = [name for name in places if not is_there(name, ROOT)]
    assert lost == [], "docs/adding.md names a place that is not there"


def test_each_path_is_there() -> None:
    paths = re.findall(r"`([\w.-]+/[\w./-]*|\w+\.(?:py|yml|toml|jsonl))`", PAGE)
    assert len(paths) > 40
    package = ROOT / "pytest_ltm"
    lost = [
        name
        for name in paths
        if not is_there(name, ROOT, package) and not any(package.rglob(name))
    ]
    assert lost == [], "docs/adding.md names a path that is not there"


def test_everything_else_has_one_folder() -> None:
    rows = re.findall(
        r"^\| (?!what)([^|]+) \| ([^|-]+) \|", SECTIONS[FOLDERS], re.MULTILINE
    )
    assert len(rows) > 12
    folders = [folder.strip("`") for _, folder in rows]
    assert {
        folder for folder in folders if not (ROOT / "pytest_ltm" / folder).is_dir()
    } == {"the feature's", "its own"}


def test_the_page_of_scenarios_has_each_scenario_or_there_is_a_page_of_it() -> None:
    folder = ROOT / "docs" / "scenarios"
    text = (folder / "index.md").read_text(encoding="utf-8")
    without = [
        name
        for name in scenario_names()
        if f"`{name}`" not in text and not (folder / f"{name}.md").exists()
    ]
    assert without == [], "give each a page in docs/scenarios/"


def test_each_scenario_is_in_a_suite() -> None:
    assert {
        entry.scenario for name in built_in_names() for entry in built_in(name).entries
    } == set(scenario_names())


def test_each_evaluator_has_mutants() -> None:
    rules = {
        name
        for name in evaluators.__all__
        if inspect.isclass(getattr(evaluators, name))
    }
    without = rules - {"Menu", "Order", "Stage"} - set(_MAKERS)  # parts of an evaluator
    assert without == set(), (
        "say in pytest_ltm/lab/verdict_mutants.py how it is answered wrongly"
    )


@pytest.fixture(scope="module")
def definitions() -> dict[str, Definition]:
    """An example of each scenario."""
    found = {}
    for name in scenario_names():
        generate: Callable[..., Definition] = getattr(
            importlib.import_module(f"pytest_ltm.scenarios.{name}"), name
        )
        found[name] = generate(random.Random(1), {})
    return found


def test_each_scenario_asks_its_last_question_between_80_and_90_percent_of_the_span(
    definitions: dict[str, Definition],
) -> None:
    low, high = _parameters.LAST_WAITS
    waits = {
        name: [step.span for step in definition.steps if isinstance(step, Wait)]
        for name, definition in definitions.items()
        if name not in AT_ONCE
    }
    # the test waits by this field
    waits["restaurant"] = [definitions["restaurant"].parameters["last_wait"]]
    outside = {
        name: shares[-1]
        for name, shares in waits.items()
        if not low <= shares[-1] <= high
    }
    assert outside == {}, (
        "spread the messages by `last_wait` of scenarios/_parameters.py"
    )
