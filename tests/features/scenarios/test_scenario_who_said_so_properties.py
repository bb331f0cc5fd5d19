"""Who Said So: a solver without the generator's code knows the source, time and certainty of each tip."""

from __future__ import annotations

import random
import re
from itertools import permutations, product
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import who_said_so as scenario

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.api.scenarios import from_json, to_json
from pytest_ltm.evaluators import KnowsSources

rule_of, who_said_so = scenario.rule_of, scenario.who_said_so
SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries({"each": st.integers(2, 4)})
CONTEST = re.compile(r"(?:win|for) the ([a-z -]+?)(?:\.|,| is | has )")
DAY = re.compile(r"\d{1,2} [A-Z][a-z]+")


class Tip(NamedTuple):
    contest: str
    source: str
    level: str
    day: str


def contest(text: str) -> str:
    found = CONTEST.search(text)
    assert found
    return found[1]


def tips(definition: Definition) -> list[Tip]:
    """Return all tips in the order told, from the messages alone."""
    found: list[Tip] = []
    for step in definition.steps:
        if not isinstance(step, (Say, Ask)) or not (day := DAY.search(step.text)):
            continue
        source = re.search(r"\bmy (?!own)(\w+)", step.text)
        unsure = re.search("guess|hunch|rumour", step.text)
        told = source[1] if source else "user" if isinstance(step, Say) else "agent"
        found.append(
            Tip(contest(step.text), told, "guess" if unsure else "certain", day[0])
        )
    gone = {
        contest(step.text)
        for step in definition.steps
        if isinstance(step, Say)
        and re.search("has been (?:taken back|withdrawn)", step.text)
    }
    return [
        tip._replace(level="taken back") if tip.contest in gone else tip
        for tip in found
    ]


def solved(definition: Definition) -> list[str]:
    known = tips(definition)
    answers = []
    for question in definition.questions:
        if DAY.search(question.text) or re.search(
            "did you (?:yourself )?pick|your own", question.text
        ):
            answers.append("")  # any choice of the agent
            continue
        place = next(
            n for n, tip in enumerate(known) if f"the {tip.contest}" in question.text
        )
        tip = known[place]
        if "next" in question.text:
            answers.append(known[place + 1].contest)
        elif "certain" in question.text:
            answers.append(tip.level)
        else:
            answers.append(
                tip.day if re.search(r"\bday\b", question.text) else tip.source
            )
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_reads_the_messages_knows_every_source(
    seed: int, shape: dict[str, int]
) -> None:
    definition = who_said_so(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert definition == who_said_so(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.replies).value == 1


@given(seed=SEEDS, shape=SHAPES)
def test_the_agent_is_asked_for_what_it_picked_whatever_that_was(
    seed: int, shape: dict[str, int]
) -> None:
    definition = who_said_so(random.Random(seed), shape)
    rule = rule_of(definition)
    own = rule.asked.index("own")
    options = rule.others[rule.picks[own]]
    swapped = [
        dict(zip(options, reversed(options), strict=True)).get(reply.rstrip("."), reply)
        for reply in definition.replies
    ]
    assert rule(swapped).value == 1
    assert (
        rule([*swapped[:own], definition.replies[own], *swapped[own + 1 :]]).value
        == 0.75
    )
    unsettled = list(definition.replies)
    unsettled[rule.picks[own]] = "I would rather not."
    assert rule(unsettled).value <= 0.75


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=15))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, replies: list[str]
) -> None:
    rule = rule_of(definition := who_said_so(random.Random(seed), {}))
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
    assert rule([" ".join(rule.told)] * len(rule.asked)).value == 0


def test_nobody_who_knows_only_the_kinds_of_questions_earns_more_than_the_floor() -> (
    None
):
    floor: float = scenario.test_who_said_so.pytestmark[0].kwargs["floor"]
    best = {"who": 0.0, "sure": 0.0}
    for kind, values in (
        ("who", ("user", "agent", "barber")),
        ("sure", ("certain", "guess", "taken back")),
    ):
        said = {
            "user": "You.",
            "agent": "Me.",
            "barber": "The barber.",
            "guess": "A guess.",
            "certain": "Certain.",
        }
        for guess in product(values, repeat=3):
            earned = [
                KnowsSources(order, (kind,) * 3, (("vicar",),) * 3)(
                    [said.get(one, "Taken back.") for one in guess]
                ).value
                for order in permutations(values)
            ]
            best[kind] = max(best[kind], sum(earned) / len(earned))
    assert best == {"who": 1 / 6, "sure": 1 / 6}
    # one of the other possible contests, times the half of the questions about days
    next_one = 1 / 13 / 2
    assert floor - 0.01 < (best["who"] + best["sure"] + next_one + 0) / 4 <= floor
