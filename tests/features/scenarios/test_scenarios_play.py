from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
from pytest_ltm.scenarios import colours, jokes, prospective_memory

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Definition, PlannedExample, Say, from_json
from pytest_ltm.testing import Played, ScriptedAgent, run_conversation, run_scenario

GENERATORS: dict[str, Callable[[random.Random, dict[str, Any]], Definition]] = {
    "colours": colours.colours,
    "jokes": jokes.jokes,
    "prospective_memory": prospective_memory.prospective_memory,
}
BODIES = {
    "colours": colours.test_colours,
    "jokes": jokes.test_jokes,
    "prospective_memory": prospective_memory.test_prospective_memory,
}


def played(
    agent: object, *, span: int | None, seed: int = 0, number: int = 2
) -> Played:
    examples = [
        PlannedExample(
            scenario=name,
            example=str(i),
            definition=make(random.Random(f"{seed} {name} {i}"), {}),
        )
        for name, make in GENERATORS.items()
        for i in range(number)
    ]
    return run_conversation(BODIES, agent, examples=examples, span=span, seed=seed)


def values(result: Played) -> dict[str, float]:
    scores = {}
    for key, ending in result.endings.items():
        assert isinstance(ending.verdict, Score), ending
        scores[key] = ending.verdict.value
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 10_000, None])
@pytest.mark.parametrize("seed", range(3))
def test_the_full_reader_earns_full_marks_in_a_whole_conversation(
    span: int | None, seed: int
) -> None:
    assert set(
        values(played(make_reader("full")(), span=span, seed=seed)).values()
    ) == {1.0}


@pytest.mark.parametrize("span", [2_000, None])
@pytest.mark.parametrize("agent", [Echo, Silent])
def test_echo_and_silent_earn_nothing(
    agent: Callable[[], object], span: int | None
) -> None:
    assert set(values(played(agent(), span=span)).values()) == {0.0}


def test_a_window_earns_nothing_once_the_span_has_left_it() -> None:
    assert set(
        values(played(make_reader("window", "500")(), span=10_000)).values()
    ) == {0.0}


def test_the_joke_question_tells_the_time_that_really_passed() -> None:
    result = played(make_reader("full")(), span=2_000, number=1)
    exchanges = result.transcript.exchanges_of("jokes/0")
    question = next(exchange for exchange in exchanges if exchange.kind == "ask")
    definition = jokes.jokes(random.Random("0 jokes 0"), {})
    told = next(
        exchange for exchange in exchanges if definition.expected in exchange.message
    )
    assert jokes.length(question.now - told.now) in question.message
    assert question.now > datetime(2024, 3, 4, 9, 30, tzinfo=timezone.utc)


def test_the_quote_is_watched_over_the_replies_of_everyone() -> None:
    definition = Definition(
        steps=(
            Say('Here is a line: "Soup is slow rain."'),
            Say("Add it to your 3rd reply."),
        ),
        expected={"quote": "Soup is slow rain.", "author": "", "nth": 3},
    )
    body = prospective_memory.test_prospective_memory
    right = run_scenario(
        body, ScriptedAgent("", "", "", "Soup is slow rain."), definition=definition
    )
    early = run_scenario(
        body, ScriptedAgent("", "", "Soup is slow rain.", ""), definition=definition
    )
    assert isinstance(right.verdict, Score)
    assert isinstance(early.verdict, Score)
    assert (right.verdict.value, early.verdict.value) == (1.0, 0.0)


def test_jokes_without_an_introduction_are_played_too() -> None:
    told = (
        "My kettle would love to be a train.",
        "The sloth set off in the year before last.",
    )
    definition = from_json(
        {
            "steps": [
                {"say": told[0]},
                {"wait": {"time": "3h"}},
                {"say": told[1]},
                {"wait": {"time": "40m"}},
            ],
            "expected": told[0],
        },
        where="here",
    )
    right, wrong = ScriptedAgent("", "", told[0]), ScriptedAgent("", "", told[1])
    ends = [
        run_scenario(jokes.test_jokes, agent, definition=definition).verdict
        for agent in (right, wrong)
    ]
    assert [end.value for end in ends if isinstance(end, Score)] == [1.0, 0.0]
    assert right.heard[-1] == "Which joke did I tell you 3 hours and 40 minutes ago?"


def test_an_expected_joke_that_is_never_told_is_an_error_and_no_zero() -> None:
    definition = jokes.jokes(random.Random(0), {"jokes_told": 2})
    broken = replace(definition, expected="something else")
    ending = run_scenario(
        jokes.test_jokes, ScriptedAgent(), definition=broken, span=None
    )
    assert ending.verdict is None
    assert "never tells: 'something else'" in str(ending.error)
