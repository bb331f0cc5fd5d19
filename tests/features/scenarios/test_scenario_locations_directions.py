from __future__ import annotations

import random

import pytest
from pytest_ltm.scenarios import locations_directions
from scenario_runs import generated, published, scores

from pytest_ltm import DefinitionError
from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import from_published
from pytest_ltm.evaluators import LeadsTo
from pytest_ltm.locales import variants
from pytest_ltm.testing import ScriptedAgent

BODY = locations_directions.test_locations_directions
FULL = make_reader("full")
GENERATE = locations_directions.locations_directions


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(5))
def test_full_finds_the_way(span: int | None, seed: int) -> None:
    assert scores(BODY, generated(GENERATE, seed=seed), FULL, span=span) == [1.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 9, len(locations_directions.PLACES)])
def test_full_finds_the_way_through_any_number_of_places(number: int) -> None:
    assert (
        scores(BODY, generated(GENERATE, 10, known_locations=number), FULL, span=None)
        == [1.0] * 10
    )


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert scores(BODY, generated(GENERATE, 6), agent, span=span) == [0.0] * 6


def test_a_window_loses_the_way() -> None:
    assert (
        scores(BODY, generated(GENERATE), make_reader("window", "8k"), span=32_000)
        == [0.0] * 3
    )


def test_the_way_told_in_other_words_earns_full_marks_and_a_wrong_turn_costs_its_leg() -> (
    None
):
    definition = generated(GENERATE, 1)[0]
    legs = definition.expected["route"]
    right = ", then ".join(
        f"head {km} kilometres {way} until you reach the {place}"
        for km, way, place in legs
    )
    wrong = right.replace(
        legs[0][1],
        {"north": "south", "south": "north", "east": "west", "west": "east"}[
            legs[0][1]
        ],
        1,
    )
    for answer, value in ((right, 1.0), (wrong, 0.8)):
        assert scores(
            BODY,
            [definition],
            lambda said=answer: ScriptedAgent(*[""] * 6, said),
            span=None,
        ) == [value]


def test_no_place_is_inside_another() -> None:
    assert not [
        (a, b)
        for a in locations_directions.PLACES
        for b in locations_directions.PLACES
        if a != b and a in b
    ]


@pytest.mark.parametrize(
    "number", [0, 1, len(locations_directions.PLACES) + 1, "6", True]
)
def test_a_wrong_number_of_places_is_named(number: object) -> None:
    with pytest.raises(
        ValueError, match=r"known_locations is a whole number from 2 to \d+, not"
    ):
        GENERATE(random.Random(0), {"known_locations": number})


@pytest.mark.parametrize("question", list(variants(locations_directions.QUESTIONS)))
def test_the_question_leads_nowhere(question: str) -> None:
    asked = question.format(way="from the lido to the opera in Elverfell")
    verdict = LeadsTo("lido", ((1.0, "north", "opera"),))([asked])
    assert getattr(verdict, "value", None) == 0


def test_full_forgets_the_town_when_asked_to() -> None:
    definition = generated(GENERATE, 1)[0]
    reader = FULL()
    *statements, question = (
        step.text for step in definition.steps if hasattr(step, "text")
    )
    for statement in statements:
        reader.reply(statement)
    assert "From the" in reader.reply(question)
    reader.reply(locations_directions.RESET)
    assert "do not know" in reader.reply(question)


def test_two_towns_with_the_same_places_are_told_apart_by_what_was_told_last() -> None:
    reader = FULL()
    for text in (
        "In Elverfell the opera is 3 km north of the lido.",
        "In Brockdale the opera is 1 km west of the lido.",
    ):
        reader.reply(text)
    question = "How do I get from the lido to the opera, following the places I named?"
    assert reader.reply(question) == "From the lido, go 1 km west to the opera."


PUBLISHED = {
    "script": [
        "There is a Mill in the center of my hometown.",
        "I visited Inn, which is 2 KM, North from Mill.",
        "How?",
    ],
    "is_question": [False, False, True],
    "waits": [{}, {}, {}],
}


def test_the_published_example_of_an_answer_becomes_the_route() -> None:
    text = "(Just an example)\nFrom Mill, go 2km North to Old Inn.\nFrom Old Inn, go 1km West to Quay."
    definition = from_published(
        Field({**PUBLISHED, "expected_responses": [text]}, "0"), "locations_directions"
    )
    assert definition.expected == {
        "start": "Mill",
        "route": [[2.0, "north", "Old Inn"], [1.0, "west", "Quay"]],
    }


def test_an_expected_text_without_legs_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="legs such as"):
        from_published(
            Field({**PUBLISHED, "expected_responses": ["somewhere"]}, "0"),
            "locations_directions",
        )


@pytest.mark.slow
@pytest.mark.published
def test_full_earns_full_marks_on_the_published_definitions() -> None:
    definitions = published("Locations Directions", "locations_directions")
    assert len(definitions) > 20
    assert scores(BODY, definitions, FULL, span=32_000) == [1.0] * len(definitions)
