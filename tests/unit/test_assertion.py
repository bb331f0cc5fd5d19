"""A value that an answer names and does not assert earns nothing: aside, in comparison, of others, one of a list."""

from __future__ import annotations

import pytest

from pytest_ltm.language.rulings.assertion import assertion_doubt
from pytest_ltm.language.rulings.gold import read_gold

ASKED = (
    ("What is my cat called?", "Biscuit", "Marmalade"),
    ("Where did I spend the summer?", "in Porto", "in Turku"),
    ("How many chairs did I buy?", "6", "9"),
    ("How long did the repair take?", "45 minutes", "3 hours"),
    ("What did I cook on Sunday?", "a leek soup", "a rye loaf"),
    ("Which instrument do I play now?", "the oboe", "the cello"),
)
WRONG = (
    "It was {other} ({gold} was for somebody else).",
    "{other} [not to be confused with {gold}].",
    "It was {other}, although you considered {gold}.",
    "While {gold} was discussed, the answer is {other}.",
    "Despite what you said of {gold}, it was {other}.",
    "More {other} than {gold}.",
    "{other}, as opposed to {gold}.",
    "You named {other}, a few others and {gold}.",
    "You talked about {gold} as well as {other}.",
    "These came up: {gold}; {other}; others.",
    "{gold}, {other}, and so on.",
    "It was {other}; {gold} is what your sister said.",
    "For your neighbour it was {gold}. For you, {other}.",
    "At first {gold}, but in the end {other}.",
    "First {other}, then {gold}.",
    "{other}; {gold} came afterwards.",
    "{other}, I'd say; {gold} is possible too.",
    "{gold}? No, {other}.",
    "{gold} would be wrong; it is {other}.",
    "You had wanted {gold}. It turned out to be {other}.",
    "{gold} is the answer to another question; here it is {other}.",
)
RIGHT = (
    "{gold}",
    "It was {gold}.",
    "The answer is {gold}.",
    "You told me that it was {gold}.",
    "It was {gold}, not {other}.",
    "It was {gold} ({other} was another time).",
    "According to our chats, {gold}.",
    "It was {gold}, as you said in May.",
    "From what you told me earlier, the answer would be {gold}.",
    "{gold} is the answer.",
    "It was {gold} rather than {other}.",
)


def doubt(question: str, gold: str, reply: str) -> str:
    return assertion_doubt(read_gold(gold, question), question, reply)


@pytest.mark.parametrize("form", WRONG)
@pytest.mark.parametrize(("question", "gold", "other"), ASKED)
def test_what_is_named_and_not_asserted_is_no_answer(
    question: str, gold: str, other: str, form: str
) -> None:
    assert doubt(question, gold, form.format(gold=gold, other=other))


@pytest.mark.parametrize("form", RIGHT)
@pytest.mark.parametrize(("question", "gold", "other"), ASKED)
def test_what_is_asserted_is_an_answer_whatever_stands_aside(
    question: str, gold: str, other: str, form: str
) -> None:
    assert doubt(question, gold, form.format(gold=gold, other=other)) == ""


def test_the_name_of_something_else_is_no_answer() -> None:
    question = "What is my cat called?"
    reply = "Your cat is called Marmalade. Biscuit is the name of your dog."
    assert doubt(question, "Biscuit", reply)
    assert doubt(question, "Marmalade", reply) == ""


def test_words_of_doubt_that_the_question_has_make_none() -> None:
    question = "What did I want before I bought the kayak?"
    assert doubt(question, "a canoe", "You wanted a canoe before you bought it.") == ""
    assert doubt("What do I own?", "a canoe", "You wanted a canoe.")


def test_rows_of_other_things_above_the_one_that_is_asked_for_are_no_rivals() -> None:
    question = "What do I pay for the garage?"
    above = "**Water:** £55\n**Garage:** £30"
    assert doubt(question, "£30 a month", above) == ""
    assert doubt(question, "£55 a month", above)
    # another label may be of another time
    assert doubt(question, "£30 a month", "Correction: £55\nFormer garage: £30")


def test_an_explanation_behind_the_value_is_no_rival() -> None:
    question = "Where did I spend the summer?"
    reply = "You spent it in Porto, at the harbour. It has a fine old bridge."
    assert doubt(question, "Porto", reply) == ""
