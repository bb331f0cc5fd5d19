"""Restaurant can be played from what the waiter says alone, whatever the guest fancies."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_ltm.scenarios import restaurant

from pytest_ltm._model.definition import from_json, to_json
from pytest_ltm._model.score import Score
from pytest_ltm.testing import run_scenario

SEEDS = st.integers(0, 2**63)


class Guest:
    """Orders at random from the menu in the conversation, and keeps the conversation as its only memory."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.heard: list[str] = []
        self.drink = self.dish = ""
        self.ordered: list[str] = []

    def reply(self, message: str) -> str:
        self.heard.append(message)
        if message.endswith("to drink?"):
            self.drink = self.rng.choice(self.menu("Drinks:"))
            return f"May I have the {self.drink.lower()}?"
        if message.endswith("to eat?") or "sold out" in message:
            self.dish = self.rng.choice([d for d in self.menu("Starters:", "Drinks:") if d not in self.ordered])
            self.ordered.append(self.dish)
            return f"I will have the {self.dish}, please."
        if re.search(r"Enjoy|plate is hot|you are hungry", message):
            return "Lovely, thanks!" if self.dish in message else f"I ordered the {self.dish}, this is a mistake."
        return self.drink if message.endswith("What was it?") else "Thank you."

    def menu(self, start: str, end: str = "would you like") -> list[str]:
        text = next(message for message in self.heard if start in message)
        return re.findall(r"^\d+\. (.+)$", text[text.index(start) : text.index(end)], re.MULTILINE)


@settings(max_examples=60)
@given(seed=SEEDS, taste=SEEDS)
def test_a_guest_with_any_taste_who_listens_earns_full_marks(seed: int, taste: int) -> None:
    definition = restaurant.restaurant(random.Random(seed), {})
    guest = Guest(taste)
    ending = run_scenario(restaurant.test_restaurant, guest, definition=definition, span=None)
    assert isinstance(ending.verdict, Score), ending
    assert ending.verdict.value == 1.0, (ending.verdict, guest.heard)


@given(seed=SEEDS)
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = restaurant.restaurant(random.Random(seed), {"note": "mine"})
    assert definition == restaurant.restaurant(random.Random(seed), {"note": "mine"})
    assert from_json(to_json(definition), where="here") == definition
