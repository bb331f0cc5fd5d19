"""Restaurant can be played from the waiter's messages alone, whatever the guest prefers."""

from __future__ import annotations

import random
import re

import pytest
from _examples import share
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_ltm.scenarios import restaurant

from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import from_json, to_json
from pytest_ltm.testing import run_scenario

SEEDS = st.integers(0, 2**63)


class Guest:
    """Orders at random from the menu, with the conversation as its only memory."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.heard: list[str] = []
        self.drink = self.dish = ""
        self.ordered: list[str] = []

    def reply(self, message: str) -> str:
        self.heard.append(message)
        if message.endswith("to drink?"):
            self.drink = self.rng.choice(
                [
                    d
                    for d in self.menu("Drinks:")
                    if self.wish("only what has") in d.lower()
                ]
            )
            return f"May I have the {self.drink.lower()}?"
        if message.endswith("to eat?") or "sold out" in message:
            dishes = (
                d for d in self.menu("Dishes:", "Drinks:") if self.wish("eat") not in d
            )
            self.dish = self.rng.choice([d for d in dishes if d not in self.ordered])
            self.ordered.append(self.dish)
            return f"I will have the {self.dish}, please."
        if "the chef always" in message:
            return self.served(message)
        return self.drink if message.endswith("What was it?") else "Thank you."

    def served(self, message: str) -> str:
        if self.wish("eat") in message:
            return f"Please take it back, I must not eat {self.wish('eat')}."
        return (
            "Lovely, thanks!"
            if self.dish in message
            else f"I ordered the {self.dish}, this is a mistake."
        )

    def wish(self, after: str) -> str:
        found = re.search(rf"{after} (\w+)", self.heard[0])
        assert found
        return found[1]

    def menu(self, start: str, end: str = "would you like") -> list[str]:
        text = next(message for message in self.heard if start in message)
        return re.findall(
            r"^- (.+)$", text[text.index(start) : text.index(end)], re.MULTILINE
        )


@settings(max_examples=share(60))
@given(seed=SEEDS, taste=SEEDS)
def test_a_guest_with_any_taste_who_listens_earns_full_marks(
    seed: int, taste: int
) -> None:
    definition = restaurant.restaurant(random.Random(seed), {})
    guest = Guest(taste)
    ending = run_scenario(
        restaurant.test_restaurant, guest, definition=definition, span=None
    )
    assert isinstance(ending.verdict, Score), ending
    assert ending.verdict.value == 1.0, (ending.verdict, guest.heard)


class Forgetful:
    """Sees only the last message: orders a drink from the menu and a dish from the pool, and always reacts alike."""

    def __init__(self, complains: bool) -> None:
        self.complains = complains

    def reply(self, message: str) -> str:
        if drinks := re.findall(
            r"^- (.+)$", message.partition("Drinks:")[2], re.MULTILINE
        ):
            return f"I would like the {drinks[0].lower()}, please."
        if "the chef always" in message:
            return (
                "Excuse me, this is not what I ordered."
                if self.complains
                else "Thank you very much."
            )
        return (
            "It was the pear juice."
            if "What was it?" in message
            else f"I will have the {restaurant.HEADS[0]}, please."
        )


@pytest.mark.slow
@pytest.mark.parametrize("complains", [True, False])
def test_a_guest_who_sees_the_last_message_only_earns_what_a_guess_at_the_drink_earns(
    complains: bool,
) -> None:
    earned = []
    for seed in range(200):
        definition = restaurant.restaurant(random.Random(seed), {})
        ending = run_scenario(
            restaurant.test_restaurant,
            Forgetful(complains),
            definition=definition,
            span=None,
        )
        assert isinstance(ending.verdict, Score)
        earned.append(ending.verdict.value)
    assert sum(earned) / len(earned) < 0.08


@given(seed=SEEDS)
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = restaurant.restaurant(random.Random(seed), {"note": "mine"})
    assert definition == restaurant.restaurant(random.Random(seed), {"note": "mine"})
    assert from_json(to_json(definition), where="here") == definition
