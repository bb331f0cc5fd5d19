"""Locations Directions: the places of a town are told one by one; the way through all of them is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_ltm.scenarios._places import PLACES, RESET, number_of_places, route, told, town

from pytest_ltm import Ask, Definition, Ltm, spread
from pytest_ltm.evaluators import LeadsTo

QUESTIONS = (
    "How do I get from the {start} to the {goal} in {town} if I pass all places in the order in which I told them?",
    "I am at the {start} in {town}, and I want to go to the {goal}, by way of all places in the order of my telling.",
)
LEGS = "Say for each leg the direction and the kilometres."


def locations_directions(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `known_locations` (default 6) places over 90 % of the span, each relative to the one before; the question.

    Expected are the `start` and the `route` as [kilometres, direction, place] for each leg. No two places of the town
    lie at the same point.
    """
    places = rng.sample(PLACES, number_of_places(parameters, 6, least=2))
    where, legs = town(rng), route(rng, places)
    statements = told(rng, where, places[0], legs)
    question = f"{rng.choice(QUESTIONS)} {LEGS}".format(start=places[0], goal=places[-1], town=where)
    return Definition(
        steps=spread([*statements, Ask(question, about=tuple(statement.text for statement in statements))]),
        expected={"start": places[0], "route": [list(leg) for leg in legs]},
        parameters=parameters,
    )


@pytest.mark.ltm(generate=locations_directions, skills="S,I", version="1", reset=RESET, incompatible=["locations"])
def test_locations_directions(ltm: Ltm) -> None:
    """Finds the way through a town whose places were told one by one."""
    expected = ltm.definition.expected
    legs = tuple((float(km), way, place) for km, way, place in expected["route"])
    starts = (expected["start"], *(place for _, _, place in legs[:-1]))
    told = [
        f"From the {start}, go {km:g} km {way} to the {place}."
        for start, (km, way, place) in zip(starts, legs, strict=True)
    ]
    answers = ltm.play(ltm.definition, answers=["\n".join(told)])
    ltm.score(LeadsTo(expected["start"], legs, ltm.scoring)(answers))
