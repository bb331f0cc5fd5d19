"""How To Think: a solver that applies the rules word by word decides each case as expected, unlike any other rule."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.how_to_think import how_to_think

from pytest_ltm.api.scenarios import Definition
from pytest_ltm.evaluators import AppliesRule

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {
        "rules": st.integers(1, 8),
        "cases": st.integers(1, 8),
        "options": st.integers(3, 9),
    }
)
SIDES = {
    "cheapest": (0, 1),
    "dearest": (0, -1),
    "newest": (1, 1),
    "oldest": (1, -1),
    "lightest": (2, 1),
    "heaviest": (2, -1),
    "nearest": (3, 1),
    "farthest": (3, -1),
}
UNITS = ("crowns", "years", "pounds", "miles")


def decided(rule: str, offered: dict[str, list[int]]) -> str:
    ends = [SIDES[word] for word in re.findall("|".join(SIDES), rule)]
    bound = re.search(r"more than (\d+) (\w+)", rule)
    within = offered
    if bound:
        column = UNITS.index(bound[2])
        within = {
            town: row for town, row in offered.items() if row[column] <= int(bound[1])
        }

    def best(end: tuple[int, int], towns: dict[str, list[int]]) -> list[str]:
        return sorted(towns, key=lambda town: towns[town][end[0]] * end[1])

    if "middle" in rule:
        return best(ends[0], offered)[len(offered) // 2]
    if "second" in rule:
        return best(ends[0], offered)[1]
    if "equal" in rule:
        value = offered[best(ends[0], offered)[0]][ends[0][0]]
        return best(
            ends[1],
            {town: row for town, row in offered.items() if row[ends[0][0]] == value},
        )[0]
    if "unless" in rule:
        first = best(ends[0], offered)[0]
        return first if first in within else best(ends[1], offered)[0]
    return best(ends[0], within)[0]


def solved(definition: Definition) -> list[str]:
    answers = []
    for question in definition.questions:
        rows = [
            re.findall(r"\b[A-Z]\w{2,}", line)[0]
            for line in question.text.split("\n")[1:]
        ]
        values = [
            [int(re.findall(rf"(\d+) {unit}", line)[0]) for unit in UNITS]
            for line in question.text.split("\n")[1:]
        ]
        answers.append(decided(question.about[0], dict(zip(rows, values, strict=True))))
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_every_case_is_decided_by_the_words_of_its_rule(
    seed: int, shape: dict[str, int]
) -> None:
    definition = how_to_think(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert definition == how_to_think(random.Random(seed), shape)


@given(seed=SEEDS, shape=SHAPES, replies=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, shape: dict[str, int], replies: list[str]
) -> None:
    definition = how_to_think(random.Random(seed), shape)
    rule = AppliesRule(
        tuple(definition.expected), tuple(map(tuple, definition.parameters["offered"]))
    )
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
