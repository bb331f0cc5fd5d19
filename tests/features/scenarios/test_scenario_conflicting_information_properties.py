"""Conflicting Personal Information: a solver that believes the user's latest statement finds every final value."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.conflicting_personal_information import (
    TOPICS,
    conflicting_personal_information,
)

from pytest_ltm.api.scenarios import Definition
from pytest_ltm.evaluators import KnowsCurrentFacts

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {"topics": st.integers(1, len(TOPICS)), "statements": st.integers(1, 9)}
)
OTHERS_SAY = re.compile(
    r"(?i)not true|don't believe|it's wrong|nonsense|ignore it|never so|word of truth"
)
TAKEN_BACK = re.compile(r"what I (?:told|said|last|claimed)")


def solved(definition: Definition) -> list[str]:
    """Return the final value for each question, among all values that the definition names."""
    answers = []
    for question, right, others in zip(
        definition.questions,
        definition.expected,
        definition.parameters["mentioned"],
        strict=True,
    ):
        believed: list[str] = []
        for text in question.about:
            if TAKEN_BACK.search(text):
                believed.pop()
            elif not OTHERS_SAY.search(text):
                believed += [
                    value
                    for value in (right, *others)
                    if re.search(rf"\b{value}\b", text)
                ]
        answers.append(believed[-1])
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_believes_the_user_knows_what_is_so(
    seed: int, shape: dict[str, int]
) -> None:
    definition = conflicting_personal_information(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert definition == conflicting_personal_information(random.Random(seed), shape)


@given(seed=SEEDS, shape=SHAPES, replies=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, shape: dict[str, int], replies: list[str]
) -> None:
    definition = conflicting_personal_information(random.Random(seed), shape)
    rule = KnowsCurrentFacts(
        tuple(definition.expected),
        tuple(map(tuple, definition.parameters["mentioned"])),
    )
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
