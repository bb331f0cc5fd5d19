"""The rules on answers that reword the expected one: the whole of it, a part, or another value."""

from __future__ import annotations

import pytest

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.language.meanings import (
    found_in,
    is_like,
    meaning_keys,
    misspelled_in,
)
from pytest_ltm.language.rulings.rules import (
    commits_to_neither,
    in_other_words,
    yes_or_no,
)


def said_of(
    gold: str, answer: str, question: str = "Which one is it?", *, full: bool = True
) -> str:
    ruling = in_other_words(gold, question, answer, full=full)
    return ruling.verdict if ruling else "unscored"


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("The hand-made lampshade", "A lampshade made by hand."),
        ("Mending nets and playing the tuba", "Tuba, net mending"),
        ("His mum's old bicycle", "It is the bike of his mother."),
        ("A three-legged stool", "A stool with 3 legs."),
        ("My uncle Odo", "Odo, as you told me."),
        ("Her coach, Ms Prewitt", "Her coach did."),
        ("Botany or forestry", "Forestry, I think."),
        ("Walnuts (tree nuts), because he carries a pen for it", "Tree nuts"),
        ("The Brass Heron at Quay Street", "The Brass Heron."),
        ("Norwegian Elkhound", "A Norwegien Elkhound"),
        ("The half-timbered farmhouse", "It's the half timbered farm house."),
    ],
)
def test_all_words_in_another_form_and_order_are_right(gold: str, said: str) -> None:
    assert said_of(gold, said) == "yes"


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("The semi-circular window", "The rose window."),
        ("Odo and Mirabel", "Odo"),
        ("Odo and Mirabel", "Odo and Quentin."),
        ("Odo and Mirabel", "Odo, Mirabel and Quentin."),
        ("A linen tablecloth", "A tablecloth"),
        ("A linen tablecloth", "A paper tablecloth"),
        ("The Brass Heron", "The Brass Swan"),
        ("Odo Marsh", "Quentin Lark"),
        ("A barn owl", "Either a barn owl or a kestrel."),
    ],
)
def test_another_of_the_kind_or_only_a_part_is_wrong(gold: str, said: str) -> None:
    assert said_of(gold, said) == "no"


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("Master's in Botany", "An MSc in Botany."),
        ("A linen tablecloth", "Linen napkins, a paper tablecloth"),
        ("40 words a minute", "40 wam"),
        ("Kraków and Gdynia", "Cracow and Gdynia"),
        ("Ironwood Gym", "Ironwood"),
        ("9 years older", "9 years younger"),
        ("my aunt Petronella", "Your sister came, and Petronella later."),
        ("A barn owl", "Una lechuza del granero, creo"),
        ("A barn owl", "Some cake"),
        ("Crisps", "Some potato chips"),
    ],
)
def test_what_may_mean_the_same_stays_undecided(gold: str, said: str) -> None:
    assert said_of(gold, said) == "unscored"


def test_what_is_asked_for_in_words_of_feeling_is_not_wrong_for_other_words() -> None:
    assert said_of("a peaceful mood", "Some calm", "How did she feel?") == "unscored"
    assert said_of("a peaceful mood", "Some calm", "Which did she find?") == "unscored"
    assert said_of("the Brass Heron", "the Old Mill", "Which did she find?") == "no"


def test_a_part_is_wrong_only_where_the_full_answer_is_needed() -> None:
    assert said_of("A linen tablecloth", "A tablecloth", full=False) == "unscored"
    assert said_of("Odo and Mirabel", "Odo and Quentin.", full=False) == "no"


def judged(gold: str, said: str, question: str) -> str:
    asked = {
        "question_id": "q",
        "question_type": "knowledge-update",
        "question": question,
    }
    return rule_on_hypothesis(**asked, answer=gold, hypothesis=said).verdict


@pytest.mark.parametrize(
    ("gold", "said", "expected"),
    [
        ("£30 a month", "30 £ a month.", "yes"),
        ("£30 a month", "£30 per month, which is £360 a year.", "yes"),
        ("£30 a month", "**Water:** £55\n**Garage:** £30", "yes"),
        ("£55 a month", "**Water:** £55\n**Garage:** £30", "no"),
        ("£30 a month", "Roughly £30 a month or so.", "yes"),
    ],
)
def test_the_amount_counts_that_is_of_what_is_asked_for(
    gold: str, said: str, expected: str
) -> None:
    assert judged(gold, said, "What do I pay for the garage?") == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("The price of the bike is $620. The price of the tent is $450.", "no"),
        ("First draft: $450. Final: $620.", "no"),
        ("While the tent was $620, the price of the bike is $450.", "yes"),
        ("Let me think. $620? No: $450.", "yes"),
        ("The frame cost $300 and the wheels $150, so $450 in total.", "yes"),
        ("You were offered $450 and received $620.", "unscored"),
        ("So much for $450: you paid $620 for the bike.", "unscored"),
    ],
)
def test_of_several_amounts_the_one_counts_that_is_asserted(
    said: str, expected: str
) -> None:
    assert judged("$450", said, "How much did I pay for my bike?") == expected


def test_something_in_the_place_of_what_is_over_is_wrong() -> None:
    asked = "Which language do I learn?"

    assert judged("Latvian", "You dropped Latvian for Estonian.", asked) == "no"
    assert (
        judged("Latvian", "You dropped Estonian and now learn Latvian.", asked) != "no"
    )


def test_who_is_compared_with_whom_matters() -> None:
    asked = "How much taller is Odo than Mirabel?"

    assert judged("9 cm", "Odo is 9 cm taller than Mirabel.", asked) == "yes"
    assert judged("9 cm", "Mirabel is 9 cm taller than Odo.", asked) == "no"


def test_words_of_a_name_have_no_synonyms() -> None:
    assert said_of("Biscuit", "Cookie", "What is the cat called?") == "unscored"
    assert said_of("a biscuit", "A cookie.") == "yes"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Rather unlikely.", "no"),
        ("I wouldn't think so: she is too shy.", "no"),
        ("Very likely.", "yes"),
        ("Not so far.", "no"),
        ("She did not pass it.", "no"),
        ("He could go either way.", ""),
        ("Perhaps.", ""),
    ],
)
def test_yes_and_no_are_read_in_other_words(said: str, expected: str) -> None:
    assert yes_or_no(said) == expected


def test_a_bare_perhaps_commits_to_neither() -> None:
    assert all(
        map(
            commits_to_neither,
            ["Perhaps.", "He might be.", "It depends on the weather."],
        )
    )
    assert not commits_to_neither("Perhaps, for she loves water.")


@pytest.mark.parametrize(
    ("gold", "said", "expected"),
    [
        ("June 2023", "In Jun '23.", "yes"),
        ("14 June 2023", "14/06/23", "yes"),
        ("The first week of June 2023", "1st week of June 2023", "yes"),
        (
            "The Sunday before 14 June 2023",
            "The preceding Sunday (relative to 14 June 2023).",
            "unscored",
        ),
        ("Three years before 2021 (2018)", "2018", "yes"),
        ("Three years before 2021 (2018)", "2021", "no"),
        ("2018", "Three years before 2021.", "yes"),
        ("2018", "9000 years before 2021.", "unscored"),
        ("April 2022", "A year before 9 April 2023.", "yes"),
        ("May 2022", "A month after 9 April 2022.", "yes"),
        ("2018", "2018: in 2021 they spoke of three years.", "yes"),
    ],
)
def test_times_are_read_in_other_forms(gold: str, said: str, expected: str) -> None:
    assert (
        strict_verdict(
            category=2, question="When did she go?", answer=gold, prediction=said
        ).verdict
        == expected
    )


def test_keys_of_words_are_alike_for_what_means_the_same() -> None:
    assert meaning_keys("Two mums") == meaning_keys("2 mothers")
    assert found_in(
        meaning_keys("painted doorbell"), meaning_keys("paint on the door bell")
    ) == frozenset(meaning_keys("painted"))
    assert is_like("physiotherapi", "physiotherapist")
    assert not is_like("owl", "cake")


def test_one_letter_may_be_wrong_in_a_long_word_beside_right_ones() -> None:
    assert misspelled_in(("elkhound", "norwegian"), ("norwegien", "elkhound")) == {
        "elkhound",
        "norwegian",
    }
    assert misspelled_in(("norwegian",), ("norwegien",)) == frozenset()
