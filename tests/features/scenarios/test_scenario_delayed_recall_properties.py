"""Delayed Recall: the expected answer is found in exactly one line of the facts, the one that the question is about."""

from __future__ import annotations

import random
import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.delayed_recall import KINDS, delayed_recall

from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Say
from pytest_ltm.evaluators import RecallsFacts

SEEDS = st.integers(0, 2**63)
COMMON = {
    "all",
    "and",
    "are",
    "call",
    "does",
    "ever",
    "for",
    "has",
    "have",
    "how",
    "its",
    "many",
    "most",
    "over",
    "that",
    "the",
    "thei",
    "them",
    "ther",
    "they",
    "was",
    "what",
    "whic",
    "who",
}
REPLIES = st.lists(st.text() | st.from_regex(r"[\w ,.]{0,80}"), max_size=12)


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def beginnings(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"\w{3,}", text.lower())} - COMMON


def answering(question: str, lines: list[str]) -> str:
    """Return the line that shares most word beginnings with the question, with rare ones weighing more."""
    count = Counter(word for line in lines for word in beginnings(line))
    return max(
        lines,
        key=lambda line: sum(
            1 / count[word] for word in beginnings(line) & beginnings(question)
        ),
    )


@given(seed=SEEDS, facts=st.integers(1, len(KINDS)))
def test_each_expected_answer_stands_in_one_line_that_fits_the_question(
    seed: int, facts: int
) -> None:
    definition = delayed_recall(random.Random(seed), {"facts": facts})
    told = definition.steps[0]
    assert isinstance(told, Say)
    heading, rest = re.split(r"(?<=:)\s", told.text, maxsplit=1)
    lines = re.split(r"\n|; | / | \+ ", rest)
    assert len(lines) == facts == len(definition.questions) == len(definition.expected)
    names = "|".join(re.findall(r"\b[A-Z]\w+", heading))
    for question, expected in zip(
        definition.questions, definition.expected, strict=True
    ):
        asked = re.split(r"[:,] ", question.text)[-1]
        asked = re.sub(rf"\b(?:{names})\b", "", asked)
        assert expected.lower() in answering(asked, lines).lower()
        assert expected not in question.text
    assert definition == delayed_recall(random.Random(seed), {"facts": facts})


@given(seed=SEEDS, replies=REPLIES)
def test_no_answer_breaks_the_rule(seed: int, replies: list[str]) -> None:
    definition = delayed_recall(random.Random(seed), {})
    questions = tuple(ask.text for ask in definition.questions)
    assert (
        0
        <= scored(RecallsFacts(tuple(definition.expected), questions)(replies)).value
        <= 1
    )


@given(seed=SEEDS)
def test_an_echo_earns_nothing(seed: int) -> None:
    definition = delayed_recall(random.Random(seed), {"facts": len(KINDS)})
    questions = tuple(ask.text for ask in definition.questions)
    assert (
        scored(RecallsFacts(tuple(definition.expected), questions)(questions)).value
        == 0
    )
