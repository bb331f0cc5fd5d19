from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI
from pytest_ltm.scenarios import colours, restaurant

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import Score, plain_words
from pytest_ltm.api.scenarios import Ask, Definition, PlannedExample, Say, Wait
from pytest_ltm.datasets.published import DefinitionsFolder
from pytest_ltm.evaluators import (
    Menu,
    PlaysGuest,
    orders_dish,
    orders_drink,
    recalls_drink,
)
from pytest_ltm.lab.commands.verdict_check import evaluator_of
from pytest_ltm.locales import CODES, variants
from pytest_ltm.testing import ScriptedAgent, run_conversation, run_scenario

MENU = {
    "Meals": [
        "Baked carp with lentils",
        "Goulash with noodles",
        "Mushroom omelette",
        "Cheese toast",
    ],
    "Drinks": ["Mineral water", "Grape juice"],
}
DRINK, DISH, OTHER = (
    "A grape juice, please.",
    "I will have the goulash, please.",
    "Then the cheese toast, please.",
)
MIX_UP, RECALLED = "Excuse me, that is not what I ordered.", "I had the grape juice."
GUEST = (DRINK, DISH, "Thanks.", OTHER, "Thanks.", MIX_UP, "Thanks.", RECALLED)
"""A guest's replies from the menu on; every second one replies to a confirmation."""


def definition(seed: int = 0, **parameters: Any) -> Definition:
    made: Definition = restaurant.restaurant(random.Random(seed), parameters)
    return made


def evening(*replies: str) -> tuple[Score, list[str]]:
    """Return the verdict on a guest in our small restaurant, and all messages to the guest."""
    agent = ScriptedAgent("All right.", *replies)
    ending = run_scenario(
        restaurant.test_restaurant, agent, definition=definition(menu=MENU), span=None
    )
    assert isinstance(ending.verdict, Score), ending
    return ending.verdict, agent.heard


def scores(
    agent: object, definitions: list[Definition], *, span: int | None
) -> list[float]:
    examples = [
        PlannedExample(
            scenario="restaurant",
            example=str(i),
            definition=made,
            reset=restaurant.test_restaurant.pytestmark[0].kwargs["reset"],
        )
        for i, made in enumerate(definitions)
    ]
    played = run_conversation(
        {"restaurant": restaurant.test_restaurant}, agent, examples=examples, span=span
    )
    verdicts = [ending.verdict for ending in played.endings.values()]
    assert all(isinstance(verdict, Score) for verdict in verdicts), played.endings
    return [verdict.value for verdict in verdicts if isinstance(verdict, Score)]


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
def test_full_is_a_perfect_guest(span: int | None) -> None:
    assert (
        scores(make_reader("full")(), [definition(i) for i in range(10)], span=span)
        == [1.0] * 10
    )


def test_the_visit_goes_on_where_rules_cannot_tell_whether_a_dish_was_ordered() -> None:
    verdict, heard = evening(DRINK, "Hm. The goulash, perhaps?", *GUEST[2:])
    assert (verdict.value, len(verdict.checks)) == (1, 4)
    assert "Goulash with noodles" in heard[4]


@pytest.mark.parametrize("agent", [Echo(), Silent()])
def test_echo_and_silent_earn_nothing(agent: object) -> None:
    assert set(scores(agent, [definition(i) for i in range(10)], span=2_000)) == {0.0}


def test_a_window_forgets_the_menu() -> None:
    values = scores(
        make_reader("window", "8k")(), [definition(i) for i in range(3)], span=32_000
    )
    assert max(values) <= 0.4


def test_a_good_guest_passes_all_five_stages() -> None:
    verdict, heard = evening(*GUEST)
    assert verdict.value == 1.0
    assert len(heard) == 9
    assert "sold out" in heard[4]
    assert "Goulash with noodles" in heard[4]
    assert "Cheese toast" in heard[5]
    brought = re.findall(
        "Baked carp with lentils|Mushroom omelette|Cheese toast|Goulash", heard[6]
    )
    assert len(brought) == 1
    assert brought[0] in ("Baked carp with lentils", "Mushroom omelette")
    assert "Cheese toast" in heard[8]
    assert "juice" not in "".join(heard[2:])


@pytest.mark.parametrize(
    ("passed", "reply", "at"),
    [
        (0, "As a language model I cannot drink.", 0),
        (0, "The goulash with noodles, please.", 0),
        (1, "I will have the pizza, please.", 1),
        (2, "The goulash, please.", 3),
        (3, "Thank you, it looks lovely!", 5),
        (4, "I had the mineral water.", 7),
    ],
)
def test_the_evening_ends_with_the_first_failure(
    passed: int, reply: str, at: int
) -> None:
    verdict, heard = evening(*GUEST[:at], reply, *GUEST[at + 1 :])
    assert verdict.value == pytest.approx(passed / 5)
    assert len(heard) == at + 2


def test_what_else_was_ordered_is_brought_along_with_the_wrong_dish() -> None:
    both = "I would like the baked carp to start, and the goulash as my main."
    _, heard = evening(
        DRINK, both, "Thanks.", OTHER, "Thanks.", MIX_UP, "Thanks.", RECALLED
    )
    assert "sold out" in heard[4]
    assert "Goulash with noodles" in heard[4]
    assert "Baked carp with lentils and Mushroom omelette" in heard[6]


def test_a_guest_who_orders_all_there_is_gets_what_is_sold_out() -> None:
    menu = {"Meals": MENU["Meals"][:3], "Drinks": MENU["Drinks"]}
    order, another = (
        "I will have the baked carp and the goulash, please.",
        "The mushroom omelette, please.",
    )
    agent = ScriptedAgent("", DRINK, order, "", another, "", MIX_UP, "", RECALLED)
    ending = run_scenario(
        restaurant.test_restaurant, agent, definition=definition(menu=menu), span=None
    )
    assert isinstance(ending.verdict, Score)
    assert ending.verdict.value == 1.0
    assert "Baked carp with lentils and Goulash with noodles" in agent.heard[6]


def test_the_stages_begin_at_20_40_60_80_and_90_percent_of_the_span() -> None:
    examples = [
        PlannedExample(
            scenario="restaurant", example="0", definition=definition(last_wait=0.9)
        )
    ]
    played = run_conversation(
        {"restaurant": restaurant.test_restaurant},
        make_reader("full")(),
        examples=examples,
        span=20_000,
    )
    exchanges = played.transcript.exchanges_of("restaurant/0")
    asked = [exchange for exchange in exchanges if exchange.kind == "ask"]
    shares = [(exchange.start - exchanges[0].start) / 20_000 for exchange in asked]
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.9], abs=0.01)


def test_the_definition_is_the_beginning_of_the_evening() -> None:
    role, wait, welcome = definition(1, last_wait=0.9).steps
    assert isinstance(role, Say)
    assert wait == Wait(span=0.2)
    assert isinstance(welcome, Ask)
    menu = Menu.read(welcome.text)
    assert (len(menu.dishes), len(menu.drinks), menu.has_numbers) == (12, 12, False)
    assert definition(1).steps != definition(2).steps


def test_a_definition_without_a_menu_is_an_error_and_no_zero() -> None:
    broken = Definition(steps=(Say("Hello."), Ask("What would you like?")))
    ending = run_scenario(
        restaurant.test_restaurant, ScriptedAgent(), definition=broken, span=None
    )
    assert ending.verdict is None
    assert "to hold a menu of 3 or more dishes" in str(ending.error)


def visit(fourth: str, **parameters: str) -> tuple[float, str]:
    """Return the score and the dish of a guest who orders and recalls well, but gives this fourth reply."""
    made = definition(3)
    made = replace(made, parameters={**made.parameters, **parameters})
    heard: list[str] = []

    class Guest:
        def __init__(self) -> None:
            self.perfect = find_agent("full").make()

        def reply(self, message: str) -> str:
            heard.append(message)
            return (
                fourth
                if "the chef always" in message
                else str(self.perfect.reply(message))
            )

    ending = run_scenario(
        restaurant.test_restaurant, Guest(), definition=made, span=None
    )
    assert isinstance(ending.verdict, Score), ending
    return ending.verdict.value, next(
        message for message in heard if "the chef always" in message
    )


@pytest.mark.parametrize(
    ("brings", "reply", "earned"),
    [
        ("right", "Lovely, thank you!", 1.0),
        ("right", "Excuse me, this is not what I ordered.", 0.6),
        ("dish", "Excuse me, this is not what I ordered.", 1.0),
        ("dish", "Lovely, thank you!", 0.6),
        ("extra", "Oh, but I am allergic to figs!", 1.0),
        ("extra", "I asked for no figs, please take it back.", 1.0),
        ("extra", "Lovely, thank you!", 0.6),
    ],
)
def test_a_complaint_is_right_only_with_a_reason(
    brings: str, reply: str, earned: float
) -> None:
    value, brought = visit(reply, brings=brings)
    assert value == earned
    assert ("figs" in brought) is (brings == "extra")


LABELLED = Path(__file__).parents[2] / "labelled" / "restaurant.jsonl"


ROWS = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_rules_agree_with_replies_labelled_by_hand(row: dict[str, Any]) -> None:
    verdict = evaluator_of(row["evaluator"], row["args"])(row["answers"])
    assert isinstance(verdict, Score)
    assert verdict.value == pytest.approx(row["credit"])


@pytest.mark.parametrize(
    ("n", "reply", "passes"),
    [
        (0, "A pear juice, please.", True),
        (0, "A grape tea, please.", False),
        (0, "A pear juice and a grape tea, please.", False),
        (1, "The duck, please.", False),
        (1, "The duck, please, but without the figs.", True),
        (1, "I can't have figs, so the trout, please.", True),
        (1, "Number 2, please.", False),
    ],
)
def test_an_order_suits_the_guest_or_fails(n: int, reply: str, passes: bool) -> None:
    menu = Menu.read(
        "Dishes:\n- Roast duck with figs\n- Smoked trout with capers\n- Leek soup with almonds\n\n"
        "Drinks:\n- Pear juice\n- Pear tea\n- Grape tea"
    )
    guest = PlaysGuest(menu, fancies="pear", avoids="figs")
    first = guest.stage(0, "A pear juice, please.", [])
    assert guest.stage(n, reply, [first][:n]).ok is passes


DISHES = [dish for dishes in restaurant.DISHES.values() for dish in dishes]


@pytest.mark.parametrize("dish", DISHES)
def test_each_dish_can_be_ordered_by_its_whole_and_its_short_name(dish: str) -> None:
    menu = Menu(tuple(DISHES), restaurant.DRINKS, tuple(restaurant.DISHES))
    for name in (dish, dish.split(" with ", maxsplit=1)[0].lower()):
        assert orders_dish(f"I would like the {name}, please.", menu).items == (dish,)


@pytest.mark.parametrize("drink", restaurant.DRINKS)
def test_each_drink_can_be_ordered_and_recalled_and_is_no_other(drink: str) -> None:
    menu = Menu(tuple(DISHES), restaurant.DRINKS, tuple(restaurant.DISHES))
    stage = orders_drink(f"I would like the {drink.lower()}, please.", menu)
    assert stage.ok
    assert recalls_drink(f"It was the {drink}.", stage.items).ok
    assert not any(
        recalls_drink(f"It was the {other}.", stage.items).ok
        for other in restaurant.DRINKS
        if other != drink
    )


WORDINGS = (
    restaurant.ROLES,
    restaurant.WELCOME,
    restaurant.EAT,
    restaurant.TAKEN,
    restaurant.SOLD_OUT,
    restaurant.INSTEAD,
    restaurant.WRONG,
    restaurant.SORRY,
    restaurant.ANOTHER,
    restaurant.WISHES,
    restaurant.CONTENT,
)


@pytest.mark.parametrize("wordings", WORDINGS)
def test_sixty_wordings_and_more_of_all_that_the_waiter_says(
    wordings: tuple[str, ...],
) -> None:
    assert len(set(variants(wordings))) >= 60


def test_dishes_share_no_word_that_tells_them_apart_nor_with_a_drink_or_a_colour() -> (
    None
):
    heads = [frozenset(plain_words(dish.split(" with ")[0])) for dish in DISHES]
    assert not [pair for pair in combinations(heads, 2) if pair[0] & pair[1]]
    drinks = {word for drink in restaurant.DRINKS for word in plain_words(drink)}
    assert not drinks & {word for dish in DISHES for word in plain_words(dish)}
    said = [
        *(text for wordings in WORDINGS for text in variants(wordings)),
        *restaurant.DISHES,
        *restaurant.DRINKS,
        *DISHES,
        *restaurant.HEADS,
        *restaurant.BESIDE,
        *restaurant.FLAVOURS,
    ]
    assert not {word for text in said for word in plain_words(text)} & set(
        colours.COLOURS
    )


@pytest.mark.published
def test_a_published_definition_brings_only_its_menu_and_is_played_by_our_script() -> (
    None
):
    folder = DefinitionsFolder(GOODAI / "definitions" / "Benchmark 3 - 120k")
    made = [folder.definition("restaurant", n) for n in "012"]
    assert [one.steps for one in made] == [(), (), ()]
    assert len(made[0].parameters["menu"]) == 9
    assert scores(make_reader("full")(), made, span=2_000) == [1.0] * 3


def test_a_definition_that_brings_nothing_at_all_is_played_with_a_menu_of_our_own() -> (
    None
):
    assert scores(make_reader("full")(), [Definition(steps=())], span=2_000) == [1.0]


def test_the_menu_beside_published_definitions_is_found(tmp_path: Path) -> None:
    (tmp_path / "definitions" / "Tiny" / "Restaurant").mkdir(parents=True)
    (tmp_path / "definitions" / "restaurant_menu.json").write_text(
        '{"Meals": ["Porridge"], "Drinks": ["Milk"]}'
    )
    empty = '{"script": [], "is_question": [], "waits": [], "expected_responses": []}'
    (tmp_path / "definitions" / "Tiny" / "Restaurant" / "0.def.json").write_text(empty)
    made = DefinitionsFolder(tmp_path / "definitions" / "Tiny").definition(
        "restaurant", "0"
    )
    assert made.parameters == {"menu": {"Meals": ["Porridge"], "Drinks": ["Milk"]}}


@pytest.mark.slow
@pytest.mark.parametrize("course", [{}, {"starters": 4}])
@pytest.mark.parametrize("language", [code for code in CODES if code != "en"])
def test_who_sees_everything_is_a_guest_in_any_language(
    language: str, course: dict[str, Any]
) -> None:
    definitions = [definition(seed, language=language, **course) for seed in range(5)]
    for agent, earned in {
        "oracle": 1.0,
        "full": 1.0,
        "echo": 0.0,
        "silent": 0.0,
    }.items():
        made_agent = find_agent(agent).make()
        assert scores(made_agent, definitions, span=None) == [earned] * 5
