"""Key-Value Pairs can be solved from the messages alone, by rewriting the question until no key is left to look up."""

from __future__ import annotations

import random
import re
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import kv_pairs

from pytest_ltm.api.scenarios import Ask, Say, from_json, to_json
from pytest_ltm.evaluators import RecallsValue

SEEDS = st.integers(0, 2**63)
CODE = re.compile(r"\b[a-z]{4}\d\d\b")


@given(seed=SEEDS, pairs=st.integers(1, 30), data=st.data())
def test_the_entries_lead_from_the_question_to_the_answer_in_so_many_steps(
    seed: int, pairs: int, data: st.DataObject
) -> None:
    levels = data.draw(st.integers(1, min(pairs, 20)))
    definition = kv_pairs.kv_pairs(
        random.Random(seed), {"pairs": pairs, "levels": levels}
    )
    entries = [
        CODE.findall(step.text) for step in definition.steps if isinstance(step, Say)
    ]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert len(entries) == pairs
    assert all(len(entry) == 2 for entry in entries)
    (code,) = CODE.findall(question.text)
    way = [code]
    while following := [value for key, value in entries if key == way[-1]]:
        assert len(following) == 1
        way += following
    assert len(way) == levels + 1
    assert way[-1] == definition.expected
    assert {*definition.parameters["other_codes"]} == {*chain(*entries)} - {*way}
    told = [next(key for key, _ in [CODE.findall(text)]) for text in question.about]
    assert told == way[:-1]


@given(seed=SEEDS)
def test_no_other_code_earns_anything(seed: int) -> None:
    definition = kv_pairs.kv_pairs(random.Random(seed), {})
    evaluate = RecallsValue(
        definition.expected, tuple(definition.parameters["other_codes"])
    )
    said = {
        code
        for step in definition.steps
        if isinstance(step, Say)
        for code in CODE.findall(step.text)
    }
    assert {code for code in said if evaluate([code]).value} == {definition.expected}
    assert evaluate([" ".join(said)]).value == 0


@given(answer=st.text())
def test_any_answer_is_scored(answer: str) -> None:
    assert RecallsValue("tivo42", ("lale33",))([answer]).value in (0.0, 1.0)


@given(seed=SEEDS)
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = kv_pairs.kv_pairs(random.Random(seed), {})
    assert definition == kv_pairs.kv_pairs(random.Random(seed), {})
    assert from_json(to_json(definition), where="here") == definition
