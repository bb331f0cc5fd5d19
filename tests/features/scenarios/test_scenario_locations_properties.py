"""Locations Directions and Locations can be solved from the messages alone, by a solver without their code."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import locations, locations_directions
from pytest_ltm.scenarios._places import BEGINNINGS, ENDINGS, PLACES

from pytest_ltm import Ask, Definition, Say

SEEDS = st.integers(0, 2**63)
NAMES = "|".join(PLACES)
TOWN = re.compile(rf"\b(?:{'|'.join(BEGINNINGS)})(?:{'|'.join(ENDINGS)})\b")
Point = tuple[int, int]
TURNS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


def mapped(definition: Definition) -> dict[str, Point]:
    """Return the position of each place, east and north of the first, according to the messages."""
    first, *others = [step.text for step in definition.steps if type(step) is Say]
    (start,) = [place for place in PLACES if f"the {place}" in first.lower()]
    points: dict[str, Point] = {start: (0, 0)}
    last = start
    for text in others:
        ((km, way),) = re.findall(r"(\d+) km (\w+)", text)
        named = [
            place for place in PLACES if re.search(rf"\bthe {place}\b", text.lower())
        ]
        known = [place for place in named if place in points]
        (new,) = [place for place in named if place not in points]
        assert known == [last] or ("from there" in text.lower() and not known), (
            text,
            last,
        )
        east, north = points[last]
        points[new] = (east + int(km) * TURNS[way][0], north + int(km) * TURNS[way][1])
        last = new
    return points


@given(seed=SEEDS, number=st.integers(2, 12))
def test_the_route_leads_where_the_messages_place_the_goal(
    seed: int, number: int
) -> None:
    definition = locations_directions.locations_directions(
        random.Random(seed), {"known_locations": number}
    )
    points = mapped(definition)
    here = points[definition.expected["start"]]
    for km, way, place in definition.expected["route"]:
        here = (here[0] + km * TURNS[way][0], here[1] + km * TURNS[way][1])
        assert here == points[place]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert f"the {definition.expected['start']}" in question.text
    assert f"the {place}" in question.text
    assert len(points) == len(set(points.values())) == number


@given(seed=SEEDS)
def test_no_two_towns_are_named_and_the_question_names_one_only_if_the_messages_do(
    seed: int,
) -> None:
    *told, question = [
        step.text
        for step in locations_directions.locations_directions(
            random.Random(seed), {}
        ).steps
        if isinstance(step, (Say, Ask))
    ]
    towns = {name for text in told for name in TOWN.findall(text)}
    assert len(towns) <= 1
    assert set(TOWN.findall(question)) <= towns
    assert not towns or TOWN.search(told[0])


@given(seed=SEEDS)
def test_one_seed_gives_one_route(seed: int) -> None:
    make = locations_directions.locations_directions
    assert (
        make(random.Random(seed), {})
        == make(random.Random(seed), {})
        != make(random.Random(seed + 1), {})
    )


@given(seed=SEEDS, number=st.integers(3, 12))
def test_the_goal_lies_as_far_in_the_direction_expected_as_the_messages_place_it(
    seed: int, number: int
) -> None:
    definition = locations.locations(random.Random(seed), {"known_locations": number})
    points = mapped(definition)
    expected, question = definition.expected, definition.steps[-1]
    assert isinstance(question, Ask)
    (pair,) = re.findall(rf"from the ({NAMES}) to the ({NAMES})\b", question.text)
    (ax, ay), (bx, by) = points[pair[0]], points[pair[1]]
    east, north = TURNS[expected["direction"]]
    assert (bx - ax, by - ay) == (east * expected["km"], north * expected["km"])
    assert expected["km"] > 0
    assert len(set(points.values())) == number
    ways = {
        match
        for step in definition.steps
        if type(step) is Say
        for match in re.findall(r"\d+ km (\w+)", step.text)
    }
    assert len(ways) > 1
