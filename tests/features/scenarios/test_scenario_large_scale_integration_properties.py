"""Large-scale Integration: a solver that reads only the messages works out every answer."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.large_scale_integration import (
    large_scale_integration,
    rule_of,
)

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries({}, optional={"facts": st.integers(20, 60)})
WORDS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
}
MONTHS = "March|April|May|June|July|August|September|October|November"


def day(text: str) -> tuple[int, int]:
    """Return the month and the day named in a text."""
    month = re.findall(rf"\b(?:{MONTHS})\b", text)[-1]
    beside = re.findall(rf"(\d+)(?:\D{{2}} of)? {month}|{month} (\d+)", text)[-1]
    return datetime.strptime(month, "%B").month, int("".join(beside))  # noqa: DTZ007 - only for its month


def solved(definition: Definition) -> list[list[str]]:
    """Return the answer to each question."""
    gifts = []
    homes = {}
    for step in definition.steps:
        if not isinstance(step, Say):
            continue
        names = [
            name
            for name in re.findall(r"\b[A-Z][a-z]{4,}\b", step.text)
            if not re.fullmatch(MONTHS, name)
        ]
        names = [
            name
            for name in names
            if name not in ("Please", *map(str.capitalize, WORDS))
        ]
        if (
            "for the " not in step.text.partition(": ")[2]
            and "pounds" not in step.text
            and "£" not in step.text
        ):
            homes[names[0]] = names[1]
            continue
        said = re.search(r"£(\d+)|(\w+) pounds", step.text)
        purpose = re.findall(
            r"for the (\w+)", re.sub(r"[Ff]or the (?:club's )?book: ", "", step.text)
        )
        assert said
        assert len(names) == len(purpose) == 1
        amount = said[1] or said[2].lower()
        gifts.append(
            (names[0], WORDS.get(amount) or int(amount), purpose[0], day(step.text))
        )
    return [answered(question.text, gifts, homes) for question in definition.questions]


def answered(
    text: str, gifts: list[tuple[str, int, str, tuple[int, int]]], homes: dict[str, str]
) -> list[str]:
    """Return the answer to one question: a number, names, or one name."""
    given: defaultdict[str, int] = defaultdict(int)
    for name, pounds, purpose, _ in gifts:
        given[name] += pounds
        given[purpose] += pounds
    purposes = re.findall(r"for the (\w+)", text)
    if "how many gifts" in text.lower() or "how many of the gifts" in text.lower():
        limit = int(re.findall(r"\d+", text)[0])
        above = "pounds each" in text
        return [
            str(
                len(
                    [
                        gift
                        for gift in gifts
                        if (gift[1] > limit if above else gift[3] > day(text))
                    ]
                )
            )
        ]
    if "first gift" in text:
        return sorted(
            homes, key=lambda name: min(gift[3] for gift in gifts if gift[0] == name)
        )
    if "each gave" in text:
        return sorted(homes, key=lambda name: -given[name])
    if town := re.search(r" from ([A-Z]\w+)", text):
        there = {name for name in homes if homes[name] == town[1]}
        members = homes.keys() - there if "not from" in text else there
        givers = sorted(
            members & {gift[0] for gift in gifts if purposes in ([], [gift[2]])}
        )
        return givers if purposes else [max(givers, key=lambda name: given[name])]
    return [str(given[purposes[0]] - (given[purposes[1]] if len(purposes) > 1 else 0))]


@given(seed=SEEDS, shape=SHAPES)
def test_who_notes_every_fact_works_out_every_answer(
    seed: int, shape: dict[str, int]
) -> None:
    definition = large_scale_integration(random.Random(seed), shape)
    expected = [
        sorted(names) if kind == "set" else names
        for names, kind in zip(
            definition.expected, definition.parameters["asked"], strict=True
        )
    ]
    assert solved(definition) == expected
    assert len(
        [step for step in definition.steps if isinstance(step, Say)]
    ) == shape.get("facts", 24)
    assert definition == large_scale_integration(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.replies).value == 1


@given(seed=SEEDS, shape=SHAPES)
def test_each_question_has_a_right_answer_and_wrong_ones(
    seed: int, shape: dict[str, int]
) -> None:
    definition = large_scale_integration(random.Random(seed), shape)
    lists = definition.parameters
    kinds = list(zip(lists["asked"], definition.expected, lists["others"], strict=True))
    assert len(kinds) == 5
    assert all(int(expected[0]) > 0 for kind, expected, _ in kinds if kind == "number")
    assert all(names and others for kind, names, others in kinds if kind == "set")


@given(seed=SEEDS, answers=st.lists(st.text(), max_size=6))
def test_no_answer_breaks_the_rule_and_naming_all_earns_nothing(
    seed: int, answers: list[str]
) -> None:
    rule = rule_of(definition := large_scale_integration(random.Random(seed), {}))
    assert 0 <= rule(answers).value <= 1
    asked = [question.text for question in definition.questions]
    assert rule(asked).value == 0
    names = [
        ", ".join([*expected, *others])
        for expected, others in zip(rule.expected, rule.others, strict=True)
    ]
    everything = [
        text if kind in ("set", "name") else ""
        for kind, text in zip(rule.asked, names, strict=True)
    ]
    assert rule(everything).value == 0
