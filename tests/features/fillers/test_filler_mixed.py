"""Filler of mixed lengths: short questions, remarks, occasionally a page; together they just reach the gap."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from pytest_ltm.agents.reader import ABILITIES, IncomingTurn, ReaderNotebook
from pytest_ltm.api.model import Filler, FillerExchange, TokenCounter, token_counter
from pytest_ltm.api.storage import FillerError
from pytest_ltm.fillers import filler_from_spec
from pytest_ltm.fillers._mixed import BANDS, FRAMES, REPLIES, VERSION
from pytest_ltm.fillers.knowledge import arithmetic_facts, known_facts

LIMIT = 4096
CL100K = token_counter("cl100k_base")
ANSWERS = dict(known_facts())


def new(seed: int = 0, counts: TokenCounter = CL100K) -> Filler:
    return filler_from_spec("mixed", Random(seed), counts)


def filled(
    tokens: int, seed: int = 0, counts: TokenCounter = CL100K
) -> Iterator[FillerExchange]:
    """Yield the filler exchanges that a conversation would use for a gap."""
    filler = new(seed, counts)
    while tokens > 0:
        made = filler.make(tokens, LIMIT)
        tokens -= counts.count(made.message) + counts.count(made.expected_reply)
        yield made


def size(made: FillerExchange) -> int:
    return CL100K.count(made.message) + CL100K.count(made.expected_reply)


def body(message: str) -> str:
    """Return a remark without its frame, or a question unchanged."""
    for frame in FRAMES:
        if (
            message.startswith(frame.head)
            and message.endswith(frame.tail)
            and (frame.tail or message[-1] == ".")
        ):
            return message[len(frame.head) : len(message) - len(frame.tail)]
    return message


def asked(message: str) -> list[str]:
    return [line.rpartition("?")[0] + "?" for line in body(message).split("\n")]


@pytest.mark.slow
def test_the_shares_of_lengths_are_those_that_are_meant() -> None:
    lengths = [CL100K.count(made.message) for made in islice(filled(10**6), 4000)]
    assert sum(share for share, *_ in BANDS) == pytest.approx(1)
    for share, least, most in BANDS:
        found = sum(least <= length <= most for length in lengths) / len(lengths)
        assert found == pytest.approx(share, abs=0.07)


def test_changed_texts_need_a_new_version() -> None:
    texts = [[made.message, made.expected_reply] for made in filled(3000)]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    assert (VERSION, digest[:12]) == (1, "85e6d72eae93")


def test_no_exchange_but_the_last_comes_near_the_end_of_the_gap() -> None:
    *others, _ = (size(made) for made in filled(5000))
    assert len(others) > 60
    assert sum(others) < 5000


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [15, 40, 150, 700, 3000])
def test_a_gap_is_just_reached(tokens: int) -> None:
    over = [sum(map(size, filled(tokens, seed))) - tokens for seed in range(40)]
    assert min(over) >= 0
    assert sum(over) / len(over) < 4
    assert max(over) <= 15


def test_the_limit_of_messages_is_kept_and_one_that_no_question_keeps_is_an_error() -> (
    None
):
    filler = new()
    lengths = [CL100K.count(filler.make(10**6, 60).message) for _ in range(300)]
    assert max(lengths) <= 60
    assert sum(length > 40 for length in lengths) > 10
    with pytest.raises(
        FillerError, match="mixed filler does not fit into messages of 3 tokens"
    ):
        filler.make(500, 3)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("mixd", "Did you mean 'mixed'"),
        ("mixed:quiz.json", "takes no more. Write 'mixed'"),
    ],
)
def test_a_spec_that_is_nearly_right_is_told(spec: str, told: str) -> None:
    with pytest.raises(FillerError, match=told):
        filler_from_spec(spec, Random(0), CL100K)


def test_zero_asks_for_one_short_question() -> None:
    made = new().make(0, LIMIT)
    assert made.message.count("?") == 1
    assert size(made) <= 12


@pytest.mark.slow
def test_what_is_said_is_true_and_no_question_comes_twice() -> None:
    filler = new(3)
    sums = {}
    questions: Counter[str] = Counter()
    for made in (filler.make(10**6, LIMIT) for _ in range(3000)):
        questions.update(asked(made.message))
        if made.message.endswith("?"):
            sums[made.message] = made.expected_reply
        else:
            assert made.expected_reply in REPLIES
            sums.update(
                re.findall(r"^(.*\?) (.*)\.$", body(made.message), re.MULTILINE)
            )
    assert questions.most_common(1)[0][1] == 1
    assert sums.keys() == questions.keys()
    known = sums.keys() & ANSWERS.keys()
    assert len(known) > 2500
    assert {question: sums[question] for question in known} == {
        question: ANSWERS[question] for question in known
    }
    # arithmetic
    assert all(re.search(r"\d", question) for question in sums.keys() - known)


@pytest.mark.slow
def test_arithmetic_goes_on_where_no_fact_is_left() -> None:
    filler = new()
    for _ in range(13_000):
        last = filler.make(10**6, LIMIT)
    some = {
        re.sub(r"\d+", "#", fact.question)
        for fact, _ in islice(arithmetic_facts(Random(0), CL100K), 50)
    }
    assert {re.sub(r"\d+", "#", question) for question in asked(last.message)} <= some


def test_the_same_seed_makes_the_same_and_another_another() -> None:
    assert list(filled(900, 1)) == list(filled(900, 1))
    assert list(filled(900, 1)) != list(filled(900, 2))
    assert new(1).configuration() == new(2).configuration()


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
def test_the_embedded_reader_keeps_nothing_of_it(told: bool) -> None:
    notes = ReaderNotebook(lambda _: True)
    replies = Counter[str]()
    for place, made in enumerate(filled(20_000), start=1):
        turn = IncomingTurn(
            text=made.message,
            position=place,
            now=None,
            told=told,
            reply=made.expected_reply if told else "",
        )
        replies[
            next(
                r
                for ability in ABILITIES
                if (r := ability.respond(turn, notes)) is not None
            )
        ] += 1
    assert notes.lines() == []
    assert replies.keys() == ({"Noted.", ""} if told else {"Noted.", "I do not know."})


def test_a_remark_on_a_quiz_is_no_place_to_hide_a_needle_from_the_reader() -> None:
    notes = ReaderNotebook(lambda _: True)
    for text in (
        "I won the quiz: my prize is a kettle.",
        "Our quiz team has a name: it is Owls. Do you like it?",
    ):
        turn = IncomingTurn(text=text, position=1, now=None)
        next(
            r
            for ability in ABILITIES
            if (r := ability.respond(turn, notes)) is not None
        )
    assert len(notes.lines()) == 1
