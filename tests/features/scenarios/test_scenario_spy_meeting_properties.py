"""Spy Meeting can be solved from the messages alone, by a solver that knows the meaning of each clue."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import spy_meeting

from pytest_ltm.api.scenarios import Ask, Say, from_json, to_json

CODES = (*spy_meeting.PLACES, *spy_meeting.TIMES, *spy_meeting.ITEMS)
BOOK = {clue: list(words) for clues, words in CODES for clue in clues}


@given(seed=st.integers(0, 2**63))
def test_each_message_holds_one_clue_and_they_are_a_place_a_time_and_a_thing(
    seed: int,
) -> None:
    definition = spy_meeting.spy_meeting(random.Random(seed), {"note": "mine"})
    _, *messages = [step.text for step in definition.steps if isinstance(step, Say)]
    clues = [[clue for clue in BOOK if clue in message] for message in messages]
    assert [len(found) for found in clues] == [1, 1, 1]
    assert [BOOK[found[0]] for found in clues] == definition.expected
    kinds = [
        [any(found[0] in known for known, _ in codes) for found in clues].count(True)
        for codes in (spy_meeting.PLACES, spy_meeting.TIMES, spy_meeting.ITEMS)
    ]
    assert kinds == [1, 1, 1]
    played = [*definition.expected, *definition.parameters["other_messages"]]
    assert sorted(played) == sorted(list(words) for _, words in CODES)


@given(seed=st.integers(0, 2**63))
def test_the_opening_names_the_three_senders_and_the_question_nobody(seed: int) -> None:
    definition = spy_meeting.spy_meeting(random.Random(seed), {})
    opening, *messages = [
        step.text for step in definition.steps if isinstance(step, Say)
    ]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    senders = {
        name for name in spy_meeting.PEOPLE for message in messages if name in message
    }
    assert len(senders) == 3
    assert {name for name in spy_meeting.PEOPLE if name in opening} == senders
    assert not [name for name in spy_meeting.PEOPLE if name in question.text]
    assert question.about == tuple(messages)


@given(seed=st.integers(0, 2**63))
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = spy_meeting.spy_meeting(random.Random(seed), {})
    assert definition == spy_meeting.spy_meeting(random.Random(seed), {})
    assert from_json(to_json(definition), where="here") == definition
