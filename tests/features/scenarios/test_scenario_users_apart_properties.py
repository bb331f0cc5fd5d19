"""Users Apart: a solver without the generator's code knows each speaker, and to whom each fact may be told."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.users_apart import rule_of, users_apart

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {"people": st.integers(2, 4), "topics": st.integers(1, 8)}
)
ABOUT = [
    re.compile(words)
    for words in (
        r"night|before bed",
        "eggs",
        "train",
        r"allergic|\bskin\b",
        "pizza",
        "birthday",
        r"work with|at work|listen",
        r"to work",
        "safe",
        "password",
        "pen name|write under",
        "town|vanish",
        "company|firm",
    )
]


def about(text: str) -> int:
    return next(number for number, words in enumerate(ABOUT) if words.search(text))


def named(text: str) -> Callable[[str], bool]:
    return lambda name: re.search(rf"\b{name}\b", text) is not None


def solved(definition: Definition, expected: list[str]) -> list[str]:
    """Return each expected value that the asker stated about the thing in question, or "" if they stated none."""
    opening, *told = [step.text for step in definition.steps if isinstance(step, Say)]
    people = re.findall(r"[A-Z]\w+", re.split(r"[:.]", opening)[1])
    known = {}
    for text in told:
        (speaker,) = filter(named(text), people)
        known[speaker, about(text)] = text
    answers = []
    for question, right in zip(definition.questions, expected, strict=True):
        speaker, *others = sorted(
            filter(named(question.text), people), key=question.text.index
        )
        said = "" if others else known.get((speaker, about(question.text)), "")
        answers.append(right if right and right in said else said and "something else")
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_knows_the_speakers_knows_what_to_tell_them(
    seed: int, shape: dict[str, int]
) -> None:
    definition = users_apart(random.Random(seed), shape)
    assert solved(definition, definition.expected) == definition.expected
    assert (
        definition.expected.count("")
        == shape["topics"] + 1
        == len(definition.expected) / 2
    )
    assert definition == users_apart(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.parameters["replies"]).value == 1


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, replies: list[str]
) -> None:
    rule = rule_of(definition := users_apart(random.Random(seed), {}))
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
