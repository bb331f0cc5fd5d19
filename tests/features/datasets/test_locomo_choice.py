"""Which of two choices an answer selects, however it is worded."""

from __future__ import annotations

import pytest

from pytest_ltm.datasets.locomo.strict import chosen_choice

NOT, TRAP = "Not mentioned in the conversation", "two quails"


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("a", NOT),
        ("B", TRAP),
        ("(a)", NOT),
        ("(b).", TRAP),
        ("b)", TRAP),
        ("Answer: b", TRAP),
        ("**a**", NOT),
        ("The answer is (b)", TRAP),
        ("I choose a", NOT),
        ("I would go with (a), as she never says so.", NOT),
        ("(b) two quails", TRAP),
        ("It must be option b: two quails.", TRAP),
        ("a) Not mentioned", NOT),
        ("two quails", TRAP),
        ("He sold her Two Quails!", TRAP),
        ("not mentioned in the conversation", NOT),
        ("(a), because (b) is about Ines", NOT),
        ("The correct answer is a.", NOT),
    ],
)
def test_a_choice_is_made_by_letter_or_by_text(answer: str, taken: str) -> None:
    assert chosen_choice(answer, (NOT, TRAP)) == taken


@pytest.mark.parametrize(
    "answer",
    [
        "(a) and (b)",
        "Both (a) and (b) fit.",
        "(a) Not mentioned in the conversation (b) two quails",
        "Choose one of the two: (a) Not mentioned in the conversation (b) two quails",
        "Not mentioned in the conversation, or two quails",
        "two quails / not mentioned in the conversation",
    ],
)
def test_whoever_takes_both_has_chosen_none(answer: str) -> None:
    assert chosen_choice(answer, (NOT, TRAP)) == ""


@pytest.mark.parametrize(
    "answer",
    ["", "A cello.", "It was never mentioned.", "a cello", "I had two quail eggs"],
)
def test_an_answer_that_takes_neither_stays_as_it_is(answer: str) -> None:
    assert chosen_choice(answer, (NOT, TRAP)) == answer


def test_to_say_at_length_that_the_trap_is_not_there_is_no_choice_of_both() -> None:
    answer = "It is not mentioned in the conversation that he ever had any such thing as two quails."

    assert chosen_choice(answer, (NOT, TRAP)) == answer


def test_a_letter_inside_a_sentence_is_no_choice() -> None:
    trap = "He had to take a break."

    assert chosen_choice(trap, (NOT, trap)) == trap
    assert (
        chosen_choice("No information available.", (NOT, "No"))
        == "No information available."
    )


def test_where_the_trap_is_part_of_the_right_choice_the_longer_text_is_taken() -> None:
    assert chosen_choice(NOT, ("Not mentioned", NOT)) == NOT


def test_without_choices_a_letter_is_an_answer() -> None:
    assert chosen_choice("a", ()) == "a"
