"""For any request, filler just reaches its target, and its line counts add up to the count of the whole."""

from __future__ import annotations

import json
from random import Random

import pytest
from _examples import share
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ltm.api.model import FillerExchange, TokenCounter, token_counter
from pytest_ltm.fillers import (
    QuizFact,
    TriviaFiller,
    answers_of,
    filler_from_spec,
    reply_of,
)
from pytest_ltm.fillers.deck import Pool
from pytest_ltm.fillers.quiz import (
    CLOSING,
    INSTRUCTION,
    answer_item,
    cost_of,
    message_of,
)

NAMES = ("cl100k_base", "o200k_base", "approx")
LIMIT = 4096
texts = st.text(st.characters(codec="utf-8"), max_size=40).map(
    lambda text: " ".join(text.split())
)
answers = texts.filter(lambda text: text and " A: " not in f" {text}")
facts = st.lists(st.builds(QuizFact, texts, answers), min_size=1, max_size=12)


def both(made: FillerExchange, counts: TokenCounter) -> int:
    return counts.count(made.message) + counts.count(made.expected_reply)


@pytest.mark.parametrize("name", NAMES)
@given(facts=facts)
def test_the_counts_of_lines_add_up_to_the_count_of_the_message(
    name: str, facts: list[QuizFact]
) -> None:
    counts = token_counter(name)
    frame = counts.count(f"{INSTRUCTION}\n{CLOSING}")
    assert counts.count(message_of(facts)) == frame + sum(
        cost_of(fact, counts).message for fact in facts
    )


@pytest.mark.parametrize("name", NAMES)
@given(facts=facts)
def test_the_counts_of_items_add_up_to_the_count_of_the_reply_but_for_its_ends(
    name: str, facts: list[QuizFact]
) -> None:
    counts = token_counter(name)
    frame = counts.count(reply_of(["x"])) - counts.count(answer_item("x"))
    costs = [cost_of(fact, counts) for fact in facts]
    added = frame + sum(cost.both - cost.message for cost in costs)
    first, last = facts[0].answer[0], facts[-1].answer[-1]
    slack = 2 * (not first.isalnum()) + 2 * (not last.isalnum())
    assert abs(counts.count(reply_of([fact.answer for fact in facts])) - added) <= slack


@given(facts=facts)
def test_the_answers_are_read_back(facts: list[QuizFact]) -> None:
    assert answers_of(message_of(facts)) == [fact.answer for fact in facts]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=share(60))
@given(
    seed=st.integers(0, 2**32),
    wanted=st.lists(st.integers(0, 3_000), min_size=1, max_size=6),
    limit=st.sampled_from([100, 600, LIMIT]),
)
def test_filler_just_reaches_what_was_asked_and_keeps_the_limit(
    name: str, seed: int, wanted: list[int], limit: int
) -> None:
    counts = token_counter(name)
    filler = TriviaFiller(Random(seed), counts)
    asked: list[str] = []
    for tokens in wanted:
        made = filler.make(tokens, limit)
        lines = made.message.split("\n")[1:-1]
        asked += lines
        assert counts.count(made.message) <= limit
        if counts.count(made.message) <= limit - 60:
            # otherwise the limit may have kept it below the target
            assert both(made, counts) >= tokens
        if len(lines) > 1:
            least = min(
                counts.count(line + "\n")
                + counts.count(answer_item(line.rpartition(" A: ")[2]))
                for line in lines
            )
            assert both(made, counts) - least < tokens
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=share(60))
@given(
    seed=st.integers(0, 2**32),
    wanted=st.lists(st.integers(0, 3_000), min_size=1, max_size=6),
    limit=st.sampled_from([40, 100, 600, LIMIT]),
)
def test_filler_of_mixed_lengths_reaches_what_was_asked_and_keeps_the_limit(
    name: str, seed: int, wanted: list[int], limit: int
) -> None:
    counts = token_counter(name)
    filler = filler_from_spec("mixed", Random(seed), counts)
    for tokens in wanted:
        left = tokens
        while left > 0:
            made = filler.make(left, limit)
            assert 0 < counts.count(made.message) <= limit
            assert counts.count(made.expected_reply) < 12
            left -= both(made, counts)
        assert left >= -30  # by the shortest message


@given(facts=facts, seed=st.integers(0, 100), tokens=st.integers(0, 2_000))
def test_any_facts_fill(facts: list[QuizFact], seed: int, tokens: int) -> None:
    counts = token_counter("cl100k_base")
    made = TriviaFiller(Random(seed), counts, Pool(facts, "test")).make(tokens, LIMIT)
    assert answers_of(made.message) == json.loads(made.expected_reply)
    assert both(made, counts) >= tokens - 4
    assert counts.count(made.message) <= LIMIT
