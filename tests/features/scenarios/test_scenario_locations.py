from __future__ import annotations

import random

import pytest
from pytest_ltm.scenarios import locations, locations_directions
from scenario_runs import conversation, generated, scores, values

from pytest_ltm import ConfigurationError, DefinitionError
from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import from_published
from pytest_ltm.evaluators import LiesAt
from pytest_ltm.locales import variants

BODY = locations.test_locations
FULL = make_reader("full")
PLACES = ("lido", "opera")


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(5))
def test_full_knows_the_direct_way(span: int | None, seed: int) -> None:
    assert (
        scores(BODY, generated(locations.locations, seed=seed), FULL, span=span)
        == [1.0] * 3
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 12])
def test_full_knows_it_among_any_number_of_places(number: int) -> None:
    assert (
        scores(
            BODY,
            generated(locations.locations, 10, known_locations=number),
            FULL,
            span=None,
        )
        == [1.0] * 10
    )


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert (
        scores(BODY, generated(locations.locations, 6), agent, span=span) == [0.0] * 6
    )


def test_a_window_loses_the_way() -> None:
    assert (
        scores(
            BODY,
            generated(locations.locations),
            make_reader("window", "8k"),
            span=32_000,
        )
        == [0.0] * 3
    )


def test_the_town_of_one_scenario_is_over_before_that_of_the_other_begins() -> None:
    bodies = {
        "locations": BODY,
        "locations_directions": locations_directions.test_locations_directions,
    }
    definitions = {
        "locations": generated(locations.locations),
        "locations_directions": generated(locations_directions.locations_directions),
    }
    played = conversation(bodies, definitions, FULL(), span=2_000)
    assert set(values(played).values()) == {1.0}
    speakers = list(
        dict.fromkeys(exchange.by for exchange in played.transcript if exchange.by)
    )
    order = [exchange.by for exchange in played.transcript if exchange.by]
    assert order == sorted(order, key=speakers.index)


@pytest.mark.parametrize(
    "answer",
    [
        "3 km north",
        "The opera is three kilometres to the north of the lido.",
        "From the lido go 2 km east to the prison. Then 3 km north. Then 2 km west.\nTherefore it is 3 km north.",
        "The opera lies 3 km north of the lido. First you go 2 km east, then 3 km north, then 2 km west.",
        "Step 1: 2 km east.\nStep 2: 3 km north.\nStep 3: 2 km west.\n\n**Answer:** North, 3 km, directly.",
    ],
)
def test_the_right_conclusion_is_recognised(answer: str) -> None:
    verdict = LiesAt(3, "north", PLACES)([answer])
    assert verdict.value == 1, verdict


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "It is north of it.",
        "It is 3 km away.",
        "3 km south",
        "4 km north",
        "3 km north-east",
        "Go 2 km east, then 3 km north, then 2 km west.",
        "2 km east.\n3 km north.\n2 km west.",
        "The opera is 1 km north of the lido. So it is 3 km north? No, therefore 1 km north.",
        "The opera is 3 km north and 2 km east of the lido.",
    ],
)
def test_other_answers_earn_nothing(answer: str) -> None:
    verdict = LiesAt(3, "north", PLACES)([answer])
    assert verdict.value == 0, verdict


def test_published_scorings_say_that_the_rule_stands_in_for_a_model() -> None:
    verdict = LiesAt(3, "north", PLACES, "v3.5")(["3 km north"])
    assert (verdict.value, verdict.rule) == (1.0, "locations/v3.5+locations/1")
    assert "stands in" in verdict.reason


def test_an_unknown_scoring_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"v3\.5"):
        LiesAt(3, "north", PLACES, "v3")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("question", list(variants(locations.QUESTIONS)))
def test_the_question_gives_nothing_away(question: str) -> None:
    for way in ("north", "south", "east", "west"):
        assert (
            LiesAt(3, way, PLACES)(
                [question.format(way="from the lido to the opera in Elverfell")]
            ).value
            == 0
        )


@pytest.mark.parametrize("number", [0, 2, 99, "5", True])
def test_a_wrong_number_of_places_is_named(number: object) -> None:
    with pytest.raises(
        ValueError, match=r"known_locations is a whole number from 3 to \d+, not"
    ):
        locations.locations(random.Random(0), {"known_locations": number})


PUBLISHED = {
    "script": [
        "There is a Mill in the center of my hometown.",
        "I visited Inn, which is 2 KM, North from Mill.",
        "About 4 km South of the Inn there is a Quay",
        "Please calculate the direction and distance starting from Quay going directly to Mill. Solve it step by step.",
    ],
    "is_question": [False, False, False, True],
    "waits": [
        {"percentage_finished": 30.0},
        {"percentage_finished": 60.0},
        {"percentage_finished": 90.0},
        {},
    ],
}


def test_a_definition_in_the_published_form_is_played() -> None:
    definition = from_published(
        Field({**PUBLISHED, "expected_responses": ["2 km North"]}, "0"), "locations"
    )
    assert definition.expected == {"km": 2.0, "direction": "north"}
    assert scores(BODY, [definition], FULL, span=2_000) == [1.0]
    assert scores(BODY, [definition], Silent, span=2_000) == [0.0]


def test_an_expected_text_without_a_direction_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="a text such as '3 km North'"):
        from_published(
            Field({**PUBLISHED, "expected_responses": ["Nearby."]}, "0"), "locations"
        )
