"""Rule-based verdicts on answers in everyday forms: what is not understood is open, neither right nor wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.datasets.locomo.strict import strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.language.rulings.gold import Ruling

FOLDER = Path(__file__).parents[2] / "labelled" / "everyday_forms"

ROW = {"id": "q", "type": "single-session-user"}


def rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def ruling_of(row: dict[str, Any], *, is_locomo: bool) -> Ruling:
    if is_locomo:
        return strict_verdict(
            category=4,
            question=row["question"],
            answer=row["answer"],
            prediction=row["hypothesis"],
        )
    return rule_on_hypothesis(
        question_id=row["id"],
        question_type=row["type"],
        question=row["question"],
        answer=row["answer"],
        hypothesis=row["hypothesis"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_locomo", [False, True])
@pytest.mark.parametrize(
    ("name", "false_passes", "false_zeros", "decided"),
    [
        ("first", 3, 1, 0.45),
        ("second", 2, 2, 0.33),
        ("third", 1, 2, 0.4),
        ("fourth", 1, 1, 0.4),
        ("fifth", 1, 0, 0.55),
    ],
)
def test_hardly_an_answer_is_decided_wrongly(
    name: str, false_passes: int, false_zeros: int, decided: float, *, is_locomo: bool
) -> None:
    found = Counter(
        (ruling_of(row, is_locomo=is_locomo).verdict, row["label"])
        for row in rows(name)
    )

    assert found["yes", False] <= false_passes
    assert found["no", True] <= false_zeros
    unscored = found["unscored", False] + found["unscored", True]
    assert unscored <= (1 - decided) * found.total()


@pytest.mark.parametrize(
    ("question", "answer", "reply", "expected"),
    [
        ("How much was the pen?", "$1.50", "It cost a dollar fifty.", "yes"),
        ("How much was the pen?", "$3.50", "three dollars and fifty cents", "yes"),
        ("How tall am I?", "185 cm", "1m85", "yes"),
        ("What is my blood pressure?", "120/80", "120 over 80", "yes"),
        ("What share was left?", "1/3", "33 %", "yes"),
        ("How much was the pen?", "£2.50", "two quid fifty", "unscored"),
        ("When do I get up?", "7:30 am", "Half seven in the morning.", "unscored"),
        ("How tall is he?", "6'1\"", "six one", "yes"),
        ("How tall is he?", "6'1\"", "six two", "unscored"),
        ("Which room was it?", "Room 304", "Three-oh-four.", "yes"),
        ("How high was the fever?", "39.5 °C", "thirty-nine point five", "yes"),
        ("How far was it?", "5 miles", "Roughly 8 kilometres.", "yes"),
        ("How far was it?", "5 miles", "Roughly 9 kilometres.", "unscored"),
        ("How fast was I?", "68 mph", "Sixty-eight miles an hour.", "yes"),
        ("When did it start?", "14:00", "at 1400 hours", "yes"),
        ("How big is the plot?", "250 square meters", "250 m²", "yes"),
        ("How long was it?", "10 years", "It's been a decade now.", "yes"),
        ("What did it cost?", "$250,000", "A quarter of a million dollars.", "yes"),
        ("By what margin did we lose?", "one goal", "By three goals.", "no"),
        ("Who painted it?", "Ann Lee", "It shows Ann Lee.", "unscored"),
        ("What do I snack on?", "crisps", "Potato chips, mostly.", "unscored"),
        ("Is Ann a vegetarian?", "Yes", "Ann eats neither meat nor fish.", "unscored"),
        ("What am I?", "Software Engineer", "A programmer in Berlin.", "unscored"),
        ("Does Ann drive?", "No", "She doesn't.", "yes"),
        ("Did I sell my car?", "No", "You haven't sold it.", "yes"),
        ("Did I sell my car?", "Yes", "You haven't sold it.", "no"),
        ("When does the shift end?", "4 PM", "The shift begins at 4 PM.", "unscored"),
        ("What is its chip?", "You did not mention it.", "I can't tell.", "yes"),
        ("What is its chip?", "You did not mention it.", "It is 977 A.", "no"),
        ("Where do I work?", "the Netherlands", "You work in Portugal.", "no"),
        ("Who called?", "Ann Lee", "Bo Marsh called.", "no"),
        (
            "How much was it?",
            "€1,299",
            "Just under thirteen hundred euros.",
            "unscored",
        ),
        ("How many brothers do I have?", "2", "You have two sisters.", "unscored"),
        ("How many songs did I learn?", "4", "All but one.", "unscored"),
        (
            "What do I owe my brother?",
            "$400",
            "Your brother owes you $400.",
            "unscored",
        ),
        ("How was my coffee?", "black without sugar", "Black, one sugar.", "unscored"),
        (
            "When did I send the draft?",
            "May 2",
            "The draft was lost May 2.",
            "unscored",
        ),
        (
            "Which days is it open?",
            "Tuesday to Saturday",
            "Tuesday and Saturday only.",
            "unscored",
        ),
        ("Where did I lose it?", "at the gym", "On the way to the gym.", "unscored"),
        (
            "Where is the key?",
            "under the blue flowerpot",
            "Beneath the blue plant pot.",
            "unscored",
        ),
        (
            "Who came with me?",
            "Ann and Sol",
            "Ann came, but Sol couldn't make it.",
            "unscored",
        ),
        (
            "How many of us came?",
            "12 boys and 9 girls",
            "There were 9 boys and 12 girls.",
            "unscored",
        ),
        ("Where did I come in the race?", "third", "Third from last.", "unscored"),
        (
            "How long ago did I stop?",
            "5 years ago",
            "You smoked for 5 years.",
            "unscored",
        ),
        (
            "How many pages did I read in total?",
            "120",
            "You read 120 pages per day.",
            "unscored",
        ),
        (
            "How many tickets do I have left?",
            "2",
            "Six, less the four that you sold.",
            "unscored",
        ),
        (
            "Who is left-handed?",
            "Emil",
            "Jo writes with the right hand. Emil uses his left.",
            "unscored",
        ),
        ("Which team do I support?", "Manchester United", "Man Utd", "unscored"),
        (
            "Which happened first, my move or my promotion?",
            "the promotion",
            "You were promoted before you moved.",
            "unscored",
        ),
        ("Who is older, Dot or Vi?", "Vi", "Dot is the younger.", "unscored"),
        ("What year was it?", "2009", "'09", "yes"),
        ("What year was it?", "2009", "It was an '08.", "no"),
        ("What did she get?", "A*", "an A-star", "yes"),
        ("What did he get?", "B+", "A B minus.", "no"),
        ("How did I rate it?", "4/5", "Four stars out of five.", "unscored"),
        ("What is the PIN?", "4071", "four zero seven one", "yes"),
        ("How much is in bonds?", "Two-thirds", "Two thirds of it.", "yes"),
        ("How much is in bonds?", "Two-thirds", "Two.", "no"),
        (
            "How often do I swim?",
            "3 times a week",
            "Mondays and Fridays, every week.",
            "unscored",
        ),
        ("What is my current rate?", "4.2 %", "My old rate was 4.2 %.", "unscored"),
        ("How cold was it?", "-18 °C", "A mild eighteen degrees Celsius.", "no"),
        (
            "How much did the frost take?",
            "a third",
            "Two thirds of it, sadly.",
            "no",
        ),
        (
            "How big is it?",
            "180 cm wide, 120 cm tall",
            "120 wide by 180 tall.",
            "unscored",
        ),
        ("Which size do I wear?", "XXL", "XL", "unscored"),
        ("How much was the pen?", "$1.50", "It cost two dollars.", "no"),
        ("How tall am I?", "185 cm", "1m75", "no"),
        ("How many brothers do I have?", "2", "You have three brothers.", "no"),
    ],
)
def test_a_value_is_another_only_if_its_form_is_known(
    question: str, answer: str, reply: str, expected: str
) -> None:
    row = {**ROW, "question": question, "answer": answer, "hypothesis": reply}
    assert ruling_of(row, is_locomo=False).verdict == expected


SEAT = ("Do I prefer the aisle or the window seat?", "aisle")
CAR = ("Would Dave prefer a Dodge Charger or a Subaru Forester?", "Dodge Charger")


@pytest.mark.parametrize("is_locomo", [False, True])
@pytest.mark.parametrize(
    ("question", "answer", "reply", "expected"),
    [
        (*SEAT, "The aisle seat.", "yes"),
        (*SEAT, "You prefer the aisle seat to the window seat.", "yes"),
        (*SEAT, "You prefer the window.", "no"),
        (*SEAT, "You prefer the window seat over the aisle.", "no"),
        (*SEAT, "You don't like the window seat.", "unscored"),
        (*SEAT, "You avoid the window seat.", "unscored"),
        (*SEAT, "Anything but the window.", "unscored"),
        ("Do I drink tea or coffee?", "tea", "You gave up coffee.", "unscored"),
        (*SEAT, "You like neither.", "unscored"),
        (*CAR, "He'd prefer the Charger over the Forester.", "yes"),
        (*CAR, "A Subaru Forester.", "no"),
        ("Am I an early bird or a night owl?", "night owl", "A night owl!", "yes"),
        ("Have I a son or a daughter?", "a daughter", "A son.", "no"),
        (
            "Have I a son or a daughter?",
            "a daughter",
            "A son and a daughter.",
            "unscored",
        ),
        ("Was it in May or in June?", "May", "It was in May, not June.", "yes"),
    ],
)
def test_one_of_two_is_told_by_the_words_of_that_one(
    question: str, answer: str, reply: str, expected: str, *, is_locomo: bool
) -> None:
    row = {**ROW, "question": question, "answer": answer, "hypothesis": reply}
    assert ruling_of(row, is_locomo=is_locomo).verdict == expected
