"""Locations Directions and Locations can be solved from what is said alone, by a solver without their code."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import locations, locations_directions

from pytest_ltm import Ask, Definition, Say

SEEDS = st.integers(0, 2**63)
Point = tuple[int, int]
TURNS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


def mapped(definition: Definition) -> dict[str, Point]:
    """Return where each place lies, east and north of the first, by the messages."""
    first, *others = [step.text for step in definition.steps if type(step) is Say]
    (start,) = re.findall(r"(?:middle is|begins with) the ([a-z ]+)\.", first)
    points: dict[str, Point] = {start: (0, 0)}
    for text in others:
        (km, way), names = (
            re.findall(r"(\d+) km (\w+)", text)[0],
            set(re.findall(r"(?<=the )[a-z ]+(?=[.:,]| of [A-Z]| in [A-Z]| is )", text)),
        )
        known = [name for name in points if re.search(rf"\bthe {name}\b", text)]
        new = [name for name in names if name not in points and name in text]
        new = new or re.findall(r"the ([a-z ]+) is \d", text)
        assert len(known) == 1, (text, known)
        assert len(new) == 1, (text, new)
        east, north = points[known[0]]
        points[new[0]] = (east + int(km) * TURNS[way][0], north + int(km) * TURNS[way][1])
    return points


@given(seed=SEEDS, number=st.integers(2, 12))
def test_the_route_leads_where_the_messages_place_the_goal(seed: int, number: int) -> None:
    definition = locations_directions.locations_directions(random.Random(seed), {"known_locations": number})
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
def test_all_messages_and_the_question_name_one_town(seed: int) -> None:
    texts = [
        step.text
        for step in locations_directions.locations_directions(random.Random(seed), {}).steps
        if isinstance(step, (Say, Ask))
    ]
    towns = {name for text in texts for name in re.findall(r"(?:town of|in|In|of) ([A-Z]\w+)", text)}
    assert len(towns) == 1
    assert all(town in text for text in texts for town in towns)


@given(seed=SEEDS)
def test_one_seed_gives_one_route(seed: int) -> None:
    make = locations_directions.locations_directions
    assert make(random.Random(seed), {}) == make(random.Random(seed), {}) != make(random.Random(seed + 1), {})


@given(seed=SEEDS, number=st.integers(3, 12))
def test_the_goal_lies_as_far_in_the_direction_expected_as_the_messages_place_it(seed: int, number: int) -> None:
    definition = locations.locations(random.Random(seed), {"known_locations": number})
    points = mapped(definition)
    expected, question = definition.expected, definition.steps[-1]
    assert isinstance(question, Ask)
    (pair,) = re.findall(r"from the ([a-z ]+) to the ([a-z ]+) in [A-Z]", question.text)
    (ax, ay), (bx, by) = points[pair[0]], points[pair[1]]
    east, north = TURNS[expected["direction"]]
    assert (bx - ax, by - ay) == (east * expected["km"], north * expected["km"])
    assert expected["km"] > 0
    assert len(set(points.values())) == number
    ways = {match for step in definition.steps if type(step) is Say for match in re.findall(r"\d+ km (\w+)", step.text)}
    assert len(ways) > 1
