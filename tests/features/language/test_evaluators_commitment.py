"""The value a reply settles on: the rules shared by the evaluators of single values."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_ltm.language.clauses import normalize_text
from pytest_ltm.language.commitment import (
    asserted_mentions,
    committed_values,
    find_mentions,
    is_alternative,
    is_misspelt,
    is_retracted,
    last_word,
)
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech

COLOURS = partial(find_mentions, names=("teal", "ochre", "dark teal"))


@pytest.mark.parametrize(
    ("reply", "settled"),
    [
        ("Teal.", {"teal"}),
        ("It is ochre, not teal.", {"ochre"}),
        ("Your favourite was teal. Now it is ochre.", {"ochre"}),
        ("It used to be teal; ochre now.", {"ochre"}),
        ("Teal came first, then you said ochre.", {"ochre"}),
        ("Earlier: teal. Now: ochre.", {"ochre"}),
        ("Teal is out of date, it's ochre.", {"ochre"}),
        ("Not sure, maybe teal.", {"teal"}),
        ("I'm not sure, but I'd go with teal.", {"teal"}),
        ("None of the above, so teal it is not.", set()),
        ("None of these fits, so my answer is ochre.", {"ochre"}),
        ("I'm not sure whether it's teal.", set()),
        ("I don't know. You told me about teal and ochre.", {"teal", "ochre"}),
        ("Teal or ochre.", {"teal", "ochre"}),
        ("Either teal or something else.", set()),
        ("Teal and ochre.", {"teal", "ochre"}),
        ("Teal... no, ochre.", {"ochre"}),
        ("Let me think: teal, ochre.\n\nochre", {"ochre"}),
        ("teal \u2192 ochre", {"ochre"}),
        ("It is dark teal.", {"dark teal"}),
        ("", set()),
        ("Blue.", set()),
        ("<think>Teal? No.</think>Ochre.", {"ochre"}),
        ("Teal?</think> Ochre.", {"ochre"}),
        ("~~Teal~~ ochre", {"ochre"}),
    ],
)
def test_a_reply_settles_on_what_it_decides_for(reply: str, settled: set[str]) -> None:
    assert committed_values(normalize(speech(reply)), COLOURS) == settled


@pytest.mark.parametrize(
    ("word", "alike"),
    [
        ("yellow", False),  # it is the word itself
        ("yelow", True),
        ("yelllow", True),
        ("yallow", True),
        ("yellwo", True),
        ("yellop", True),
        ("bellow", False),
        ("yallaw", False),
        ("yelow s", False),
        ("yell", False),
    ],
)
def test_a_slip_of_one_letter_is_the_same_word(word: str, alike: bool) -> None:
    assert is_misspelt(word, "yellow") is alike


def test_short_words_are_hardly_misspelt() -> None:
    assert not is_misspelt("ochr", "ochre")
    assert not is_misspelt("ocher", "ochre")
    assert is_misspelt("ochrse", "ochres")
    assert is_misspelt("ochrs", "ochres")


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("teal or ochre", [True, True]),
        ("either teal", [True]),
        ("teal and ochre", [False, False]),
    ],
)
def test_one_of_two_is_no_answer(text: str, both: list[bool]) -> None:
    assert [is_alternative(text, colour) for colour in COLOURS(text)] == both


def test_what_is_taken_back_at_once_is_not_meant() -> None:
    text = normalize_text("Teal... no, wait: ochre.")
    assert [is_retracted(text, colour) for colour in COLOURS(text)] == [True, False]


def test_a_correction_counts_only_where_it_says_something() -> None:
    def says(part: str) -> bool:
        return bool(COLOURS(normalize_text(part)))

    assert last_word("Teal. Sorry, I meant ochre.", says).strip(" ,") == "ochre."
    assert (
        last_word("Teal. Sorry, I forget a lot.", says)
        == "Teal. Sorry, I forget a lot."
    )


def test_what_is_listed_behind_a_denial_is_denied_as_well() -> None:
    text = normalize_text("not teal, ochre or dark teal")
    assert asserted_mentions(text, COLOURS) == []
    assert [
        mention.value
        for mention in asserted_mentions(normalize_text("teal, not ochre"), COLOURS)
    ] == ["teal"]


def test_what_was_so_is_claimed_only_where_that_is_asked_for() -> None:
    text = normalize_text("It was teal.")
    assert [mention.value for mention in asserted_mentions(text, COLOURS)] == []
    assert [
        mention.value for mention in asserted_mentions(text, COLOURS, formerly=True)
    ] == ["teal"]


def test_a_longer_name_hides_the_shorter_one_in_it() -> None:
    assert [colour.value for colour in COLOURS("dark teal, and teal")] == [
        "dark teal",
        "teal",
    ]
