"""Needles can be found in the messages alone, by a solver that knows nothing of the generators."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import needle, needle_chain, needles

from pytest_ltm import Definition
from pytest_ltm.api.scenarios import Ask, Say, from_json, to_json
from pytest_ltm.evaluators import RecallsValue

SEEDS = st.integers(0, 2**63)
CODE = re.compile(r"\b[a-z]{4}\d\d\b")
OWNER = re.compile(r"[A-Z][a-z]+ ([A-Z][a-z]+)'s ([a-z]+)")
GONE = ("no longer", "any more", "is over", "no use", "changed", "That's over")


def solved(definition: Definition) -> list[str]:
    """Return the code that each question asks for; whose it is tells of the surname and the thing's first word."""
    says = [step.text for step in definition.steps if isinstance(step, Say)]
    told = [text for text in says if not any(words in text for words in GONE)]
    return [
        found(OWNER.findall(question.text)[-1], told)
        for question in definition.questions
    ]


def found(place: tuple[str, str], told: list[str]) -> str:
    group = {place}
    for _ in told:
        for text in told:
            places = set(OWNER.findall(text))
            if places & group:
                if codes := CODE.findall(text):
                    return str(codes[0])
                group |= places
    raise AssertionError(place)


@given(SEEDS, st.lists(st.floats(0, 1), min_size=1, max_size=3), st.integers(1, 30))
def test_a_needle_is_told_once(seed: int, depths: list[float], near: int) -> None:
    definition = needle.needle(
        random.Random(seed), {"depths": depths, "near_misses": near}
    )
    assert solved(definition) == [definition.expected]
    says = [step.text for step in definition.steps if isinstance(step, Say)]
    assert len(says) == near + 1
    assert [text for text in says if definition.expected in text] == list(
        definition.questions[0].about
    )


@given(SEEDS, st.integers(2, 30), st.integers(0, 4))
def test_all_needles_are_told(seed: int, number: int, near: int) -> None:
    definition = needles.needles(
        random.Random(seed), {"needles": number, "near_misses": near}
    )
    assert solved(definition) == definition.expected
    assert len(
        {*definition.expected, *definition.parameters["other_codes"]}
    ) == number * (1 + near)


@given(SEEDS, st.integers(1, 6), st.integers(2, 6))
def test_a_chain_leads_to_one_code(seed: int, hops: int, chains: int) -> None:
    definition = needle_chain.needle_chain(
        random.Random(seed), {"hops": hops, "chains": chains}
    )
    assert solved(definition) == [definition.expected]
    assert len(definition.questions[0].about) == hops + 1
    assert not CODE.search(definition.questions[0].text)


@given(
    SEEDS, st.sampled_from([needle.needle, needles.needles, needle_chain.needle_chain])
)
def test_no_other_code_earns_anything_and_the_definition_survives_being_written(
    seed: int, make: object
) -> None:
    definition = make(random.Random(seed), {})  # type: ignore[operator]
    assert from_json(to_json(definition), where="a file") == definition
    expected = (
        definition.expected
        if isinstance(definition.expected, list)
        else [definition.expected]
    )
    others = definition.parameters["other_codes"]
    evaluate = RecallsValue(expected[0], tuple({*expected[1:], *others}))
    assert evaluate([expected[0]]).value == 1
    assert {evaluate([other]).value for other in others} <= {0.0}
    assert evaluate([" ".join([*expected, *others])]).value == 0
    assert all(isinstance(step, Ask) for step in definition.questions)
