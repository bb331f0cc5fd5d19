"""Never Told: a solver without the generator's code knows which facts were told and which were not."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.never_told import UNTOLD, never_told, rule_of

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.integers(2, 12).flatmap(
    lambda facts: st.fixed_dictionaries(
        {"facts": st.just(facts), "questions": st.integers(1, facts)}
    )
)
TOLD = re.compile(
    r"\b[Mm]y (\w+)(?:'s| has an?| owns an?) (\w+) (?:is |goes |that )?(called|by|named|from|was|came|comes|bought)"
    r"(?: \w+)*? ([A-Z]\w+)"
)
ASKED = re.compile(r"my (\w+)(?:'s| get the) (\w+)")
OF_NAMES = {"called", "call", "by", "named", "name"}


def solved(definition: Definition) -> list[str]:
    known = {}
    for step in definition.steps:
        if isinstance(step, Say):
            ((owner, thing, verb, value),) = TOLD.findall(step.text)
            known[owner, thing, verb in OF_NAMES] = value
    answers = []
    for question in definition.questions:
        ((owner, thing),) = ASKED.findall(question.text)
        answers.append(
            known.get(
                (owner, thing, bool(OF_NAMES & set(re.findall(r"\w+", question.text)))),
                "",
            )
        )
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_notes_what_is_told_knows_what_was_not(
    seed: int, shape: dict[str, int]
) -> None:
    definition = never_told(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert (
        definition.expected.count("")
        == shape["questions"]
        == len(definition.expected) / 2
    )
    assert definition == never_told(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert (
        rule_of(definition)([value or UNTOLD for value in definition.expected]).value
        == 1
    )


@given(seed=SEEDS)
def test_every_word_that_tells_what_a_question_is_about_was_told(seed: int) -> None:
    definition = never_told(random.Random(seed), {})
    told = " ".join(
        step.text for step in definition.steps if isinstance(step, Say)
    ).lower()
    assert all(
        word in told
        for question in definition.questions
        for word in ASKED.findall(question.text)[0]
    )


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, replies: list[str]
) -> None:
    rule = rule_of(definition := never_told(random.Random(seed), {}))
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
