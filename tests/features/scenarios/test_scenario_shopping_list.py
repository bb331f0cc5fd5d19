from __future__ import annotations

import json
import random
import re

import pytest
from pytest_ltm.scenarios import colours, shopping_list
from scenario_runs import generated, published, scores

from pytest_ltm import Say
from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import plain_words, word_stem
from pytest_ltm.evaluators import ListsItems
from pytest_ltm.locales import capital, variants
from pytest_ltm.testing import ScriptedAgent

BODY = shopping_list.test_shopping_list
FULL = make_reader("full")
SIX = [""] * 6
ASKED = "What is on my shopping list? Answer with a JSON list of objects with `item` and `quantity`."


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(5))
def test_full_knows_the_list(span: int | None, seed: int) -> None:
    assert (
        scores(BODY, generated(shopping_list.shopping_list, seed=seed), FULL, span=span)
        == [1.0] * 3
    )


@pytest.mark.slow
def test_full_knows_long_lists_too() -> None:
    definitions = generated(shopping_list.shopping_list, 20, item_changes=40)
    assert scores(BODY, definitions, FULL, span=None) == [1.0] * 20


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert (
        scores(BODY, generated(shopping_list.shopping_list), agent, span=span)
        == [0.0] * 3
    )


@pytest.mark.slow
def test_a_window_loses_the_changes_that_have_left_it() -> None:
    lost = scores(
        BODY,
        generated(shopping_list.shopping_list, 6),
        make_reader("window", "8k"),
        span=32_000,
    )
    assert max(lost) < 1
    assert sum(lost) < 3


@pytest.mark.parametrize(
    "answer",
    ["[]", "{}", '{"item": "", "quantity": 0}', "```\n[]\n```", '[{"item": "zebra"}]'],
)
def test_a_list_without_a_right_item_earns_nothing(answer: str) -> None:
    one = generated(shopping_list.shopping_list, 1)
    assert scores(BODY, one, lambda: ScriptedAgent(*SIX, answer), span=None) == [0.0]


def test_the_expected_list_said_in_other_ways_earns_full_marks() -> None:
    definition = generated(shopping_list.shopping_list, 1, seed=3)[0]
    plural = {f"{item}s": quantity for item, quantity in definition.expected}
    objects = [
        {"item": f"{item}s", "quantity": quantity}
        for item, quantity in definition.expected
    ]
    lines = "\n".join(
        f"- {shopping_list.NUMBERS[n - 1]} {item}s" for item, n in definition.expected
    )
    for answer in (json.dumps(plural), lines, json.dumps({"list": objects})):
        value = ListsItems(tuple((item, n) for item, n in definition.expected))(
            [answer]
        ).value
        assert value == 1.0, answer


def test_all_kinds_of_changes_happen_and_the_list_is_never_empty() -> None:
    said = [
        str(definition.steps)
        for definition in generated(shopping_list.shopping_list, 100)
    ]
    for kind, lists in shopping_list.WORDINGS.items():
        plain = [
            part
            for wordings in lists
            for part in re.split(r"[][{}|]", "|".join(wordings))
            if len(part) > 8
        ]
        assert any(part in text for text in said for part in plain), kind
    assert all(
        definition.expected
        for definition in generated(shopping_list.shopping_list, 300)
    )


def test_quantities_keep_within_the_number_words() -> None:
    for definition in generated(shopping_list.shopping_list, 50, item_changes=60):
        assert all(1 <= quantity <= 9 for _, quantity in definition.expected)


@pytest.mark.parametrize("number", [0, -2, "6", 1.5, True])
def test_a_wrong_number_of_changes_is_named(number: object) -> None:
    with pytest.raises(
        ValueError, match="item_changes is a whole number of at least 1, not"
    ):
        shopping_list.shopping_list(random.Random(0), {"item_changes": number})


def test_no_item_is_a_colour_or_shares_a_word_with_another_or_with_the_sentences() -> (
    None
):
    stems = [
        word_stem(word) for item in shopping_list.ITEMS for word in plain_words(item)
    ]
    assert len(stems) == len(set(stems))
    texts = [
        text
        for lists in shopping_list.WORDINGS.values()
        for wordings in lists
        for text in variants(wordings)
    ]
    texts += [*shopping_list.QUESTIONS, *colours.COLOURS]
    assert {word_stem(word) for text in texts for word in plain_words(text)} & set(
        stems
    ) == set()


@pytest.mark.slow
@pytest.mark.parametrize("kind", shopping_list.WORDINGS)
def test_full_reads_every_wording_of_a_change(kind: str) -> None:
    named, unnamed, of_it = map(list, map(variants, shopping_list.WORDINGS[kind]))
    assert len({*named, *unnamed, *of_it}) >= 60
    after = {"put": 7, "more": 7, "less": 3, "none": 0, "corrected": 2}[kind]
    for wording in (*named, *unnamed, *of_it):
        reader = FULL()
        reader.reply("Please put four doormats on my shopping list.")
        reader.reply("Please put five tea towels on my shopping list.")
        slots = {
            "items": "tea towels",
            "count": "two tea towels",
            "more": "two more tea towels",
            "n": "two",
        }
        reader.reply(capital(wording.format(**slots)))
        told = {
            entry["item"]: entry["quantity"]
            for entry in json.loads(reader.reply(ASKED))
        }
        assert told == {"doormat": 4, **({"tea towel": after} if after else {})}, (
            wording
        )


def test_full_reads_every_question_for_the_list() -> None:
    reader = FULL()
    reader.reply("Please put four doormats on my shopping list.")
    for question in variants(shopping_list.QUESTIONS):
        for form in variants(shopping_list.FORMS):
            assert "doormat" in reader.reply(question.format(form=form)), question


def test_half_of_the_later_changes_do_not_speak_of_the_list_and_some_not_of_the_thing() -> (
    None
):
    definitions = generated(shopping_list.shopping_list, 200)
    told = [
        [step.text for step in definition.steps if type(step) is Say]
        for definition in definitions
    ]
    assert all("shopping list" in first for first, *_ in told)
    later = [text for _, *others in told for text in others]
    assert 0.4 < sum("list" not in text for text in later) / len(later) < 0.6
    unnamed = [
        text
        for text in later
        if not any(item in text.lower() for item in shopping_list.ITEMS)
    ]
    assert len(unnamed) > 0.05 * len(later)


def test_no_item_is_inside_another_so_that_also_the_published_rule_can_tell_them_apart() -> (
    None
):
    assert not [
        (a, b)
        for a in shopping_list.ITEMS
        for b in shopping_list.ITEMS
        if a != b and a in b
    ]


@pytest.mark.parametrize(
    "message",
    [
        "I want to buy a house.",
        "It is on the list of kings.",
        "Remove the stain, please.",
        "I require silence.",
    ],
)
def test_what_is_no_change_of_the_list_is_not_taken_for_one(message: str) -> None:
    reader = FULL()
    reader.reply(message)
    assert json.loads(reader.reply(ASKED)) == []


def test_full_empties_the_list_when_asked_to() -> None:
    reader = FULL()
    reader.reply("Please put three candles on my shopping list.")
    assert json.loads(reader.reply(ASKED)) == [{"item": "candle", "quantity": 3}]
    reader.reply(BODY.pytestmark[0].kwargs["reset"])
    assert json.loads(reader.reply(ASKED)) == []


def test_full_understands_the_published_request_to_empty_the_list() -> None:
    reader = FULL()
    reader.reply("I want to buy 3 Candle.")
    reader.reply(
        "I bought all the items of the list. Please remove the items from my shopping list."
    )
    assert json.loads(reader.reply(ASKED)) == []


@pytest.mark.slow
@pytest.mark.published
def test_full_earns_full_marks_on_the_published_definitions() -> None:
    definitions = published("Shopping", "shopping_list")
    assert len(definitions) > 20
    assert scores(BODY, definitions, FULL, span=32_000) == [1.0] * len(definitions)
