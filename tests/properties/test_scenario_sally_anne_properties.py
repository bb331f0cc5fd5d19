"""Sally-Anne can be solved from what is said alone: by a second simulation, which looks back instead of playing."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import sally_anne

from pytest_ltm._engine.definition import from_json, to_json
from pytest_ltm._engine.scenario import Ask, Say

COMES = re.compile(r"(\w+) (?:comes|walks|steps) into the (\w+)\.")
GOES = re.compile(r"(\w+) (?:leaves|walks out of|goes away from) the (\w+)\.")
HAS = re.compile(r"(?:The (\w+) lies in the (\w+) of the (\w+)|In the (\w+), the (\w+) is kept in the (\w+))\.")
TAKES = re.compile(r"(\w+) (?:puts|moves) the (\w+) (?:into|to) the (\w+)\.")
NAMES = "|".join(sally_anne.PUPPETS)

Moment = tuple[frozenset[str], str]


def moments(lines: list[str]) -> list[Moment]:
    """Return, after each line from the one that shows the thing, who is in its room and which container holds it."""
    where: dict[str, str] = {}
    room = box = ""
    seen = []
    for line in lines:
        if comes := COMES.search(line):
            where[comes[1]] = comes[2]
        elif goes := GOES.search(line):
            assert where.pop(goes[1]) == goes[2]
        elif has := HAS.search(line):
            room, box = (has[3], has[2]) if has[1] else (has[4], has[6])
        elif takes := TAKES.search(line):
            assert where[takes[1]] == room
            box = takes[3]
        if box:
            seen.append((frozenset(who for who, place in where.items() if place == room), box))
    return seen


def solved(lines: list[str], question: str) -> str:
    seen = moments(lines)
    if "Where was" in question:
        return seen[0][1]
    if "Where is" in question:
        return seen[-1][1]
    people = set(re.findall(NAMES, question))
    return next(box for present, box in reversed(seen) if people <= present)


@given(seed=st.integers(0, 2**63), kind=st.sampled_from(["theory_of_mind", "world", "any"]))
def test_the_answer_equals_that_of_a_second_independent_simulation(seed: int, kind: str) -> None:
    definition = sally_anne.sally_anne(random.Random(seed), {"question_type": kind})
    opening, *lines = [step.text for step in definition.steps if isinstance(step, Say)]
    question = definition.steps[-1]
    assert isinstance(question, Ask)
    assert opening == sally_anne.OPENING
    assert solved(lines, question.text) == definition.expected
    assert definition.expected not in definition.parameters["other_places"]
    assert {box for _, box in moments(lines)} == {definition.expected, *definition.parameters["other_places"]}


@given(seed=st.integers(0, 2**63))
def test_one_seed_gives_one_definition_which_survives_being_written(seed: int) -> None:
    definition = sally_anne.sally_anne(random.Random(seed), {"question_type": "any"})
    assert definition == sally_anne.sally_anne(random.Random(seed), {"question_type": "any"})
    assert from_json(to_json(definition), where="here") == definition
