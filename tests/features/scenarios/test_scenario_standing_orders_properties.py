"""Standing Orders: a solver that reads only the messages knows which orders apply to each line."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.standing_orders import (
    PLACES,
    THINGS,
    rule_of,
    standing_orders,
)

from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.integers(2, 7).flatmap(
    lambda orders: st.fixed_dictionaries(
        {
            "orders": st.just(orders),
            "revoked": st.integers(1, orders - 1),
            "changes": st.integers(0, 6),
            "tasks": st.integers(1, 5),
        }
    )
)
SIGNS = {
    "opens": r"(?:begin|start|open) with|opening",
    "closes": r"(?:end|close|finish) with|closing",
    "brackets": "bracket",
    "capitals": "capital",
    "stars": "asterisk",
    "tag": r"\btag\b",
    "mentions": r"(?:work|slip|worked) in\b|use the word",
}
GIVEN = re.compile(r"the word [A-Z]|#")
ENDED = re.compile(r"\b(?:drop|scrap|do without|leave out|no more)\b", re.IGNORECASE)
AGAIN = re.compile(r"\b(?:bring back|reinstate)\b", re.IGNORECASE)
WANTED = re.compile(r"\b(?:I want|give me|let me have)\b", re.IGNORECASE)


def solved(definition: Definition) -> list[tuple[dict[str, str], set[str]]]:
    """Return for each line the words of the orders that apply, by kind, and all other words."""
    word: dict[str, str] = {}
    only: dict[str, str] = {}
    ended: set[str] = set()
    ever: dict[str, str] = {}
    lines = []
    for step in definition.steps:
        if isinstance(step, Wait):
            continue
        text = step.text
        about = next((place for place in PLACES if place in text), "")
        if isinstance(step, Ask):
            sort = next(
                sort
                for sort, things in THINGS.items()
                for thing in things
                if f"about {thing} " in text
            )
            holds = {
                kind: word[kind]
                for kind in word
                if kind not in ended and only[kind] in ("", sort, about)
            }
            lines.append((holds, set(ever) - set(holds.values())))
            continue
        if ", but " in text:
            continue
        about = about or next((sort for sort in THINGS if f"about {sort}" in text), "")
        names = re.findall(r"(?<=[ #])[A-Z][a-z]{4,}", text)
        kind = (
            next(
                (
                    kind
                    for kind, sign in SIGNS.items()
                    if re.search(sign, text, re.IGNORECASE)
                ),
                "",
            )
            or ever[names[-1]]
        )
        if GIVEN.search(text):
            word[kind], only[kind] = names[0], about
        elif ENDED.search(text):
            ended.add(kind)
        elif AGAIN.search(text):
            ended.discard(kind)
        elif WANTED.search(text):
            only[kind] = about
        else:
            word[kind] = next(name for name in names if name not in ever)
        ever[word[kind]] = kind
    return lines


@given(seed=SEEDS, shape=SHAPES)
def test_who_notes_each_order_knows_which_hold(
    seed: int, shape: dict[str, int]
) -> None:
    definition = standing_orders(random.Random(seed), shape)
    for (holds, others), expected, lapsed in zip(
        solved(definition),
        definition.expected,
        definition.parameters["lapsed"],
        strict=True,
    ):
        assert holds == dict(expected)
        assert others == set(lapsed)
        assert holds
        assert others
    assert definition == standing_orders(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.replies).value == 1


@given(seed=SEEDS)
def test_who_obeys_all_that_was_ever_said_earns_as_little_as_who_obeys_nothing(
    seed: int,
) -> None:
    definition = standing_orders(random.Random(seed), {})
    rule, lists = rule_of(definition), definition.parameters
    everything = [
        f"{reply} {' '.join(others)}"
        for reply, others in zip(definition.replies, lists["lapsed"], strict=True)
    ]
    assert rule(everything).value == 0
    assert rule([f"Good news of {thing}." for thing in lists["about"]]).value == 0


@given(seed=SEEDS, answers=st.lists(st.text(), max_size=5))
def test_no_answer_breaks_the_rule_and_messages_repeated_earn_nothing(
    seed: int, answers: list[str]
) -> None:
    rule = rule_of(definition := standing_orders(random.Random(seed), {}))
    assert 0 <= rule(answers).value <= 1
    told = [step.text for step in definition.steps if isinstance(step, Say)]
    asked = [question.text for question in definition.questions]
    assert rule(asked).value == 0
    assert rule(["\n".join([*told, question]) for question in asked]).value == 0
    assert all(
        rule([f"{said} {question}" for question in asked]).value == 0 for said in told
    )
