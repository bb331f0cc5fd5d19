from __future__ import annotations

import random

import pytest
from _examples import share
from _interleaving import RESETS, Talk, play
from pytest_ltm.scenarios import colours, jokes, prospective_memory

from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.scenarios import Ask, Definition, Say
from pytest_ltm.evaluators import NamesColour

GENERATORS = {
    "colours": colours.colours,
    "jokes": jokes.jokes,
    "prospective_memory": prospective_memory.prospective_memory,
}
FULL_MARKS = {name: [1.0, 1.0, 1.0] for name in GENERATORS}


def examples(seed: int, number: int = 3) -> dict[str, list[Definition]]:
    authors = ["known", "invented"][seed % 2]
    return {
        name: [
            make(random.Random(f"{seed} {name} {i}"), {"authors": authors})
            for i in range(number)
        ]
        for name, make in GENERATORS.items()
    }


@pytest.mark.slow
def test_full_earns_full_marks_at_any_interleaving() -> None:
    for seed in range(share(50)):
        scores = play(examples(seed), make_reader("full")(), seed=seed)
        assert (seed, scores) == (seed, FULL_MARKS)


@pytest.mark.slow
def test_full_needs_no_reset_messages() -> None:
    for seed in range(share(20)):
        scores = play(examples(seed), make_reader("full")(), seed=seed, resets={})
        assert (seed, scores) == (seed, FULL_MARKS)


@pytest.mark.slow
def test_a_large_window_earns_full_marks_too() -> None:
    for seed in range(share(20)):
        scores = play(examples(seed), make_reader("window", "100k")(), seed=seed)
        assert (seed, scores) == (seed, FULL_MARKS)


@pytest.mark.parametrize("seed", range(10))
def test_a_window_loses_whatever_has_left_it(seed: int) -> None:
    reader = make_reader("window", "300")()
    talk = Talk(reader, random.Random(seed))
    definition = examples(seed)["colours"][0]
    answer = ""
    for step in definition.steps:
        if isinstance(step, (Say, Ask)):
            answer = talk.send(step.text)
            talk.fill(60)
    assert NamesColour(definition.expected)([answer]).value == 0


def test_every_reset_message_of_the_built_in_scenarios_is_the_one_that_is_played_here() -> (
    None
):
    marks = {
        "colours": colours.test_colours,
        "jokes": jokes.test_jokes,
        "prospective_memory": prospective_memory.test_prospective_memory,
    }
    assert {
        name: body.pytestmark[0].kwargs["reset"] for name, body in marks.items()
    } == RESETS
