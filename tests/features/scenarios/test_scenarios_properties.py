"""Each built-in scenario can be solved from its messages alone, by solvers without the code of generator or reader."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios import colours, jokes, prospective_memory

from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait

SEEDS = st.integers(0, 2**63)


def said(definition: Definition) -> list[str]:
    return [step.text for step in definition.steps if isinstance(step, Say)]


def spans(definition: Definition) -> list[float]:
    return [step.span for step in definition.steps if isinstance(step, Wait)]


@given(
    seed=SEEDS,
    make=st.sampled_from(
        [colours.colours, jokes.jokes, prospective_memory.prospective_memory]
    ),
)
def test_one_seed_gives_one_definition(seed: int, make: Any) -> None:
    assert make(random.Random(seed), {}) == make(random.Random(seed), {})


@given(
    seed=SEEDS,
    make=st.sampled_from(
        [colours.colours, jokes.jokes, prospective_memory.prospective_memory]
    ),
)
def test_waits_rise_to_90_percent_of_the_span_and_not_beyond(
    seed: int, make: Any
) -> None:
    waits = spans(make(random.Random(seed), {"last_wait": 0.9}))
    assert waits == sorted(waits)
    assert abs(waits[-1] - 0.9) < 1e-9


@given(seed=SEEDS, changes=st.integers(1, 12))
def test_each_statement_names_one_new_colour_and_the_last_is_expected(
    seed: int, changes: int
) -> None:
    definition = colours.colours(random.Random(seed), {"colour_changes": changes})
    told = [
        [word for word in re.findall(r"\w+", text.lower()) if word in colours.COLOURS]
        for text in said(definition)
    ]
    assert len(told) == changes
    assert all(len(named) == 1 for named in told)
    assert all(a != b for a, b in pairwise(told))
    assert told[-1] == [definition.expected]


@given(seed=SEEDS, number=st.integers(1, len(jokes.JOKES)), late=st.integers(0, 300))
def test_no_two_jokes_were_told_at_the_time_that_the_question_names(
    seed: int, number: int, late: int
) -> None:
    definition = jokes.jokes(random.Random(seed), {"jokes_told": number})
    now, told_at = timedelta(0), {}
    for step in definition.steps:
        if isinstance(step, Say):
            told_at[step.text] = now
        elif isinstance(step, Wait):
            now += step.time + timedelta(minutes=late)
    said_elapsed = {text: jokes.length(now - at) for text, at in told_at.items()}
    assert len(set(said_elapsed.values())) == number
    assert [definition.expected in text for text in told_at].count(True) == 1


@given(seed=SEEDS, authors=st.sampled_from(["known", "invented"]))
def test_quote_and_number_of_the_reply_stand_in_the_messages(
    seed: int, authors: str
) -> None:
    definition = prospective_memory.prospective_memory(
        random.Random(seed), {"authors": authors}
    )
    statement, instruction = said(definition)[0], definition.steps[-1]
    assert isinstance(instruction, Ask)
    assert re.findall(r'"(.+)"', statement) == [definition.expected["quote"]]
    ((nth,),) = [
        [nth for nth, forms in prospective_memory.ORDINALS.items() if said in forms]
        for said in re.findall(r"your (\w+) (?:reply|answer)", instruction.text)
    ]
    assert nth == definition.expected["nth"]
    assert 2 <= nth <= 8
    assert instruction.about == (statement,)
