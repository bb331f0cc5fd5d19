"""A memory system in a whole run that is interrupted and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

VECTORS = """
def embed(texts):
    return [[text.count(letter) + 0.1 for letter in "abcdefgh"] for text in texts]
"""
AGENT = """
agent: memory:rules
parameters:
  preset: ltm-1
  window: 400
  index: vectors:embed
"""
SCENARIOS = """
import pathlib
import pytest

STOP = pathlib.Path(__file__).with_name("stop.txt")

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.4)
    assert "Kelvin" in ltm.ask("What is my cat called?")

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9, time="1h")
    if STOP.exists():
        pytest.exit("stopped")
    assert "Ohm" in ltm.ask("What is my dog called?")
"""
RUN = ("--ltm-agent=memory.yml", "--ltm-suite=none", "--ltm-span=900", "--ltm-seed=5")


@pytest.fixture
def pets(project: Project) -> Project:
    project.file(VECTORS, "vectors.py")
    project.file(AGENT, "memory.yml")
    project.file(SCENARIOS)
    return project


def replies(project: Project) -> list[str]:
    """Return all replies of the newest run, with the texts retrieved for each."""
    (journal,) = latest_run(project.path).glob("*/journal.jsonl")
    return replies_in(journal)


def replies_in(journal: Path) -> list[str]:
    events = map(json.loads, journal.read_text("utf-8").splitlines())
    return [
        f"{event['text']} {event.get('retrieved')}"
        for event in events
        if "text" in event and "retrieved" in event
    ]


@pytest.mark.slow
def test_on_two_workers_each_system_replies_as_it_does_alone(pets: Project) -> None:
    words = (*RUN, "--ltm-agent=memory:rules?preset=memgpt&pressure.window=2000")
    found = []
    for more in ((), ("-n2",)):
        pets.pytest(*words, *more)
        journals = sorted(latest_run(pets.path).glob("*/journal.jsonl"))
        found.append({path.parent.name: replies_in(path) for path in journals})

    assert len(found[0]) == 2
    assert found[1] == found[0]


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(pets: Project) -> None:
    pets.pytest(*RUN)
    expected = replies(pets)
    pets.file("", "stop.txt")
    pets.pytest(*RUN)
    assert replies(pets) == expected[:-1]

    (pets.path / "stop.txt").unlink()
    pets.pytest("--ltm-resume=latest").assert_outcomes(passed=2)

    assert replies(pets) == expected
