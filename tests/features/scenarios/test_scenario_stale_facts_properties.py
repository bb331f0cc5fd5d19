"""Stale Facts: a solver without the generator's code knows current and former values, and the dates of changes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.stale_facts import rule_of, stale_facts

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {
        "topics": st.integers(1, 4),
        "changes": st.integers(1, 5),
        "unasked": st.integers(0, 3),
    }
)
DATE = re.compile(
    r"\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
NOTHING_CAME = re.compile(r"called it off|nothing came|thought better|fell through")
MOVES = re.compile(
    r"we moved to|been home|where we live since|my (?:home|flat) is in", re.IGNORECASE
)


def names(text: str) -> list[str]:
    return re.findall(
        r"\b[A-Z][a-z]{3,}\b",
        re.sub(r"^\W*\w+|(?<=[:.] )\w+", first_of, DATE.sub("", text)),
    )


def first_of(found: re.Match[str]) -> str:
    """Return the first word of a sentence if it may be an invented name, otherwise ""."""
    word = found[0]
    invented = word[:1].isupper() and word not in ORDINARY
    return word if invented else ""


ORDINARY = frozenset(
    """By Just For About In Small As News Another It Guess What From Since I The You Always Dr At My We A All Tell So
    Remind Quick Test These Right After Who Which On Where""".split()  # noqa: SIM905 - a list of words reads best as text
)


def history(about: Sequence[str], order: list[str]) -> list[tuple[str, str]]:
    """Return the values of one topic with the day on which each began; "" for the first."""
    told = sorted(about, key=order.index)
    cases: dict[str, str] = {}
    for text in told:
        for place, value in re.findall(r"I live in (\w+), ([^;,.]*)", text):
            cases[place] = names("x " + value)[-1]
    found = []
    for text in told:
        if NOTHING_CAME.search(text) or "I live in" in text:
            continue
        day = DATE.search(text)
        (value,) = names(text)
        found.append(
            (cases[value] if MOVES.search(text) else value, day[0] if day else "")
        )
    return found


def solved(definition: Definition) -> list[str]:
    order = [step.text for step in definition.steps if isinstance(step, Say)]
    answers = []
    for question in definition.questions:
        known = history(question.about, order)
        if "change" in question.text:
            answers.append(known[-1][1])
        else:
            answers.append(known[-2 if "before" in question.text else -1][0])
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_follows_what_is_told_knows_now_before_and_when(
    seed: int, shape: dict[str, int]
) -> None:
    definition = stale_facts(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert definition == stale_facts(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.expected).value == 1


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=9))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, replies: list[str]
) -> None:
    rule = rule_of(definition := stale_facts(random.Random(seed), {}))
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0


@given(seed=SEEDS)
def test_the_days_are_told_in_their_order(seed: int) -> None:
    definition = stale_facts(random.Random(seed), {})
    told = [
        found
        for step in definition.steps
        if isinstance(step, Say)
        for found in DATE.findall(step.text)
    ]
    months = {name: n for n, name in enumerate(re.findall(r"[A-Z]\w+", DATE.pattern))}
    assert [(months[day.split()[1]], int(day.split()[0])) for day in told] == sorted(
        (months[day.split()[1]], int(day.split()[0])) for day in told
    )
