"""A value named but not asserted earns nothing: as an aside, in a comparison, about others, or in a list."""

from __future__ import annotations

import random

import pytest
from _examples import share
from aside_forms import aside_forms

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.language.rulings.assertion import (
    assertion_doubt,
    leaves_out,
    settle_ruling,
)
from pytest_ltm.language.rulings.gold import Ruling, read_gold

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
    "You toyed with {gold}. {other} won.",
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
    "Hang on: {gold}.",
    "Good question. It was {gold}.",
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


@pytest.mark.parametrize(
    "reply",
    [
        "Your cat is called Biscuit. Your cat is called Marmalade.",
        "It's Biscuit. It's Marmalade.",
        "It's Marmalade. The cat that your sister has is called Biscuit.",
        "It is called Biscuit, and is Marmalade.",
        "| cat | Biscuit | Marmalade |",
        "Unlike your dog, which is Biscuit, your cat is Marmalade.",
    ],
)
def test_two_values_for_one_thing_are_no_answer(reply: str) -> None:
    assert doubt("What is my cat called?", "Biscuit", reply)


@pytest.mark.parametrize(
    "reply",
    [
        "Your cat is called Biscuit. Your dog is Marmalade.",
        "It's Biscuit. It has white paws.",
        "It was Marmalade before; now it's Biscuit.",
        "It's Biscuit instead of Marmalade.",
    ],
)
def test_what_is_said_of_something_else_or_before_is_no_second_answer(
    reply: str,
) -> None:
    assert doubt("What is my cat called?", "Biscuit", reply) == ""


def test_what_did_not_happen_until_some_time_happened_then() -> None:
    question = "When did I get to bed?"
    assert doubt(question, "2 AM", "You didn't get to bed until 2 AM.") == ""
    assert doubt(question, "2 AM", "You were in bed until 2 AM.")


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
    # another label may refer to another time
    assert doubt(question, "£30 a month", "Correction: £55\nFormer garage: £30")


def test_an_explanation_behind_the_value_is_no_rival() -> None:
    question = "Where did I spend the summer?"
    reply = "You spent it in Porto, at the harbour. It has a fine old bridge."
    assert doubt(question, "Porto", reply) == ""


COUNTED = "How many chairs did I buy?"


@pytest.mark.parametrize(
    "reply",
    [
        "You bought six chairs.",
        "2 + 4 = 6.",
        "March: 2. April: 4. 2 + 4 = 6.",
        "You've acquired six: Windsor, Thonet, Eames and three without a name.",
        "There were 2, but you bought 4 more, so six.",
    ],
)
def test_the_expected_amount_in_words_and_its_working_are_no_rivals(reply: str) -> None:
    assert doubt(COUNTED, "6", reply) == ""


@pytest.mark.parametrize(
    "reply", ["6 turned 9.", "9 exceeds 6.", "So 9; 6 was a slip.", "2 + 4 = 6; or 9."]
)
def test_another_amount_beside_the_expected_one_is_a_rival(reply: str) -> None:
    assert doubt(COUNTED, "6", reply)


def test_the_numbers_of_items_are_no_rivals() -> None:
    question = "Which towns did I visit?"
    gold, named = read_gold("Ghent, Lille", question), Ruling("yes", "names them")
    listed = settle_ruling(named, gold, question, "1) Ghent 2) Lille")
    longer = settle_ruling(named, gold, question, "1) Ghent 2) Turku 3) Lille")
    assert (listed.verdict, longer.verdict) == ("yes", "unscored")
    bulleted = settle_ruling(named, gold, question, "- Ghent\n- Lille")
    longer = settle_ruling(named, gold, question, "- Ghent\n- Turku\n- Lille")
    assert (bulleted.verdict, longer.verdict) == ("yes", "unscored")


@pytest.mark.parametrize(
    ("reply", "leaves"),
    [
        ("Ghent", True),
        ("You visited Ghent.", True),
        ("Ghent and Lille", False),
        # any of these may be the missing one
        ("Ghent and its northern neighbour", False),
        ("Ghent, among others", False),
        ("You visited both.", False),
    ],
)
def test_an_answer_all_of_whose_words_are_understood_may_leave_something_out(
    reply: str, *, leaves: bool
) -> None:
    gold = read_gold("Ghent and Lille", "Which towns did I visit?")
    assert leaves_out(gold, "Which towns did I visit?", reply) is leaves


def test_the_parts_of_a_reason_are_no_things_of_their_own() -> None:
    question = "Why did I go to Ghent?"
    gold = read_gold("To rest and to paint", question)
    assert not leaves_out(gold, question, "To rest.")


# --- All ways of naming a value as an aside, from a grammar.

OTHERS = ("Marmalade", "17 minutes", "a rye loaf", "Lisbon", "twice a week", "12")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(share(3)))
def test_hardly_a_value_passes_that_is_named_aside_in_any_way(seed: int) -> None:
    draw = random.Random(seed)
    passed, tried = [], 0
    for form in aside_forms(seed):
        for question, gold, other in ASKED:
            rival = draw.choice([other, *OTHERS])
            if rival == gold:
                continue
            reply = form.format(gold=gold, other=rival)
            tried += 2
            passed += [reply] * passes(question, gold, reply)

    assert tried > 1_400
    assert len(passed) <= 0.01 * tried


def passes(question: str, gold: str, reply: str) -> int:
    """Return by how many of the two data sets' rules an answer is right."""
    told = rule_on_hypothesis(
        question_id="q",
        question_type="multi-session",
        question=question,
        answer=gold,
        hypothesis=reply,
    )
    strict = strict_verdict(
        category=4, question=question, answer=gold, prediction=reply
    )
    return (told.verdict == "yes") + (strict.verdict == "yes")
