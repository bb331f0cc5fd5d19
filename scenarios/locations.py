"""Locations: the places of a town are told one by one; the direct way from the first to the last is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_ltm.scenarios._parameters import last_wait
from pytest_ltm.scenarios._places import (
    PLACES,
    RESET,
    Leg,
    asked,
    end,
    number_of_places,
    route,
    told,
    town,
)

from pytest_ltm import Ask, Definition, Ltm, spread
from pytest_ltm.evaluators import LiesAt
from pytest_ltm.locales import CODES, parse_languages

QUESTIONS = (
    "[just |]how far and in [which|what] [compass |]direction is it {way}, as the crow flies?",
    "[if|suppose] I [went|flew|sailed] {way} in a straight line, how far is that, and [in which direction|which way]?",
    "as the crow flies, [how far is it|what's the distance|how long is the way], and in [which|what] direction, {way}?",
    "what's the direct way {way}: [how many km|how far|how long], and in [which|what] [compass |]direction?",
    "I'd like to fly [straight |]{way}, as the crow flies[. How|: how] far, and [in which direction|which way]?",
    "[there must be|is there] a direct way {way}. [How|Just how] far [is it|is that], and in [which|what] direction?",
)


def locations(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `known_locations` (default 5, at least 3) places over the span, and the question.

    Each place is told relative to the one before; the last one lies due north, south,
    east or west of the first. Expected are `km` and `direction` from the first to the
    last.
    """
    places = rng.sample(PLACES, number_of_places(parameters, 5, least=3))
    where, legs = town(rng), _aligned(rng, places)
    telling, asking = parse_languages(parameters)
    statements = told(rng, where, places[0], legs, telling)
    question = asked(
        rng,
        asking.find_text("locations.questions", QUESTIONS),
        where,
        places[0],
        places[-1],
        asking,
    )
    east, north = end(legs)
    return Definition(
        steps=spread(
            [
                *statements,
                Ask(question, about=tuple(statement.text for statement in statements)),
            ],
            last_wait(rng, parameters),
        ),
        expected={"km": abs(east or north), "direction": _direction(east, north)},
        parameters={**parameters, "from": places[0], "to": places[-1]},
    )


def _aligned(rng: random.Random, places: list[str]) -> list[Leg]:
    """Return legs whose end is in line with their start, but which turn at least once on the way."""
    while True:
        legs: list[Leg] = route(rng, places)
        east, north = end(legs)
        if bool(east) != bool(north) and len({way for _, way, _ in legs}) > 1:
            return legs


def _direction(east: int, north: int) -> str:
    if east:
        return "east" if east > 0 else "west"
    return "north" if north > 0 else "south"


@pytest.mark.ltm(
    generate=locations,
    skills="S,I",
    version="1",
    reset=RESET,
    incompatible=["locations_directions"],
    languages=CODES,
)
def test_locations(ltm: Ltm) -> None:
    """Tells how far away, and in which direction, one place of a town lies from another."""
    expected, parameters = ltm.definition.expected, ltm.definition.parameters
    said = parse_languages(parameters)
    answers = ltm.play(
        ltm.definition,
        answers=[f"{expected['km']} km {said.asked.word(expected['direction'])}"],
    )
    places = (parameters.get("from", ""), parameters.get("to", ""))
    ltm.score(
        said.judged(
            LiesAt(expected["km"], expected["direction"], places, ltm.scoring), answers
        )
    )
