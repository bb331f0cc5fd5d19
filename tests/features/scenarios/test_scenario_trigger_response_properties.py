"""Trigger Response can be solved from the messages alone, by a solver without the code of generator or reader."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import trigger_response

from pytest_ltm import Ask, Say, Wait

SEEDS = st.integers(0, 2**63)


@given(seed=SEEDS, number=st.integers(1, 12))
def test_the_rule_says_what_it_waits_for_and_the_sentence(
    seed: int, number: int
) -> None:
    definition = trigger_response.trigger_response(
        random.Random(seed), {"trigger_activations": number}
    )
    rule, *others = [step for step in definition.steps if not isinstance(step, Wait)]
    assert isinstance(rule, Say)
    ((what, sentence),) = re.findall(r'\bI ([a-z ]+),.*"(.+)"$', rule.text)
    assert definition.expected == [sentence] * number
    assert all(
        isinstance(other, Ask) and other.about == (rule.text,) for other in others
    )
    thing = what.removeprefix("mention ")
    meant = trigger_response.MEANT[what][1] if what == thing else ()
    about = [
        other.text in meant if meant else thing in other.text.lower()
        for other in others
    ]
    assert [
        place for place, it_is in enumerate(about) if not it_is
    ] == definition.parameters["controls"]
    assert len(others) == number + 2


@given(seed=SEEDS)
def test_three_activations_and_two_controls_are_spread_over_90_percent_of_the_span(
    seed: int,
) -> None:
    definition = trigger_response.trigger_response(
        random.Random(seed), {"last_wait": 0.9}
    )
    assert [type(step) for step in definition.steps] == [Say, *[Wait, Ask] * 5]
    spans = [round(step.span, 9) for step in definition.steps if isinstance(step, Wait)]
    assert spans == [0.18, 0.36, 0.54, 0.72, 0.9]
    assert definition.parameters["controls"] == [0, 2]
    assert len({step.text for step in definition.steps if isinstance(step, Ask)}) == 5


@given(seed=SEEDS)
def test_one_seed_gives_one_definition(seed: int) -> None:
    make = trigger_response.trigger_response
    assert make(random.Random(seed), {}) == make(random.Random(seed), {})
