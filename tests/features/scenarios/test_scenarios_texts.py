from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from pytest_ltm.scenarios import (
    colours,
    jokes,
    prospective_memory,
    restaurant,
    sally_anne,
)
from pytest_ltm.scenarios.jokes import length

from pytest_ltm.api.model import Score, Unscored, plain_words
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait, from_json, to_json
from pytest_ltm.evaluators import Menu, NamesColour, QuoteAtReply, RecallsJoke
from pytest_ltm.locales import variants


def colour_texts() -> list[str]:
    return [*colours.FIRST, *colours.NAMED, *colours.UNNAMED, *colours.QUESTIONS]


def value(verdict: Score | Unscored | None) -> float:
    assert isinstance(verdict, Score)
    return verdict.value


def test_no_colour_is_a_word_of_another_text() -> None:
    texts = [text.replace("{colour}", "") for text in colour_texts()]
    texts += [
        *jokes.JOKES,
        *jokes.INTRODUCTIONS,
        *jokes.QUESTIONS,
        *prospective_memory.QUOTES,
    ]
    found = {
        word for text in texts for word in plain_words(re.sub(r"[][{}|]", " ", text))
    } & set(colours.COLOURS)
    assert found == set(), "colours that stand in other texts"


def test_no_colour_is_a_part_of_another_so_that_also_the_published_rule_can_tell_them_apart() -> (
    None
):
    inside = [
        (a, b) for a in colours.COLOURS for b in colours.COLOURS if a != b and a in b
    ]
    assert inside == [], "colours that are a part of another"


def test_there_are_at_least_forty_jokes_and_all_differ() -> None:
    assert len(set(jokes.JOKES)) == len(jokes.JOKES) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("joke", jokes.JOKES)
def test_a_joke_told_again_is_recalled_and_taken_for_no_other(joke: str) -> None:
    others = tuple(other for other in jokes.JOKES if other != joke)
    assert value(RecallsJoke(joke, others)([joke])) == 1.0
    assert value(RecallsJoke(others[0], (joke,))([joke])) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("question", list(variants(jokes.QUESTIONS)))
def test_the_question_gives_no_joke_away(question: str) -> None:
    asked = question.format(elapsed="3 hours and 25 minutes")
    given_away = [joke for joke in jokes.JOKES if value(RecallsJoke(joke)([asked]))]
    assert given_away == [], "jokes that the question itself tells"


def test_sixty_wordings_and_more_of_line_and_instruction_and_half_of_these_name_nobody() -> (
    None
):
    lines, named, unnamed = (
        list(variants(wordings))
        for wordings in (
            prospective_memory.STATEMENTS,
            prospective_memory.NAMED,
            prospective_memory.UNNAMED,
        )
    )
    assert len(set(lines)) >= 60
    assert (
        len({*named, *unnamed})
        * len(prospective_memory.REPLY)
        * len(prospective_memory.COUNTS)
        >= 60
    )
    assert all(
        re.search(r"\bmy (?:play|novel|sketch)|I (?:am writing|have written)", line)
        for line in lines
    )
    assert all("{author}" in text for text in named)
    assert not [text for text in unnamed if "{author}" in text]
    made = [
        prospective_memory.prospective_memory(random.Random(seed), {})
        for seed in range(100)
    ]
    vague = [one for one in made if one.expected["author"] not in one.questions[0].text]
    assert 30 <= len(vague) <= 70
    assert {one.expected["nth"] for one in made} == set(range(2, 9))


def test_the_instruction_and_the_reset_message_do_not_contain_the_quote() -> None:
    for seed in range(100):
        definition = prospective_memory.prospective_memory(random.Random(seed), {})
        instruction = definition.steps[-1]
        assert isinstance(instruction, Ask)
        watcher = QuoteAtReply(definition.expected["quote"], 1)
        reset = prospective_memory.test_prospective_memory.pytestmark[0].kwargs["reset"]
        assert value(watcher.verdict([instruction.text])) == 0
        assert value(watcher.verdict([reset])) == 0


@pytest.mark.slow
@pytest.mark.parametrize("question", list(variants(colours.QUESTIONS)))
def test_the_question_names_no_colour(question: str) -> None:
    assert [
        colour
        for colour in colours.COLOURS
        if NamesColour(colour, scoring="v3.5")([question]).value
    ] == []


@pytest.mark.parametrize(
    ("elapsed", "words"),
    [
        (timedelta(hours=3, minutes=25), "3 hours and 25 minutes"),
        (timedelta(hours=1, minutes=1), "1 hour and 1 minute"),
        (timedelta(hours=2), "2 hours"),
        (timedelta(minutes=59, seconds=31), "1 hour"),
        (timedelta(minutes=30, seconds=29), "30 minutes"),
        (timedelta(days=2, minutes=5), "48 hours and 5 minutes"),
        (timedelta(seconds=20), "less than a minute"),
    ],
)
def test_elapsed_time_is_said_to_the_minute_and_days_are_not_lost(
    elapsed: timedelta, words: str
) -> None:
    assert length(elapsed) == words


def test_colours_changes_as_often_as_asked_for_over_90_percent_of_the_span() -> None:
    definition = colours.colours(
        random.Random(1), {"colour_changes": 5, "last_wait": 0.9}
    )
    assert [type(step) for step in definition.steps] == [Say, Wait] * 5 + [Ask]
    waits = [step.span for step in definition.steps if isinstance(step, Wait)]
    assert waits == pytest.approx([0.18, 0.36, 0.54, 0.72, 0.9])


def test_jokes_tells_as_many_as_asked_for_each_with_its_waits() -> None:
    definition = jokes.jokes(random.Random(1), {"jokes_told": 3, "last_wait": 0.9})
    assert [type(step) for step in definition.steps] == [Say, Wait] * 3
    waits = [step for step in definition.steps if isinstance(step, Wait)]
    assert [wait.span for wait in waits] == pytest.approx([0.3, 0.6, 0.9])
    assert all(
        timedelta(minutes=30) <= wait.time <= timedelta(minutes=240) for wait in waits
    )
    assert all(wait.time % timedelta(minutes=1) == timedelta(0) for wait in waits)


@pytest.mark.parametrize(("authors", "known"), [("known", True), ("invented", False)])
def test_prospective_memory_quotes_the_authors_asked_for_and_says_that_it_is_made_up(
    authors: str, *, known: bool
) -> None:
    for seed in range(20):
        definition = prospective_memory.prospective_memory(
            random.Random(seed), {"authors": authors, "last_wait": 0.9}
        )
        author = definition.expected["author"]
        assert (author in prospective_memory.KNOWN) is known
        assert author in to_json(definition)["steps"][0]["say"]
        assert [type(step) for step in definition.steps] == [Say, Wait, Ask]
        assert definition.steps[1] == Wait(span=0.9)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (
            colours.colours,
            {"colour_changes": 0},
            "colour_changes is a whole number of at least 1, not 0",
        ),
        (
            colours.colours,
            {"colour_changes": "3"},
            "colour_changes is a whole number of at least 1, not '3'",
        ),
        (
            jokes.jokes,
            {"jokes_told": 1000},
            "jokes_told is a whole number from 1 to .*, not 1000",
        ),
        (
            jokes.jokes,
            {"jokes_told": 2.5},
            "jokes_told is a whole number from 1 to .*, not 2.5",
        ),
        (
            prospective_memory.prospective_memory,
            {"authors": "real"},
            "'known' or 'invented', not 'real'",
        ),
        (
            prospective_memory.prospective_memory,
            {"least_reply": 1},
            "least_reply is a whole number from 2 to 8, not 1",
        ),
        (
            prospective_memory.prospective_memory,
            {"least_reply": 5, "most_reply": 4},
            "most_reply is a whole number from 5 to 8, not 4",
        ),
        (
            restaurant.restaurant,
            {"drinks": 11},
            "drinks is a whole number from 1 to 10, not 11",
        ),
        (
            restaurant.restaurant,
            {"starters": 0},
            "starters is a whole number from 1 to 9, not 0",
        ),
        (
            sally_anne.sally_anne,
            {"least_lines": 5},
            "least_lines is a whole number from 6 to 37, not 5",
        ),
        (
            sally_anne.sally_anne,
            {"most_lines": 11},
            "most_lines is a whole number from 12 to 40, not 11",
        ),
    ],
)
def test_a_wrong_parameter_is_named(
    make: Any, parameters: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(random.Random(0), parameters)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_prospective_memory_may_ask_for_one_reply_alone(n: int) -> None:
    for seed in range(5):
        asked = prospective_memory.prospective_memory(
            random.Random(seed), {"least_reply": n, "most_reply": n}
        )
        assert asked.expected["nth"] == n


def test_a_menu_has_as_much_of_each_section_as_asked_for() -> None:
    wanted = {"starters": 2, "main_courses": 11, "sweet_things": 1, "drinks": 4}
    welcome = restaurant.restaurant(random.Random(0), wanted).questions[0].text
    menu = Menu.read(welcome)
    assert (len(menu.dishes), len(menu.drinks)) == (14, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("least", "most"), [(6, 9), (20, 23), (37, 40)])
def test_a_play_is_as_long_as_asked_for(least: int, most: int) -> None:
    for seed in range(5):
        play = sally_anne.sally_anne(
            random.Random(seed), {"least_lines": least, "most_lines": most}
        )
        assert least <= sum(isinstance(step, Say) for step in play.steps) - 1 <= most


@pytest.mark.parametrize(
    "make", [colours.colours, jokes.jokes, prospective_memory.prospective_memory]
)
def test_a_definition_survives_being_written_and_read(make: Any) -> None:
    definition: Definition = make(random.Random(3), {"note": "mine"})
    again = from_json(json.loads(json.dumps(to_json(definition))), where="here")
    assert again == definition
    assert again.parameters["note"] == "mine"
