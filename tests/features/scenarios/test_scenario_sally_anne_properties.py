"""Sally-Anne can be solved from the messages alone, by a second simulation that works backwards instead of playing."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import sally_anne

from pytest_ltm.api.scenarios import Ask, Say, from_json, to_json

NAMES = "|".join(sally_anne.PUPPETS)
WHO, WHAT = rf"(?P<who>{NAMES})", r"(?P<what>\w+)"
COMES = re.compile(
    rf"{WHO} \w+ into the (?P<room>\w+)|nto the (?P<into>\w+) (?!goes)\w+ (?P<whom>{NAMES})"
)
GOES = re.compile(
    rf"{WHO} (?:leaves|\w+ out of|goes away from) the (?P<room>\w+)|ut of the (?P<of>\w+) \w+ (?P<whom>{NAMES})"
)
HAS = re.compile(
    rf"he {WHAT} (?:lies|is|is kept) in the (?P<box>\w+) of the (?P<room>\w+)"
)
KEPT = re.compile(rf"n the (?P<room>\w+), the {WHAT} [a-z ]+ in the (?P<box>\w+)")
TAKES = re.compile(rf"{WHO} \w+ the {WHAT} into the (?P<box>\w+)")
TAKEN = re.compile(rf"nto the (?P<box>\w+) goes the {WHAT}, and it is {WHO}")

Moment = tuple[frozenset[str], str]


def moments(lines: list[str]) -> list[Moment]:
    """For each line from the one that shows the thing, return the people in its room and its container."""
    where: dict[str, str] = {}
    room = box = ""
    seen = []
    for line in lines:
        if has := HAS.search(line) or KEPT.search(line):
            room, box = has["room"], has["box"]
        elif takes := TAKES.search(line) or TAKEN.search(line):
            assert where[takes["who"]] == room
            box = takes["box"]
        elif comes := COMES.search(line):
            where[comes["who"] or comes["whom"]] = comes["room"] or comes["into"]
        elif goes := GOES.search(line):
            assert where.pop(goes["who"] or goes["whom"]) == (
                goes["room"] or goes["of"]
            )
        if box:
            seen.append(
                (frozenset(who for who, place in where.items() if place == room), box)
            )
    return seen


def solved(lines: list[str], question: str) -> str:
    seen = moments(lines)
    if "Where was" in question:
        return seen[0][1]
    if "Where is" in question:
        return seen[-1][1]
    people = set(re.findall(NAMES, question))
    return next(box for present, box in reversed(seen) if people <= present)


@given(
    seed=st.integers(0, 2**63), kind=st.sampled_from(["theory_of_mind", "world", "any"])
)
def test_the_answer_equals_that_of_a_second_independent_simulation(
    seed: int, kind: str
) -> None:
    definition = sally_anne.sally_anne(random.Random(seed), {"question_type": kind})
    opening, *lines = [step.text for step in definition.steps if isinstance(step, Say)]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert {
        who for text in (*lines, question.text) for who in re.findall(NAMES, text)
    } <= set(re.findall(NAMES, opening))
    assert solved(lines, question.text) == definition.expected
    assert definition.expected not in definition.parameters["other_places"]
    assert {box for _, box in moments(lines)} == {
        definition.expected,
        *definition.parameters["other_places"],
    }


@given(seed=st.integers(0, 2**63))
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = sally_anne.sally_anne(random.Random(seed), {"question_type": "any"})
    assert definition == sally_anne.sally_anne(
        random.Random(seed), {"question_type": "any"}
    )
    assert from_json(to_json(definition), where="here") == definition
