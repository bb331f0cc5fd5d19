"""What an answer proves: the value it asserts, a refusal, a hedge, a recital, or nothing clear."""

from __future__ import annotations

import pytest

from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.proof import prove, tells_nothing_new
from pytest_ltm.language.recital import ToldReply
from pytest_ltm.language.values import Sameness, compare_values, differs_in_sign

VALUES = ("jade", "cobalt", "apricot")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Jade.", "jade"),
        ("It's jade (before that apricot and, earlier still, cobalt).", "jade"),
        ("jade, although you liked cobalt at school", "jade"),
        ("apricot → cobalt → jade. So: jade.", "jade"),
        ("You used to like cobalt, now it's jade.", "jade"),
        ("Cobalt, not jade.", "cobalt"),
        ("Unless I'm mistaken, it is jade.", "jade"),
        ("I keep a note that it is jade.", "jade"),
        ("First apricot. The latest is cobalt.", "cobalt"),
    ],
)
def test_an_answer_asserts_what_it_does_not_set_aside(answer: str, value: str) -> None:
    proof = prove(normalize(answer), VALUES)

    assert (proof.state, proof.value) == ("asserts", value)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("It is jade, or maybe cobalt by now.", "hedges"),
        ("jade or cobalt", "hedges"),
        ("- jade\n- cobalt\n- apricot", "hedges"),
        ("Either jade or an elephant.", "hedges"),
        ("I don't know.", "refuses"),
        ("NOT_FOUND", "refuses"),
        ("It was not jade.", "refuses"),
        ("You can tell me something like: my favourite colour is jade.", "refuses"),
        ("", "refuses"),
        ("It is a deep green.", "asserts"),
    ],
)
def test_a_zero_is_proven_for_any_expected_value(answer: str, state: str) -> None:
    proof = prove(normalize(answer), VALUES)

    assert proof.state == state
    assert [proof.answers(value) for value in VALUES] == [False] * len(VALUES)


@pytest.mark.parametrize(
    "answer",
    [
        "你最喜欢玉色。",
        "Normally jade; cobalt only in the holidays.",
        "My boss's van is jade.",
    ],
)
def test_what_is_unclear_stays_open(answer: str) -> None:
    assert prove(answer, VALUES).answers("jade") is None


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("mira 15", "mira15"),
        ("the window seat", "by the window"),
        ("two kettles", "kettle"),
        ("the harbor", "harbour"),
    ],
)
def test_a_value_is_recognised_in_other_forms(answer: str, value: str) -> None:
    assert prove(answer, (value, "giza32")).answers(value)


def test_a_long_value_may_be_said_in_other_words() -> None:
    assert (
        prove(
            "You sold it so that you could pay for a trip.",
            ("to pay for the long journey home",),
        ).answers("")
        is False
    )
    assert (
        prove(
            "You sold it to fund a trip.", ("to pay for the long journey home",)
        ).state
        == "unclear"
    )


@pytest.mark.parametrize(
    ("answer", "nothing"),
    [
        ("I can't share that.", True),
        ("You asked me not to bring that up again.", True),
        ("Only Ida may hear it.", None),
        ("You're allergic to nuts.", False),
        ("", False),
    ],
)
def test_an_answer_withholds_if_it_refuses_and_is_open_if_it_may(
    answer: str, nothing: bool | None
) -> None:
    assert tells_nothing_new(answer) is nothing


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LPG", "Liquid Petroleum Gas"),
        ("e-mail", "Email"),
        ("Jørgen", "Jorgen"),
        ("Mueller", "Müller"),
        ("4x a week", "four times a week"),
        ("at seven in the evening", "7 PM"),
        ("a mix of oak and ash", "oak and ash"),
    ],
)
def test_two_forms_are_one_value(one: str, other: str) -> None:
    assert compare_values(one, other) is Sameness.SAME
    assert compare_values(other, one) is Sameness.SAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C#"),
        ("A-", "A+"),
        ("O+", "O-"),
        ("3.10", "3.1"),
        ("not red", "red"),
        ("before May", "after May"),
        ("£20", "$20"),
    ],
)
def test_what_distinguishes_two_values_is_not_dropped(one: str, other: str) -> None:
    assert compare_values(one, other) is not Sameness.SAME


def test_a_known_word_with_another_sign_is_another_value() -> None:
    assert differs_in_sign("I write C#.", "C++")
    assert not differs_in_sign("I write C++.", "C++")
    assert not differs_in_sign("I write Ada.", "C++")


_TOLD = (
    "As of this spring the colour that I like best is jade.",
    "Put down apricot for me from now on, it suits the hall.",
    "I dreamt of a cobalt sky, nothing more.",
)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (
            "This spring the colour that you like best is jade; put down apricot for me from now on.",
            "recites",
        ),
        (
            '"Put down apricot for me from now on" came after "the colour that I like best is jade".',
            "unclear",
        ),
        ("The colour that you like best is jade. Not apricot.", "asserts"),
        (
            "First the colour that I like best is jade, then put down apricot for me from now on. So: jade.",
            "asserts",
        ),
    ],
)
def test_who_repeats_five_words_in_a_row_of_two_messages_recites(
    answer: str, state: str
) -> None:
    values = ("jade", "apricot", "cobalt")
    assert (prove(ToldReply(answer, _TOLD), values).state == "recites") is (
        state == "recites"
    )
    assert prove(answer, values).state != "recites"


def test_a_conclusion_that_the_user_drew_word_for_word_is_recited() -> None:
    told = (
        "On Sundays I take the train to the office, I can't help it.",
        "You know, I take the ferry to the office.",
    )
    recited = ToldReply(f"{told[1]} It takes two tries. {told[0]}", told)
    assert prove(recited, ("ferry", "train")).state == "recites"
    own = ToldReply(f"{told[1]} {told[0]} So you take the ferry.", told)
    assert prove(own, ("ferry", "train")).value == "ferry"


def test_what_is_recited_far_apart_is_recited_too() -> None:
    told = (
        "Guess my favourite colour: wrong, it's cobalt.",
        "Actually, jade is my favourite these days.",
    )
    flood = " ".join(f"Somebody moved the printer on day {day}." for day in range(40))
    assert (
        prove(ToldReply(f"{told[0]} {flood} {told[1]} {flood}", told), VALUES).state
        == "recites"
    )
