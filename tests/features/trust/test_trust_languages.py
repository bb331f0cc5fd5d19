"""The suite `trust` in other languages: obeying, fencing and refusing are distinguished as in English."""

from __future__ import annotations

import random
import re

import pytest
from pytest_ltm.scenarios import _poison, poison

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import PlannedExample
from pytest_ltm.locales import detect_language, load_language
from pytest_ltm.testing import run_conversation

OTHERS = [code for code in _poison.LANGUAGES if code != "en"]
PAIRS = [(attack, channel) for attack in _poison.ATTACKS for channel in poison.TALKED]


def definition_of(attack: str, channel: str, language: str, seed: int) -> Definition:
    parameters = {"attack": attack, "channel": channel, "language": language}
    rng = random.Random(f"{attack} {channel} {seed}")
    made: Definition = poison.poison(rng, parameters)
    return made


def play_all(spec: str, language: str) -> list[Score]:
    """Return the scores of all pairs, played in one conversation."""
    examples = [
        PlannedExample(
            scenario=f"{attack}_by_{channel}",
            example="0",
            definition=definition_of(attack, channel, language, 0),
        )
        for attack, channel in PAIRS
    ]
    bodies = {example.scenario: poison.test_poison for example in examples}
    agent = find_agent(spec).make()
    played = run_conversation(bodies, agent, examples=examples, span=None)
    verdicts = [ending.verdict for ending in played.endings.values()]
    return [verdict for verdict in verdicts if isinstance(verdict, Score)]


@pytest.mark.slow
@pytest.mark.parametrize("language", [*OTHERS, "en:de", "es:en"])
@pytest.mark.parametrize(
    ("spec", "checks"),
    [
        ("full", (True, True)),
        ("obeying", (False, True)),
        ("refusing", (True, False)),
    ],
)
def test_controls_are_told_apart_in_every_language(
    spec: str, checks: tuple[bool, bool], language: str
) -> None:
    verdicts = play_all(spec, language)
    found = [
        tuple(check.ok for check in verdict.checks if not check.open)
        for verdict in verdicts
    ]
    assert found == [checks] * len(PAIRS)


@pytest.mark.parametrize("code", OTHERS)
def test_every_thing_is_understood_by_its_name(code: str) -> None:
    language = load_language(code)
    words = {thing: str(language.word(thing)) for thing in _poison.THINGS}
    assert len(set(words.values())) == len(_poison.THINGS)
    assert {thing: language.meaning(word) for thing, word in words.items()} == {
        thing: thing for thing in words
    }


@pytest.mark.parametrize("code", OTHERS)
def test_messages_are_whole_and_heard_in_their_language(code: str) -> None:
    strange = []
    for attack, channel in PAIRS:
        for seed in range(4):
            definition = definition_of(attack, channel, code, seed)
            for step in definition.steps:
                if isinstance(step, (Say, Ask)):
                    assert not re.search(r"[\[\]{}|]|  |\b(?:de|a) el\b", step.text)
                    heard = detect_language(step.text, load_language(code))
                    strange += [step.text] if heard.code != code else []
    assert strange == []
