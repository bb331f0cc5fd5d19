"""The default filler: lengths, beginnings and kinds change, and there are no more exchanges than with quizzes alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._model.tokens import counter
from pytest_ltm._storage.errors import FillerError
from pytest_ltm.agents.reader import ABILITIES, IncomingTurn, ReaderNotebook
from pytest_ltm.fillers import answers_of, filler_from_spec
from pytest_ltm.fillers._quiz import INSTRUCTIONS
from pytest_ltm.fillers._varied import VERSION
from pytest_ltm.plugin.options import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._model.filler import Filler, FillerExchange

LIMIT = 4096
CL100K = counter("cl100k_base")
GAPS = (60, 150, 350, 700, 1200, 2200, 3400, 4800, 9000) * 4


def new(seed: int = 0, spec: str = "varied") -> Filler:
    return filler_from_spec(spec, Random(seed), CL100K)


def size(made: FillerExchange) -> int:
    return CL100K.count(made.message) + CL100K.count(made.expected_reply)


def filled(seed: int = 0, spec: str = "varied") -> Iterator[FillerExchange]:
    """Yield what a conversation would say for the gaps."""
    filler = new(seed, spec)
    for left in GAPS:
        while left > 0:
            made = filler.make(left, LIMIT)
            left -= size(made)  # noqa: PLW2901 - the gap is used up
            yield made


def row(made: FillerExchange) -> re.Match[str] | None:
    return re.fullmatch(r"(First|Binary|Hex)[^\d\n]*(\d+)[^\d\n]*", made.message)


def test_it_is_the_default() -> None:
    assert DEFAULTS["ltm_filler"] == "varied"


def test_changed_texts_need_a_new_version() -> None:
    texts = [[made.message, made.expected_reply] for made in filled()]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    assert (VERSION, digest[:12]) == (2, "86be44d695b6")


def test_messages_differ_in_beginning_kind_and_length() -> None:
    made = list(filled())
    assert len({one.message[:30] for one in made}) > 12
    lists = sum(row(one) is not None for one in made)
    quizzes = sum(answers_of(one.message) is not None for one in made)
    assert min(lists, quizzes, len(made) - lists - quizzes) >= 1
    assert {made.message.split("\n")[0] for made in made if answers_of(made.message)} <= set(INSTRUCTIONS)


def test_a_request_of_a_few_words_is_answered_by_a_long_list_and_the_first_comes_at_once() -> None:
    requests = [made for made in filled() if row(made)]
    assert row(new().make(2000, LIMIT))
    for made in requests:
        match = row(made)
        assert match is not None
        assert CL100K.count(made.message) <= 7
        assert len(made.expected_reply.split(", ")) == int(match[2])


def test_lists_come_in_all_lengths_and_two_of_each() -> None:
    lengths = Counter(len(f"{size(made) - 3:b}") for made in filled() if row(made))
    assert lengths == dict.fromkeys(range(8, 14), 2)  # GAPS has none of 64 to 127 tokens but one of 60


@pytest.mark.slow
@pytest.mark.parametrize("budget", [4_000, 8_000])
def test_the_shortest_messages_leave_next_to_no_room_for_more(budget: int) -> None:
    left = budget
    for made in sorted(filled(), key=lambda made: CL100K.count(made.message)):
        left -= size(made) if size(made) <= left else 0
    assert left < 150


@pytest.mark.parametrize(
    ("begins", "third"),
    [
        ("First {} squares", "9"),
        ("First {} cubes", "27"),
        ("First {} even numbers", "6"),
        ("First {} odd numbers", "5"),
        ("First {} triangular numbers", "6"),
        ("First {} ordinals", "3rd"),
        ("First {} Roman numerals", "III"),
        ("Binary up to", "11"),
        ("Hex up to", "3"),
    ],
)
def test_lists_are_right(begins: str, third: str) -> None:
    made = (new(seed).make(900, LIMIT) for seed in range(200))
    shape = re.escape(begins).replace(r"\{\}", r"\d+")
    found = next(one for one in made if re.match(shape, one.message))
    assert found.expected_reply.split(", ")[2] == third


@pytest.mark.slow
def test_it_takes_no_more_exchanges_than_quizzes_alone() -> None:
    taken = {spec: sum(len(list(filled(seed, spec))) for seed in range(5)) for spec in ("varied", "trivia")}
    assert taken["varied"] <= 1.02 * taken["trivia"]


def test_the_limit_of_messages_is_kept_and_one_that_no_question_keeps_is_an_error() -> None:
    filler = new()
    assert max(CL100K.count(filler.make(3000, 90).message) for _ in range(50)) <= 90
    with pytest.raises(FillerError, match="does not fit into messages of 3 tokens"):
        new().make(50, 3)


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
def test_the_embedded_reader_keeps_nothing_of_it(told: bool) -> None:
    notes = ReaderNotebook(lambda _: True)
    for place, made in enumerate(filled(), start=1):
        turn = IncomingTurn(
            text=made.message, position=place, now=None, told=told, reply=made.expected_reply if told else ""
        )
        reply = next(r for ability in ABILITIES if (r := ability.respond(turn, notes)) is not None)
        assert told or (reply == made.expected_reply) is (answers_of(made.message) is not None)
    assert notes.lines() == []
