"""`data paraphrase`: reworded messages, golds that a solver still finds, and their origin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main
from pytest_ltm.lab.author import Model
from pytest_ltm.lab.commands.paraphrase import (
    ParaphraseUnit,
    check_wording,
    reword_definition,
)

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

Capture = pytest.CaptureFixture[str]
SUITE = "name: small\nexamples: 2\nscenarios:\n  - scenario: colours\n"
AUTHOR = """
import json, re
from pathlib import Path

def write(prompt):
    with Path("asked.txt").open("a") as file:
        file.write("x")
    (line,) = re.findall(r"^\\[.*\\]$", prompt.split("Write each of them")[0], re.MULTILINE)
    return json.dumps([other(text) for text in json.loads(line)])

def other(text):
    return f"Well then. {text}"

def forget(prompt):
    (line,) = re.findall(r"^\\[.*\\]$", prompt.split("Write each of them")[0], re.MULTILINE)
    texts = json.loads(line)
    kept = prompt.split("and: ")[1]
    return json.dumps([f"Something {number}, {kept}" for number, _ in enumerate(texts)])
"""


def by(change: Callable[[str], str]) -> Model:
    """Return a model that applies a change to each message."""

    def write(prompt: str) -> str:
        (line,) = re.findall(
            r"^\[.*\]$", prompt.split("Write each of them", maxsplit=1)[0], re.MULTILINE
        )
        return json.dumps([change(text) for text in json.loads(line)])

    return write


DEFINITION: dict[str, Any] = {
    "steps": [
        {"say": "My cat is called Kelvin."},
        {"wait": {"span": 0.9}},
        {"say": '{"cat": "Kelvin"}'},
        {"ask": "What is my cat called?", "about": ["My cat is called Kelvin."]},
    ],
    "expected": "Kelvin",
    "parameters": {},
}


def test_messages_are_reworded_and_what_questions_depend_on_with_them() -> None:
    found = reword_definition(DEFINITION, by(lambda text: f"Well, {text}"), "x")

    assert found["steps"] == [
        {"say": "Well, My cat is called Kelvin."},
        {"wait": {"span": 0.9}},
        {"say": '{"cat": "Kelvin"}'},  # data stays unchanged
        {
            "ask": "Well, What is my cat called?",
            "about": ["Well, My cat is called Kelvin."],
        },
    ]
    assert found["expected"] == "Kelvin"


MESSAGES = [
    ParaphraseUnit("My cat is called Kelvin.", ("Kelvin",), frozenset({"cat"})),
    ParaphraseUnit("Who is it?", ()),
]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (["Kelvin is my cat.", "So who?"], ""),
        (["Kelvin is my cat."], "a list of 2 texts"),
        (["My cat has a name.", "So who?"], "has lost ['Kelvin']"),
        (["Kelvin is my pet.", "So who?"], "has lost ['cat']"),
        (["Kelvin is my cat.", "Who is it?"], "in the same words"),
        (["Kelvin the cat?", "Kelvin the cat?"], "two messages are the same"),
    ],
)
def test_what_a_model_may_not_change(value: list[str], wrong: str) -> None:
    if not wrong:
        assert check_wording(value, MESSAGES) == value
        return
    with pytest.raises(ValueError, match=re.escape(wrong)):
        check_wording(value, MESSAGES)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "an_author_of_colours.py").write_text(AUTHOR, encoding="utf-8")
    (tmp_path / "small.ltm-suite.yml").write_text(SUITE, encoding="utf-8")
    return tmp_path


WORDS = (
    "data",
    "paraphrase",
    "small.ltm-suite.yml",
    "--span=2k",
    "-o",
    "other",
    "--model",
)


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_definitions_are_kept_with_their_provenance_and_are_not_asked_for_again(
    capsys: Capture,
) -> None:
    assert main([*WORDS, "an_author_of_colours:write"]) == 0
    assert "other: 2 definitions in other words, 0 dropped" in capsys.readouterr().out
    (first, _) = sorted(Path("other/colours").glob("*.def.json"))
    held = json.loads(first.read_bytes())
    assert all(
        step.get("say", step.get("ask", "Well then. ")).startswith("Well then. ")
        for step in held["steps"]
    )
    told = json.loads(Path("other/provenance.json").read_bytes())
    assert (told["model"], told["seed"], told["span"]) == (
        "an_author_of_colours:write",
        0,
        "2k",
    )
    assert set(told["sources"]) == {"colours/0", "colours/1"}
    assert told["checked by"] == {"colours/0": "full", "colours/1": "full"}
    assert told["unchecked"] == told["dropped"] == {}

    before = Path("asked.txt").read_text(encoding="utf-8")
    assert main([*WORDS, "an_author_of_colours:write"]) == 0
    assert Path("asked.txt").read_text(encoding="utf-8") == before


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_definitions_whose_gold_is_not_found_any_more_are_dropped(
    capsys: Capture,
) -> None:
    assert main([*WORDS, "an_author_of_colours:forget"]) == 1
    told = capsys.readouterr().out
    assert "0 definitions in other words, 2 dropped" in told
    assert "colours/0: full no longer finds the gold" in told
    assert not list(Path("other/colours").glob("*.def.json"))


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_what_the_reader_cannot_read_another_solver_checks(capsys: Capture) -> None:
    assert main([*WORDS, "an_author_of_colours:forget", "--solver", "oracle"]) == 0
    assert "2 definitions in other words, 0 dropped" in capsys.readouterr().out
    told = json.loads(Path("other/provenance.json").read_bytes())
    assert told["solvers"] == ["full", "oracle"]
    assert told["checked by"] == {"colours/0": "oracle", "colours/1": "oracle"}


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_what_nobody_can_check_is_kept_only_if_asked_for_and_is_marked(
    capsys: Capture,
) -> None:
    assert main([*WORDS, "an_author_of_colours:forget", "--keep-unchecked"]) == 0
    assert (
        "2 definitions in other words, 2 of them unchecked, 0 dropped"
        in capsys.readouterr().out
    )
    told = json.loads(Path("other/provenance.json").read_bytes())
    assert told["checked by"] == {}
    assert "full no longer finds the gold" in told["unchecked"]["colours/0"]


def test_a_folder_of_something_else_is_refused(place: Path, capsys: Capture) -> None:
    (place / "other").mkdir()
    (place / "other" / "notes.txt").write_text("Mine.", encoding="utf-8")
    assert main([*WORDS, "an_author_of_colours:write"]) == 2
    assert "is not empty" in capsys.readouterr().err
