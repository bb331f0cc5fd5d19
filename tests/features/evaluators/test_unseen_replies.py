"""Invented replies in the styles of language models, with their credit under the current rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from pytest_ltm.api.model import Score
from pytest_ltm.evaluators import (
    AnswersWord,
    DecodesMessages,
    LeadsTo,
    ListsItems,
    ListsNames,
    Menu,
    NamesColour,
    NamesUser,
    PicksOption,
    QuoteAtReply,
    RecallsJoke,
    SaysAtEachTrigger,
    Stage,
    notices_mix_up,
    orders_dish,
    orders_drink,
    recalls_drink,
)

FOLDER = Path(__file__).parents[2] / "labelled" / "unseen_replies"
JOKES = (
    "A snail walks into a bank and asks for a slow loan with a shell guarantee.",
    "My dentist plays the trombone because he loves a good drill.",
    "The scarecrow was promoted for being outstanding in his field.",
)
COD = "Baked Cod with Capers"
MENU = Menu(
    dishes=(
        "Leek Soup with Croutons",
        "Smoked Duck with Orange",
        "Lamb Stew with Barley and Thyme",
        COD,
        "Mushroom Risotto",
    ),
    drinks=("Apple Juice", "Red Wine", "Mineral Water (Still or Sparkling)"),
    sections=("Starters", "Mains", "Drinks"),
)
LAST_REPLY: dict[str, Callable[[list[str]], object]] = {
    "colour": NamesColour("Teal"),
    "names": ListsNames(("Orla", "Bram", "Ivo")),
    "name of now": NamesUser("Ivo", former=("Orla", "Bram")),
    "shopping": ListsItems((("carrot", 3), ("light bulb", 2), ("oat milk", 1))),
    "sally-anne": AnswersWord("blue basket", others=("red box", "drawer")),
    "spy meeting": DecodesMessages(
        (("umbrella", "rain"), ("noon", "twelve"), ("alone",)),
        others=(("trumpet",), ("bicycle", "bike")),
    ),
    "option": PicksOption(3),
    "trigger": SaysAtEachTrigger(
        "The harvest moon keeps its own counsel.", activations=1
    ),
    "joke": RecallsJoke(JOKES[0], JOKES[1:]),
    "route": LeadsTo(
        "Harbour",
        ((2, "north", "Library"), (3, "west", "Town Hall"), (1, "north", "Old Mill")),
    ),
}
QUOTE = QuoteAtReply("Still waters run deep - said the mill", 2)
STAGES: dict[str, Callable[[str], Stage]] = {
    "orders a drink": lambda reply: orders_drink(reply, MENU),
    "orders a dish": lambda reply: orders_dish(reply, MENU),
    "orders another dish": lambda reply: orders_dish(reply, MENU, unavailable=[COD]),
    "notices the mix-up": notices_mix_up,
    "recalls the drink": lambda reply: recalls_drink(reply, ["apple juice"]),
}


def rows(name: str) -> Iterator[tuple[str, str, float]]:
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            scenario = line[3:]
        else:
            worth, reply = line.split(" ", 1)
            yield scenario, reply.replace("\\n", "\n"), float(Fraction(worth))


def value(scenario: str, reply: str) -> float:
    if scenario in STAGES:
        return float(STAGES[scenario](reply).ok or 0)
    verdict = (
        QUOTE.verdict(reply.split("||"))
        if scenario == "quote"
        else LAST_REPLY[scenario]([reply])
    )
    assert isinstance(verdict, Score)
    return verdict.value


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_reply_is_worth_what_it_says(name: str) -> None:
    told = [
        (scenario, reply, worth, value(scenario, reply))
        for scenario, reply, worth in rows(name)
    ]

    assert [row for row in told if row[2] != pytest.approx(row[3])] == []


def test_there_are_replies_to_every_scenario() -> None:
    found = [scenario for name in ("first", "second") for scenario, _, _ in rows(name)]

    assert len(found) > 220
    assert set(found) == {*LAST_REPLY, *STAGES, "quote"}
