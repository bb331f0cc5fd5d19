"""The metrics of other benchmarks, each against values computed by hand."""

from __future__ import annotations

import math

import pytest

from pytest_ltm.evaluators import (
    chosen_letters,
    kendall_tau_b,
    match_exactly,
    match_number,
    match_phrases,
    match_substring,
    mean_claims,
    named_items,
    official_claims,
    order_score,
    pass_hat_k,
    recall_at,
)

REPLIES = {
    "a": "Tune the piano.",
    "b": "The flute that you bought.",
    "c": "Rest.",
    "d": "Sing a scale.",
}


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        ("(b)", "b"),
        ("B", "b"),
        ("b.", "b"),
        ("b) The flute that you bought.", "b"),
        ("The answer is (b).", "b"),
        ("I would take option B.", "b"),
        (r"\boxed{b}", "b"),
        ("The flute that you bought.", "b"),
        ("**(b)**", "b"),
        ("Not (a), but (b).", "b"),
        ("(b), because you sold (a)", "b"),
        ("It is B", "b"),
        ("Answer: a", "a"),
        ("Either (a) or (b)", ""),
        ("I cannot tell.", ""),
        ("A walk would do you good.", ""),
        ("", ""),
    ],
)
def test_a_choice_is_read_by_letter_or_text_in_any_wording(
    answer: str, letters: str
) -> None:
    assert chosen_letters(answer, REPLIES) == set(letters)


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        ("A and C", "AC"),
        (r"\boxed{A, C}", "AC"),
        ("(C), (A)", "AC"),
        ("A and C, not B", "AC"),
        ("B", "B"),
    ],
)
def test_several_choices_are_read_as_a_set(answer: str, letters: str) -> None:
    options = {"A": "the red lamp", "B": "the blue lamp", "C": "the green lamp"}
    assert chosen_letters(answer, options, several=True) == set(letters)


def test_matches_know_no_case_articles_and_punctuation() -> None:
    assert match_exactly("The Torne!", ["Torne"])
    assert not match_exactly("It is Torne", ["Torne"])
    assert match_substring("It is the Torne.", ["Vell", "torne"])
    assert not match_substring("It is Vell.", ["Torne"])


@pytest.mark.parametrize(
    ("answer", "ordered", "right"),
    [
        ("save; publish", False, True),
        ("publish, save", False, True),
        ("publish; save", True, False),
        (r"It is \boxed{save; publish}.", True, True),
        (r"\boxed{save; publish; delete}", False, False),
        ("First save the page, then publish it.", True, True),
        ("Publish it, after you save it.", True, False),
        ("Only save it.", False, False),
    ],
)
def test_phrases_are_matched_as_a_set_or_a_sequence(
    answer: str, ordered: bool, right: bool
) -> None:
    assert match_phrases(answer, ["save", "publish"], ordered=ordered) is right


def test_a_number_may_be_off_by_its_tolerance() -> None:
    assert match_number("about 1,240 kinds", 1238, 5)
    assert not match_number("about 1,250 kinds", 1238, 5)
    assert not match_number("many", 1238, 5)


def test_recall_at_k_looks_at_the_first_k() -> None:
    assert recall_at(["Oslo", "Turku", "Brno"], ["brno", "oslo"], 2) == 0.5
    assert recall_at(["Oslo", "Turku", "Brno"], ["brno", "oslo"], 3) == 1.0


def test_kendall_tau_b_takes_ties_into_account() -> None:
    assert kendall_tau_b([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(2 / 3)
    assert kendall_tau_b([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(6))
    assert kendall_tau_b([1, 2, 3], [3, 2, 1]) == -1
    assert kendall_tau_b([1, 1], [1, 2]) == 0


def test_an_order_is_worth_tau_times_f1() -> None:
    assert order_score([0, 1, 2], 3) == 1
    assert order_score([2, 1, 0], 3) == 0
    assert order_score([0, 1], 3) == pytest.approx(0.8)
    assert order_score([0, None, 1], 2) == pytest.approx(0.8)
    assert order_score([1, 0, 2], 3) == pytest.approx(2 / 3)
    assert order_score([], 3) == 0


def test_a_line_names_an_item_if_it_has_all_of_its_telling_words() -> None:
    items = ["The seed catalogue", "Where to begin"]
    assert named_items("1) where to begin 2) the seed catalogue", items) == [1, 0]
    assert named_items("the catalogue\nwhere to begin", items) == [None, 1]


def test_the_official_sum_drops_every_half_and_the_mean_does_not() -> None:
    assert official_claims([1.0, 0.5, 0.5, 0.0]) == 0.25
    assert mean_claims([1.0, 0.5, 0.5, 0.0]) == 0.5


def test_pass_hat_k_is_the_chance_that_k_trials_all_pass() -> None:
    assert pass_hat_k(3, 4, 1) == 0.75
    assert pass_hat_k(3, 4, 2) == 0.5
    assert pass_hat_k(3, 4, 4) == 0
    with pytest.raises(ValueError, match=r"pass\^5 needs at least 5 trials"):
        pass_hat_k(3, 4, 5)
