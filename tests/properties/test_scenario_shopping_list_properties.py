"""Shopping List can be solved from what is said alone, by a solver with no code of generator or reader."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import shopping_list

from pytest_ltm import Ask, Definition, Say

SEEDS = st.integers(0, 2**63)
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DIGITS = {word: n for n, word in enumerate(WORDS, start=1)}
AMOUNT = re.compile(
    rf"\b({'|'.join(DIGITS)}) (more )?([a-z ]+?)s?(?= than\b| on\b| to\b| off\b| from\b| altogether\b|\.)"
)


def solved(definition: Definition) -> dict[str, int]:
    """Return the list that the messages tell."""
    goods: dict[str, int] = {}
    for text in (step.text for step in definition.steps if type(step) is Say):
        amount = AMOUNT.search(text)
        if amount is None:
            (thing,) = re.findall(r"(?:any|enough) ([a-z ]+?)s(?: at all|;)", text)
            assert thing in goods
            del goods[thing]
            continue
        n, more, thing = DIGITS[amount[1]], amount[2], amount[3]
        if "altogether" in text:
            assert goods[thing] != n
            goods[thing] = n
        elif re.search(r"\b(?:off|remove)\b", text, re.IGNORECASE):
            assert goods[thing] > n
            goods[thing] -= n
        else:
            assert (thing in goods) == bool(more)
            goods[thing] = goods.get(thing, 0) + n
    return goods


@given(seed=SEEDS, changes=st.integers(1, 60))
def test_the_messages_come_to_the_list_expected(seed: int, changes: int) -> None:
    definition = shopping_list.shopping_list(random.Random(seed), {"item_changes": changes})
    assert solved(definition) == dict(definition.expected)
    assert len([step for step in definition.steps if type(step) is Say]) == changes
    assert definition.expected


@given(seed=SEEDS)
def test_one_seed_gives_one_list(seed: int) -> None:
    first, between, again = (shopping_list.shopping_list(random.Random(s), {}) for s in (seed, seed + 1, seed))
    assert first == again != between


@given(seed=SEEDS)
def test_the_question_gives_nothing_away(seed: int) -> None:
    definition = shopping_list.shopping_list(random.Random(seed), {})
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert not [item for item, _ in definition.expected if item in question.text]
