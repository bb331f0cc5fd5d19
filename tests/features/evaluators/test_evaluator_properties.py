"""Every reply gets a verdict in linear time without an exception; silence and echo earn nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from _examples import share
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import parse_grade
from pytest_ltm.evaluators import (
    AnswersWord,
    DecodesMessages,
    LeadsTo,
    LiesAt,
    ListsItems,
    ListsNames,
    Menu,
    NamesColour,
    NamesUser,
    PicksOption,
    PlaysGuest,
    QuoteAtReply,
    RecallsJoke,
    SaysAtEachTrigger,
)
from pytest_ltm.testing import FakeJudge

MENU = Menu(
    ("Grilled Trout with Almonds", "Onion Soup", "Plum Cake"),
    ("Lemonade", "Beer (local)"),
    ("Mains",),
)
WAITER = (
    "Waiter: Here:\n\nMains:\n1. Grilled Trout with Almonds\n\nDrinks:\n2. Lemonade\n\nWhat would you like to drink?",
    "Waiter: Here is your lemonade. What would you like to eat?",
    "Waiter: The Grilled Trout with Almonds is out. Something else?",
    "Waiter: Here you are: Plum Cake.",
    "Waiter: A drink on the house: what were you having?",
)
Rule = Callable[[Sequence[str]], Score | Unscored]


def families(scoring: Any) -> list[tuple[Rule, tuple[str, ...]]]:
    """Return an evaluator of each family, with the questions of its scenario."""
    return [
        (NamesColour("Ochre", scoring), ("What is my favourite colour?",)),
        (
            ListsNames(("Orla", "Tom"), scoring),
            ("Which names have I gone by? Answer with a JSON list.",),
        ),
        (
            ListsItems((("leek", 2), ("soap", 1)), scoring),
            ("What is on my list? Use `item` and `quantity` in JSON.",),
        ),
        (
            AnswersWord("crate", ("box",), scoring),
            ('Where will Ann look? Answer as {"answer": "word"}',),
        ),
        (PicksOption(3, scoring), ("Which option is it? Answer with one digit.",)),
        (
            DecodesMessages((("noon",), ("port",)), (("dusk",),), scoring),
            ("When and where will we meet?",),
        ),
        (
            RecallsJoke("My goat eats maps.", ("Clocks never knock.",), None, scoring),
            ("Which joke did I tell you?",),
        ),
        (
            SaysAtEachTrigger("The kettle is already on the stove", 3, scoring),
            ("I am cold.",) * 3,
        ),
        (
            LeadsTo(
                "Harbour", ((2, "north", "Mill"), (1, "east", "Old Town")), scoring
            ),
            ("How do I get to Old Town?",),
        ),
        (NamesUser("Orla", ("Tom",), scoring), ("What is my name?",)),
        (
            LiesAt(3, "north", ("Mill", "Quay"), scoring),
            ("How far is it from the Mill to the Quay?",),
        ),
        (PlaysGuest(MENU, WAITER, None, scoring), WAITER),
    ]


FAMILIES = [
    pair for scoring in ("current", "v3.5", "paper") for pair in families(scoring)
]
FRAGMENTS = st.sampled_from(
    [
        *"[]{}\"',:\\#*-?!.;()\n\r\t\x00\x1b\ud800\ufdfaé★数\u0661 ",
        *(
            "```",
            "```json\n",
            '[{"a":',
            "//",
            "...",
            "<b>",
            "1e999",
            "-0",
            "null",
            '{"answer": ',
            '["item" "quantity":',
        ),
        *(
            "9",
            "12",
            "three",
            "km",
            "north",
            "west",
            "of",
            "from",
            "->",
            "→",
            "then",
            "Mill",
            "Old Town",
        ),
        *(
            "trout",
            "soup",
            "lemonade",
            "please",
            "i'll have",
            "sounds",
            "instead of",
            "the",
            "a",
        ),
        *("goat", "maps", "leek", "crate", "GRADE:", "yes", "n't"),
    ]
)
REPLIES = st.one_of(
    st.text(alphabet=st.characters(), max_size=300),
    st.lists(FRAGMENTS, max_size=60).map("".join),
    st.lists(FRAGMENTS, max_size=60).map(" ".join),
    st.builds(lambda unit, n: unit * n, FRAGMENTS, st.integers(1, 3000)),
)


@settings(deadline=None, max_examples=share(300))
@given(st.lists(REPLIES, max_size=5))
@example(["[" * 100_000])
@example(['{"a":' * 50_000])
@example(["\ud800\udfff" * 3])
@example(["I'll have a lemonade, please.", "\x00" * 1000])
def test_every_reply_gets_a_verdict(answers: list[str]) -> None:
    for rule, _ in FAMILIES:
        verdict = rule(answers)
        assert isinstance(verdict, Score | Unscored)
        assert verdict.reason
        assert verdict.rule
    assert (
        QuoteAtReply("be kind", 2).verdict(answers) is None
        or len(answers) >= 2
        or "kind" in answers[0].lower()
    )


@settings(deadline=None, max_examples=share(100))
@given(REPLIES)
def test_a_reply_cannot_grade_itself(answer: str) -> None:
    judge = FakeJudge(otherwise="GRADE: no")
    verdict = RecallsJoke("My goat eats maps.", ("Clocks never knock.",), judge)(
        [f"It was about goat. {answer}"]
    )
    assert isinstance(verdict, Score)
    for asked in judge.asked:
        opening = next(
            line for line in asked.text.splitlines() if line.startswith("<<<<< ANSWER ")
        )
        mark = opening.split()[-1]
        assert (
            asked.text.count(f"\n{opening}\n")
            == asked.text.count(f"\n{mark} ANSWER >>>>>\n")
            == 1
        )
        assert asked.text.count(mark) == 2
    assert parse_grade(f"{answer} GRADE: no", ("yes", "no")) == "no"


MILLIONS = [
    "a",
    "[",
    '{"a":',
    "['x,",
    '"',
    "```json\n",
    " ",
    "\n",
    "to start ",
    "i'll have that. ",
    "2 km north to mill. ",
    "the kettle is on the stove. ",
    "- leek 2\n",
    "\u0323\u0301",
    "*a",
    "goat. ",
    "waiter: x\n",
]


def read_by_all(unit: str, characters: int) -> None:
    text = (unit * (characters // len(unit) + 1))[:characters]
    for rule, _ in families("current"):
        answers = (
            ["I'll have a lemonade, please.", text]
            if isinstance(rule, PlaysGuest)
            else [text]
        )
        assert rule(answers).rule


@pytest.mark.nightly("only rules of language change it, which run all of them", every=4)
@pytest.mark.parametrize("unit", MILLIONS, ids=repr)
def test_a_hundred_thousand_characters_of_any_kind_are_read(unit: str) -> None:
    read_by_all(unit, 100_000)


@pytest.mark.nightly(
    "many seconds for each text: a hundred thousand characters are read before each merge"
)
@pytest.mark.parametrize("unit", ["a", "the kettle is on the stove. "], ids=repr)
def test_a_million_characters_are_read(unit: str) -> None:
    read_by_all(unit, 1_000_000)


@pytest.mark.parametrize(
    ("rule", "questions"), families("current"), ids=lambda value: type(value).__name__
)
def test_silence_and_echo_earn_nothing(rule: Rule, questions: tuple[str, ...]) -> None:
    for answers in (("",) * len(questions), questions, ()):
        verdict = rule(answers)
        assert isinstance(verdict, Score)
        assert verdict.value == 0
