"""Forget On Request: a solver without the generator's code knows what remains after each request to forget."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.forget_on_request import forget_on_request, replies, rule_of

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.integers(2, 12).flatmap(
    lambda facts: st.fixed_dictionaries(
        {"facts": st.just(facts), "forgotten": st.integers(1, facts // 2)}
    )
)
ABOUT = {
    "school": "school|pupils",
    "doctor": "doctor|Dr|surgery",
    "landlady": "landlady|rent|roof",
    "childhood": "gr[eo]w up|childhood",
    "employer": "employer|work for|payslip",
    "love": "love",
    "pet": "pet|cat|food bowl",
    "club": "club|play for|shirt",
    "therapist": "therapist|worries|couch",
    "summer": "summers?|city",
    "ship": "ship|sailed|bow",
    "solicitor": "solicitor|lawsuits|sued",
}
VALUE = re.compile(
    r"\b[A-Z][a-z]{4,}\b(?<!Small)(?<!Please)(?<!Erase)(?<!Delete)(?<!Strike)(?<!While)"
)
REQUEST = re.compile(
    r"^(?:please forget|i want you to forget|erase|delete|strike|be so kind)",
    re.IGNORECASE,
)
STAYS = re.compile(r"keep|stays|still need|remember|don't you forget", re.IGNORECASE)


def about(text: str) -> str:
    return next(
        (name for name, words in ABOUT.items() if re.search(rf"\b(?:{words})\b", text)),
        "",
    )


def solved(definition: Definition) -> tuple[list[str], set[str]]:
    """Return the answer to each question, and all remaining values."""
    known: dict[str, str] = {}
    for text in (step.text for step in definition.steps if isinstance(step, Say)):
        if REQUEST.search(text):
            gone = about(text) or next(
                name for name, value in known.items() if value in text
            )
            del known[gone]
        elif not STAYS.search(text):
            known[about(text)] = VALUE.findall(text)[-1]
    return [
        known.get(about(question.text), "") for question in definition.questions[:-1]
    ], set(known.values())


@given(seed=SEEDS, shape=SHAPES)
def test_who_forgets_what_was_named_knows_the_rest(
    seed: int, shape: dict[str, int]
) -> None:
    definition = forget_on_request(random.Random(seed), shape)
    assert solved(definition) == (
        definition.expected,
        set(definition.parameters["kept"]),
    )
    assert (
        definition.expected.count("")
        == shape["forgotten"]
        == len(definition.parameters["lost"])
    )
    assert definition == forget_on_request(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(replies(definition)).value == 1


@given(seed=SEEDS)
def test_who_forgets_all_earns_as_little_as_who_forgets_nothing(seed: int) -> None:
    definition = forget_on_request(random.Random(seed), {})
    rule, lists = rule_of(definition), definition.parameters
    asked = [
        value or lost
        for value, lost in zip(definition.expected, lists["lost"] * 2, strict=True)
    ]
    assert rule([*asked, ", ".join(lists["kept"] + lists["lost"])]).value == 0
    assert rule(["I have forgotten all of that."] * 5).value == 0


@given(seed=SEEDS, answers=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, answers: list[str]
) -> None:
    rule = rule_of(definition := forget_on_request(random.Random(seed), {}))
    assert 0 <= rule(answers).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
