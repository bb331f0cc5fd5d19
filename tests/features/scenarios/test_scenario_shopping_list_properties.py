"""Shopping List can be solved from the messages alone, by a solver without the code of generator or reader."""

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
AMOUNT = re.compile(rf"\b({'|'.join(DIGITS)})\b")
LESS = re.compile(
    r"\b(?:off|remove|take|strike|knock|drop|scratch|cut|fewer|less|too many)\b"
)


def solved(definition: Definition) -> dict[str, int]:
    """Return the list that results from the messages."""
    goods: dict[str, int] = {}
    thing = ""
    for text in (step.text.lower() for step in definition.steps if type(step) is Say):
        named = [item for item in shopping_list.ITEMS if item in text]
        (thing,) = named or [thing]
        amounts = AMOUNT.findall(text)
        if not amounts:
            del goods[thing]
            continue
        assert len(amounts) == 1, text
        n = DIGITS[amounts[0]]
        if re.search(r"altogether|in total|in all\b", text):
            assert goods[thing] != n
            goods[thing] = n
        elif LESS.search(text):
            assert goods[thing] > n
            goods[thing] -= n
        else:
            assert thing not in goods or re.search(r"\b(?:more|another)\b", text), text
            goods[thing] = goods.get(thing, 0) + n
    return goods


@given(seed=SEEDS, changes=st.integers(1, 60))
def test_the_messages_come_to_the_list_expected(seed: int, changes: int) -> None:
    definition = shopping_list.shopping_list(
        random.Random(seed), {"item_changes": changes}
    )
    assert solved(definition) == dict(definition.expected)
    assert len([step for step in definition.steps if type(step) is Say]) == changes
    assert definition.expected


@given(seed=SEEDS)
def test_one_seed_gives_one_list(seed: int) -> None:
    first, between, again = (
        shopping_list.shopping_list(random.Random(s), {})
        for s in (seed, seed + 1, seed)
    )
    assert first == again != between


@given(seed=SEEDS)
def test_the_question_gives_nothing_away(seed: int) -> None:
    definition = shopping_list.shopping_list(random.Random(seed), {})
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert not [item for item, _ in definition.expected if item in question.text]
