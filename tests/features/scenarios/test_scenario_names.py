from __future__ import annotations

import itertools
import random

import pytest
from pytest_ltm.scenarios import name_list, names
from scenario_runs import conversation, generated, scores, values

from pytest_ltm import ConfigurationError
from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import plain_words
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import from_published
from pytest_ltm.evaluators import NamesUser
from pytest_ltm.locales import variants

BODY = names.test_names
FULL = make_reader("full")
FORMER = ("Bronagh", "Emmet")


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_knows_the_name(span: int | None, seed: int) -> None:
    assert scores(BODY, generated(names.names, seed=seed), FULL, span=span) == [1.0] * 3


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert scores(BODY, generated(names.names), agent, span=span) == [0.0] * 3


def test_a_window_loses_the_name_that_has_left_it() -> None:
    lost = scores(
        BODY,
        generated(names.names, name_changes=1),
        make_reader("window", "8k"),
        span=32_000,
    )
    assert lost == [0.0] * 3


def test_names_and_name_list_never_talk_at_the_same_time() -> None:
    bodies = {"names": BODY, "name_list": name_list.test_name_list}
    definitions = {
        "names": generated(names.names),
        "name_list": generated(name_list.name_list),
    }
    played = conversation(bodies, definitions, FULL(), span=2_000)
    assert set(values(played).values()) == {1.0}
    speakers = [exchange.by for exchange in played.transcript if exchange.by]
    changes = sum(a != b for a, b in itertools.pairwise(speakers))
    assert changes == len(set(speakers)) - 1


@pytest.mark.parametrize(
    "answer",
    [
        "Sorcha",
        "Your name is SORCHA.",
        "You were called Bronagh, then Emmet; your current name is Sorcha.",
        "Sorcha (formerly Emmet).",
        "You are Sorcha now, and no longer Bronagh or Emmet.",
        "It's Sorcha, Sorcha of course!",
    ],
)
def test_the_present_name_is_recognised(answer: str) -> None:
    assert NamesUser("Sorcha", FORMER)([answer]).value == 1


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Emmet",
        "Bronagh, Emmet, Sorcha",
        "Bronagh or Sorcha?",
        "It was Sorcha, but now it is Emmet.",
        "Sorchas",
        "Your name is now Emmet; before that it was Sorcha.",
        "I do not have access to your name. For example, it might be Sorcha.",
    ],
)
def test_other_answers_earn_nothing(answer: str) -> None:
    assert NamesUser("Sorcha", FORMER)([answer]).value == 0


def test_the_published_rule_looks_for_a_substring() -> None:
    assert NamesUser("Ann", ("Emmet",), "v3.5")(["Emmet or joanna"]).value == 1
    assert NamesUser("Ann", ("Emmet",), "paper")(["Emmet"]).value == 0


def test_an_unknown_scoring_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"v3\.5"):
        NamesUser("Ann", (), "v3.6")  # type: ignore[arg-type]


def test_no_question_holds_a_name_that_may_be_drawn() -> None:
    said = {
        word for question in variants(names.QUESTIONS) for word in plain_words(question)
    }
    drawn = {
        name.lower()
        for seed in range(40)
        for name in names.first_names(random.Random(seed), 30)
    }
    assert drawn & said == set()


@pytest.mark.slow
@pytest.mark.parametrize("question", list(variants(names.QUESTIONS)))
def test_full_says_so_if_it_was_told_no_name(question: str) -> None:
    assert FULL().reply(question) == "You have not told me your name."


def test_a_definition_in_the_published_form_is_played() -> None:
    data = {
        "script": [
            "Refer to me as Nuala.",
            "Orla is what I am called.",
            "What is my name?",
        ],
        "is_question": [False, False, True],
        "waits": [{"percentage_finished": 45.0}, {"percentage_finished": 90.0}, {}],
        "expected_responses": ["Orla"],
    }
    definition = from_published(Field(data, "0.def.json"), "names")
    assert scores(BODY, [definition], FULL, span=2_000) == [1.0]
    assert scores(BODY, [definition], Silent, span=2_000) == [0.0]
