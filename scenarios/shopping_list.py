"""Shopping List: things are put on a list, taken off again, and corrected; the list as it is now is asked for."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import ListsItems

from ._parameters import whole

ITEMS = (
    "aubergine", "bin bag", "bread roll", "candle", "clothes peg", "coat hook", "coconut", "corkscrew", "cucumber",
    "doormat", "envelope", "flowerpot", "lampshade", "light bulb", "napkin", "notebook", "parsnip", "pillowcase",
    "pineapple", "rubber band", "scouring pad", "shoelace", "shower cap", "tea towel", "toothpick", "turnip",
    "watering can", "yoghurt",
)  # fmt: skip
"""Each makes its plural with an s, and shares no word with another."""
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FEW, MANY = 5, len(NUMBERS)
"""The most that one message puts on the list, and the most of one thing on it."""

PUT = (
    "Please put {count} on my shopping list.",
    "My shopping list needs {count}.",
    "Write {count} on my shopping list, please.",
    "I have to buy {count}. Please note that on my shopping list.",
)
MORE = (
    "Please add {more} to my shopping list.",
    "I need {more} than I said: add that to my shopping list.",
    "To the {items} on my shopping list please add {more}.",
)
LESS = (
    "Please take {count} off my shopping list.",
    "I need fewer {items}: remove {count} from my shopping list.",
    "Remove {count} from my shopping list, please, and leave the others on it.",
)
NONE_LEFT = (
    "I do not need any {items} at all. Take them off my shopping list.",
    "Somebody gave me enough {items}; please strike all of them from my shopping list.",
)
CORRECTED = (
    "My shopping list is wrong about the {items}: make it {count} altogether.",
    "Please correct the {items} on my shopping list. I want {count} altogether.",
)
QUESTIONS = (
    "What is on my shopping list now? Answer with a JSON list of objects that have an `item` and a `quantity`.",
    "Please tell me my shopping list as it stands, as a JSON list. Each object in it has an `item` and its `quantity`.",
)


def shopping_list(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `item_changes` (default 6) changes of the list over 90 % of the span, and the question.

    The list as the changes leave it is expected: `[[item, quantity], ...]` in the order in which the items came
    on it, never empty.
    """
    number = whole(parameters, "item_changes", 6)
    shopping: dict[str, int] = {}
    changes = [Say(_change(rng, shopping)) for _ in range(number)]
    question = Ask(rng.choice(QUESTIONS), about=tuple(change.text for change in changes))
    expected = [[item, quantity] for item, quantity in shopping.items()]
    return Definition(steps=spread([*changes, question]), expected=expected, parameters=parameters)


def _change(rng: random.Random, shopping: dict[str, int]) -> str:
    """Change the list in one of the ways that it allows, and return the sentence that says so."""
    kind, item, quantity = rng.choice(list(_possible(rng, shopping)))
    before = shopping.get(item, 0)
    wordings, after = {
        "put": (PUT, quantity),
        "more": (MORE, before + quantity),
        "less": (LESS, before - quantity),
        "none": (NONE_LEFT, 0),
        "corrected": (CORRECTED, quantity),
    }[kind]
    shopping[item] = after
    if not after:
        del shopping[item]
    words = {"items": f"{item}s", "count": _counted(quantity, item), "more": _counted(quantity, item, " more")}
    return rng.choice(wordings).format(**words)


def _possible(rng: random.Random, shopping: dict[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield one change of each kind that makes sense now; new items most often, and a list that is never emptied."""
    for item in rng.sample([item for item in ITEMS if item not in shopping], k=min(2, len(ITEMS) - len(shopping))):
        yield "put", item, rng.randint(1, FEW)
    if len(shopping) < 2:
        return
    item = rng.choice(list(shopping))
    if shopping[item] < MANY:
        yield "more", item, rng.randint(1, min(FEW, MANY - shopping[item]))
    plenty = [item for item, quantity in shopping.items() if quantity > 1]
    if plenty:
        item = rng.choice(plenty)
        yield "less", item, rng.randint(1, shopping[item] - 1)
    yield "none", rng.choice(list(shopping)), 0
    item = rng.choice(list(shopping))
    yield "corrected", item, rng.choice([n for n in range(1, MANY + 1) if n != shopping[item]])


def _counted(quantity: int, item: str, more: str = "") -> str:
    """Return `three candles`, `one more candle`."""
    return f"{NUMBERS[quantity - 1]}{more} {item}{'s' * (quantity != 1)}" if quantity else ""


@pytest.mark.ltm(
    generate=shopping_list,
    skills="R,C,I",
    version="1",
    reset="I have been to the shops and bought everything, so my shopping list is empty now.",
)
def test_shopping_list(ltm: Ltm) -> None:
    """Knows what is on the list, and how many, after all changes."""
    expected = tuple((item, quantity) for item, quantity in ltm.definition.expected)
    answers = ltm.play(ltm.definition, answers=[json.dumps(dict(expected))])
    ltm.score(ListsItems(expected, scoring=ltm.scoring)(answers))
