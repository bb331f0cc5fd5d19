from __future__ import annotations

import json
import random
import sys

import pytest
from pytest_ltm.scenarios import _first_names, name_list
from scenario_runs import generated, published, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import plain_words
from pytest_ltm.evaluators import ListsNames
from pytest_ltm.locales import variants
from pytest_ltm.testing import ScriptedAgent

BODY = name_list.test_name_list
FULL = make_reader("full")


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_lists_all_names(span: int | None, seed: int) -> None:
    assert (
        scores(BODY, generated(name_list.name_list, seed=seed), FULL, span=span)
        == [1.0] * 3
    )


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert scores(BODY, generated(name_list.name_list), agent, span=span) == [0.0] * 3


def test_a_window_loses_the_names_that_have_left_it() -> None:
    lost = scores(
        BODY, generated(name_list.name_list), make_reader("window", "8k"), span=32_000
    )
    assert all(score < 0.5 for score in lost)


def test_an_empty_list_earns_nothing() -> None:
    assert scores(
        BODY,
        generated(name_list.name_list, 1),
        lambda: ScriptedAgent(*[""] * 5, "[]"),
        span=None,
    ) == [0.0]


def test_as_many_names_as_asked_for_all_different() -> None:
    for number in (1, 5, 50):
        expected = generated(name_list.name_list, 1, name_changes=number)[0].expected
        assert len(set(expected)) == len(expected) == number


@pytest.mark.parametrize("number", [0, -1, 51, "5", 2.0, True])
def test_a_wrong_number_of_names_is_named(number: object) -> None:
    with pytest.raises(
        ValueError, match="name_changes is a whole number from 1 to 50, not"
    ):
        name_list.name_list(random.Random(0), {"name_changes": number})


def test_equal_seeds_give_equal_names_whatever_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    drawn = _first_names.first_names(random.Random(0), 5)
    assert drawn == ["Lorraine", "Matthew", "Antonia", "Giselle", "Reginald"]


def test_without_faker_another_locale_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(
        ValueError,
        match=r"locale 'de_DE' needs Faker: pip install 'pytest-ltm\[faker\]'",
    ):
        name_list.name_list(random.Random(0), {"locale": "de_DE"})


@pytest.mark.parametrize("locale", ["de_DE", "fr_FR", "pl_PL"])
def test_full_lists_the_names_of_other_locales(locale: str) -> None:
    assert (
        scores(BODY, generated(name_list.name_list, locale=locale), FULL, span=2_000)
        == [1.0] * 3
    )


@pytest.mark.parametrize(
    ("locale", "words"),
    [
        ("xx_YY", "none of Faker's"),
        (7, "locale is one of Faker's"),
        ("hi_IN", "too few first names that differ"),
    ],
)
def test_a_locale_that_gives_no_names_is_named(locale: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        name_list.name_list(random.Random(0), {"locale": locale, "name_changes": 50})


def test_no_given_name_is_an_ordinary_word() -> None:
    assert {
        name.lower() for name in _first_names.GIVEN_NAMES
    } & _first_names.ORDINARY_WORDS == set()


def test_no_name_is_a_word_of_the_texts_around_it() -> None:
    lists = (
        _first_names.INTRODUCTIONS,
        _first_names.CHANGES,
        _first_names.WITHOUT_THE_WORD,
        name_list.QUESTIONS,
    )
    texts = [
        _first_names.RESET,
        *(text for wordings in lists for text in variants(wordings)),
    ]
    said = {word for text in texts for word in plain_words(text)}
    drawn = {
        name.lower()
        for seed in range(60)
        for name in _first_names.first_names(random.Random(seed), 30)
    }
    assert len(drawn) > 300
    assert drawn & said == set()


@pytest.mark.slow
@pytest.mark.parametrize("question", list(variants(name_list.QUESTIONS)))
def test_the_question_alone_is_worth_nothing(question: str) -> None:
    for definition in generated(name_list.name_list, 50):
        assert ListsNames(tuple(definition.expected))([question]).value == 0


def test_full_forgets_the_names_when_asked_to() -> None:
    reader = make_reader("full")()
    for name in ("Bronagh", "Emmet"):
        reader.reply(f"My name is {name}.")
    before = reader.reply("Which names have I had?")
    reader.reply(_first_names.RESET)
    assert (
        json.loads(before),
        json.loads(reader.reply("Which names have I had?")),
    ) == (["Bronagh", "Emmet"], [])


@pytest.mark.parametrize(
    "message",
    [
        "What are the names of the days?",
        "They call the wind Maria.",
        "My dog is called Rex.",
        "Anna is her name.",
    ],
)
def test_names_of_others_are_not_taken_for_the_users(message: str) -> None:
    reader = make_reader("full")()
    reader.reply(message)
    assert json.loads(reader.reply("Which names have I had?")) == []


@pytest.mark.slow
@pytest.mark.published
def test_full_earns_full_marks_on_the_published_definitions() -> None:
    definitions = published("NameList", "name_list")
    assert len(definitions) > 20
    assert scores(BODY, definitions, FULL, span=32_000) == [1.0] * len(definitions)
