"""Instruction Recall: a solver that compares word beginnings finds each answer in the numbered steps."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.instruction_recall import KINDS, instruction_recall

from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Definition, Say
from pytest_ltm.evaluators import RecallsSteps

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {"steps": st.integers(3, len(KINDS)), "questions": st.integers(1, 12)}
)
COMMON = {
    "afte",
    "and",
    "befo",
    "dire",
    "have",
    "just",
    "next",
    "some",
    "step",
    "that",
    "the",
    "what",
    "with",
    "you",
}
IRREGULAR = {
    "hung": "hang",
    "fed": "feed",
    "put": "put",
    "lit": "light",
    "wound": "wind",
}


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def beginnings(text: str) -> set[str]:
    said = [
        IRREGULAR.get(word, word) for word in re.findall(r"[a-z]{3,}", text.lower())
    ]
    return {word[:4] for word in said} - COMMON


def solved(definition: Definition) -> list[str]:
    manual = definition.steps[0]
    assert isinstance(manual, Say)
    steps = [
        step.strip(".;, ")
        for step in re.split(r"\nStep \d+: |[:;,] \(?\d+\) ", manual.text)[1:]
    ]
    return [answer(question.text, steps) for question in definition.questions]


def answer(question: str, steps: list[str]) -> str:
    question = re.sub(r"^[^.:?]*\bthe [A-Z]\w+ \w+ \w+[^.:?]*[.:] ", "", question)
    if number := re.search(r"step (\d+)", question):
        return steps[int(number[1]) - 1]
    at = max(
        range(len(steps)),
        key=lambda n: (
            len(beginnings(question) & beginnings(steps[n])),
            -len(steps[n]),
        ),
    )
    if "number" in question:
        return str(at + 1)
    return steps[
        at
        + ("directly after" in question or "next step" in question)
        - ("before" in question)
    ]


@given(seed=SEEDS, shape=SHAPES)
def test_every_answer_can_be_found_in_the_steps(
    seed: int, shape: dict[str, int]
) -> None:
    definition = instruction_recall(random.Random(seed), shape)
    found = solved(definition)
    assert len(found) == len(definition.expected) == shape["questions"]
    for mine, expected, question in zip(
        found, definition.expected, definition.questions, strict=True
    ):
        assert expected.removesuffix(".") in mine, question.text
        assert expected.isdecimal() or expected not in question.text
    assert definition == instruction_recall(random.Random(seed), shape)


@given(
    seed=SEEDS,
    shape=SHAPES,
    replies=st.lists(st.text() | st.from_regex(r"(?:step \d |\w+ ){0,9}"), max_size=12),
)
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, shape: dict[str, int], replies: list[str]
) -> None:
    definition = instruction_recall(random.Random(seed), shape)
    questions = tuple(ask.text for ask in definition.questions)
    rule = RecallsSteps(
        tuple(definition.expected),
        questions,
        tuple(definition.parameters["instructions"]),
    )
    assert 0 <= scored(rule(replies)).value <= 1
    assert scored(rule(questions)).value == 0
