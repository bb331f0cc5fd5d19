"""What is said in a scenario is said in many ways, half of them without the words that the question has."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from pytest_ltm.scenarios import colours
from pytest_ltm.scenarios._wording import variants, worded

from pytest_ltm._engine.scenario import Say
from pytest_ltm.reader.reader import make_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

ENOUGH = 60
MESSAGES = {
    "colours, first": colours.FIRST,
    "colours, later": [*colours.NAMED, *colours.UNNAMED],
    "colours, question": colours.QUESTIONS,
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


def test_alternatives_are_drawn_and_slots_filled() -> None:
    wordings = ("[so|well], {a}[ now|]: [{b}|nothing].",)
    rng = random.Random(0)
    drawn = {worded(rng, wordings, a="x", b="y") for _ in range(200)}
    assert drawn == {f"{w}, x{n}: {b}." for w in ("So", "Well") for n in (" now", "") for b in ("y", "nothing")}
    assert len(list(variants(wordings))) == len(drawn)


@pytest.mark.parametrize("wordings", [colours.FIRST, colours.NAMED, colours.UNNAMED])
def test_full_reads_every_wording_of_a_favourite_colour(wordings: Sequence[str]) -> None:
    for said in variants(wordings):
        reader = make_reader("full")()
        reader.reply("My favourite colour is teal.")
        reader.reply(said.format(colour="mauve"))
        assert reader.reply("What is my favourite colour?").lower() == "your favourite colour is mauve.", said


def test_full_reads_every_question_for_a_favourite_colour() -> None:
    for question in variants(colours.QUESTIONS):
        reader = make_reader("full")()
        reader.reply("My favourite colour is teal.")
        assert reader.reply(question) == "Your favourite colour is teal.", question


def test_half_of_what_changes_a_favourite_colour_does_not_say_that_it_is_one() -> None:
    definitions = [colours.colours(random.Random(seed), {}) for seed in range(200)]
    told = [[step.text for step in one.steps if type(step) is Say] for one in definitions]
    assert all("colour" in first for first, *_ in told)
    changes = [text for _, *later in told for text in later]
    assert 0.4 < sum("colour" not in text for text in changes) / len(changes) < 0.6
