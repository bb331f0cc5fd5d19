"""Name List and Names can be solved from the messages alone, by a solver without the code of generator or reader."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import name_list, names

from pytest_ltm import Ask, Definition, Say, Wait

SEEDS = st.integers(0, 2**63)


def own_names(definition: Definition) -> list[str]:
    """Return the capitalized words of each statement that do not begin a sentence, or else its first word."""
    told = [step.text for step in definition.steps if type(step) is Say]
    inside = [
        re.findall(r"(?<![.!?] )(?<!^)\b(?!I\b|It\b)[A-Z]\w+", text) for text in told
    ]
    assert all(len(names) <= 1 for names in inside), told
    return [
        names[0] if names else text.split()[0].strip(",")
        for names, text in zip(inside, told, strict=True)
    ]


@given(seed=SEEDS, number=st.integers(1, 50))
def test_the_names_told_are_the_names_expected(seed: int, number: int) -> None:
    definition = name_list.name_list(random.Random(seed), {"name_changes": number})
    assert own_names(definition) == definition.expected
    assert len(definition.expected) == number


@given(seed=SEEDS)
def test_one_seed_gives_one_list(seed: int) -> None:
    first, between, again = (
        name_list.name_list(random.Random(s), {}) for s in (seed, seed + 1, seed)
    )
    assert first == again != between


@given(seed=SEEDS, number=st.integers(2, 20))
def test_no_name_is_a_part_of_another(seed: int, number: int) -> None:
    names = name_list.name_list(random.Random(seed), {"name_changes": number}).expected
    assert not [
        (a, b) for a in names for b in names if a != b and a.lower() in b.lower()
    ]


@given(seed=SEEDS)
def test_the_names_are_spread_over_90_percent_of_the_span(seed: int) -> None:
    steps = name_list.name_list(random.Random(seed), {"last_wait": 0.9}).steps
    assert [round(step.span, 9) for step in steps if isinstance(step, Wait)] == [
        0.18,
        0.36,
        0.54,
        0.72,
        0.9,
    ]
    assert isinstance(steps[-1], Ask)
    assert steps[-1].about == tuple(
        step.text for step in steps if isinstance(step, Say)
    )


@given(seed=SEEDS, number=st.integers(1, 50))
def test_the_name_told_last_is_expected_and_the_others_are_former(
    seed: int, number: int
) -> None:
    definition = names.names(random.Random(seed), {"name_changes": number})
    assert own_names(definition) == [
        *definition.parameters["former"],
        definition.expected,
    ]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert [definition.expected in text for text in question.about] == [True]
