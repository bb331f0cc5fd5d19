"""Locations Directions: the places of a town are told one by one; the way through all of them is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_ltm.scenarios._parameters import last_wait
from pytest_ltm.scenarios._places import (
    PLACES,
    RESET,
    asked,
    number_of_places,
    route,
    told,
    town,
)

from pytest_ltm import Ask, Definition, Ltm, spread
from pytest_ltm.evaluators import LeadsTo
from pytest_ltm.locales import CODES, parse_languages, worded

QUESTIONS = (
    "how do I get {way} [by way of|passing] [all the places I mentioned|all the rest|everything I described]?",
    "how would I [travel|walk|go] {way}, following the [places|sights] I [told you about|described|mentioned]?",
    "I want to [get|go|walk|cycle] {way}, [past every place I mentioned|the way I described it|seeing it all].",
    "[what's|tell me|remind me of] the way {way}, [place by place|past all I told you about|in the order I told it].",
)
LEGS = (
    "[Please give me|I need|Tell me] the direction and the kilometres [of|for] [each|every] leg.",
)
TOLD = "From the {start}, go {km} km {way} to the {place}."


def locations_directions(
    rng: random.Random, parameters: Mapping[str, Any]
) -> Definition:
    """Return `known_locations` (default 6) places over the span, each relative to the one before; the question.

    Expected are the `start` and the `route` as [kilometres, direction, place] for each
    leg. No two places of the town lie at the same point.
    """
    places = rng.sample(PLACES, number_of_places(parameters, 6, least=2))
    where, legs = town(rng), route(rng, places)
    telling, asking = parse_languages(parameters)
    statements = told(rng, where, places[0], legs, telling)
    questions = asking.find_text("locations_directions.questions", QUESTIONS)
    question = asked(rng, questions, where, places[0], places[-1], asking)
    question += f" {worded(rng, asking.find_text('locations_directions.legs', LEGS))}"
    return Definition(
        steps=spread(
            [
                *statements,
                Ask(question, about=tuple(statement.text for statement in statements)),
            ],
            last_wait(rng, parameters),
        ),
        expected={"start": places[0], "route": [list(leg) for leg in legs]},
        parameters=parameters,
    )


@pytest.mark.ltm(
    generate=locations_directions,
    skills="S,I",
    version="1",
    reset=RESET,
    incompatible=["locations"],
    languages=CODES,
)
def test_locations_directions(ltm: Ltm) -> None:
    """Finds the way through a town whose places were told one by one."""
    expected = ltm.definition.expected
    legs = tuple((float(km), way, place) for km, way, place in expected["route"])
    starts = (expected["start"], *(place for _, _, place in legs[:-1]))
    asking = parse_languages(ltm.definition.parameters).asked
    texts = []
    for start, (km, way, place) in zip(starts, legs, strict=True):
        text = asking.phrase(
            "locations_directions.told",
            TOLD,
            start=asking.word(start),
            km=f"{km:g}",
            way=asking.word(way),
            place=asking.word(place),
        )
        texts.append(text)
    answers = ltm.play(ltm.definition, answers=["\n".join(texts)])
    ltm.score(
        parse_languages(ltm.definition.parameters).judged(
            LeadsTo(expected["start"], legs, ltm.scoring), answers
        )
    )
