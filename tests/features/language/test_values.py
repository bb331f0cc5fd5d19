"""Whether two texts state the same value: numbers, amounts, dates, grades, names, sets."""

from __future__ import annotations

import pytest

from pytest_ltm.language.values import (
    Sameness,
    compare_values,
    find_days,
    find_values,
)

SAME_PAIRS = (
    ("7.5 km", "7500 m"),
    ("2,300,000 euros", "2.300.000 €"),
    ("64,200", "64 200"),
    ("3,00,000", "300,000"),
    ("$2,400", "$2.4k"),
    ("6 feet 2 inches", "6'2\""),
    ("75 minutes", "an hour and a quarter"),
    ("60%", "three fifths"),
    ("three hundred and forty-two", "342"),
    ("five times a week", "5x per week"),
    ("every two weeks", "every other week"),
    ("at least 6", "6 or more"),
    ("9 August 2021", "2021-08-09"),
    ("9 August 2021", "9 de agosto de 2021"),
    ("August 9, 2021", "9 августа 2021 г."),
    ("quarter to seven", "6:45"),
    ("8:15 pm", "20:15"),
    ("10 pm", "22 Uhr"),
    ("the 1980s", "the eighties"),
    ("Wed-Fri", "Wednesday through Friday"),
    ("Mondays and Fridays", "Fri & Mon"),
    ("B-", "a B minus"),
    ("F#", "F sharp"),
    ("Mt. Rainier", "Mount Rainier"),
    ("Jürgen", "Juergen"),
    ("Dr. Okafor", "Doctor Okafor"),
    ("J. K. Rowling", "Joanne Kathleen Rowling"),
    ("the United Kingdom", "the U.K."),
    ("World War I", "WWI"),
    ("Анна", "Anna"),
    ("Варшава", "Warsaw"),
)
OTHER_PAIRS = (
    ("7 km", "7 m"),
    ("-8 °C", "8 °C"),
    ("$2,400", "€2,400"),
    ("64,200", "64,300"),
    ("2:5", "5:2"),
    ("more than 6", "6"),
    ("6-8", "6"),
    ("every other day", "every day"),
    ("before July", "in July"),
    ("7:30 AM", "7:30 PM"),
    ("9 August 2021", "9 August 2022"),
    ("B-", "B"),
    ("F#", "F"),
    ("Pixel 9", "Pixel 9 Pro"),
    ("14C", "14D"),
    ("East Road", "West Road"),
)
OPEN_PAIRS = (
    ("ten thousand", "a great many"),
    ("Anna", "Anna Berg"),
    ("4 weeks", "a month"),
    ("at least 6", "6"),
    ("couch", "sofa"),
    ("1.234", "1,234"),
    ("Elizabeth", "Beth"),
    ("12:40 AM", "12:40"),
    ("0:40", "12:40"),
)


@pytest.mark.parametrize(("first", "second"), SAME_PAIRS)
def test_one_value_in_two_forms_is_the_same(first: str, second: str) -> None:
    assert compare_values(first, second) is Sameness.SAME
    assert compare_values(second, first) is Sameness.SAME


@pytest.mark.parametrize(("first", "second"), OTHER_PAIRS)
def test_values_that_differ_in_a_sign_a_unit_or_a_figure_are_other(
    first: str, second: str
) -> None:
    assert compare_values(first, second) is Sameness.OTHER
    assert compare_values(second, first) is Sameness.OTHER


@pytest.mark.parametrize(("first", "second"), OPEN_PAIRS)
def test_what_is_not_wholly_understood_is_neither_the_same_nor_other(
    first: str, second: str
) -> None:
    assert compare_values(first, second) is Sameness.UNKNOWN
    assert compare_values(second, first) is Sameness.UNKNOWN


def test_decimals_are_versions_where_the_question_asks_for_one() -> None:
    asked = "Which version do I run?"
    assert compare_values("3.20", "3.2", question=asked) is Sameness.OTHER
    assert compare_values("3.20", "3.2", question="How much is it?") is Sameness.SAME


def test_the_values_of_a_sentence_are_found_with_their_places() -> None:
    sentence = "You ran 12 km on 4 May 2022, in an hour and a half."
    found = find_values(sentence)
    assert [(value.text, value.kind) for value in found] == [
        ("12 km", "amount"),
        ("4 May 2022", "time"),
        ("an hour and a half", "amount"),
    ]
    assert all(sentence[value.start : value.end] == value.text for value in found)


@pytest.mark.parametrize("text", ["Non lo so", "so it goes", "set it out", "long ago"])
def test_words_that_are_days_or_months_elsewhere_are_no_values(text: str) -> None:
    assert find_values(text) == []


def test_a_word_behind_a_time_that_begins_what_follows_is_no_part_of_it() -> None:
    values = find_values("They met on 15 August 2023 after his trip.")
    assert [value.text for value in values] == ["15 August 2023"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("You paid at least $250.", ["at least $250"]),
        ("It cost roughly €700–900.", ["roughly €700-900"]),
        ("It closes before 5 pm.", ["before 5 pm"]),
        ("Come Monday, nine o'clock, to room 4.", ["Monday, nine o'clock", "4"]),
        ("On 18/12/22 you ran 74 km in April.", ["18/12/22", "74 km", "April"]),
        ("You swim three mornings a week.", ["three mornings a week"]),
    ],
)
def test_a_value_is_found_with_its_bound_its_rate_and_all_of_its_parts(
    text: str, values: list[str]
) -> None:
    assert [value.text for value in find_values(text)] == values


def test_of_a_range_with_a_bound_neither_end_is_sure() -> None:
    assert compare_values("at least 6-8 hours", "6-8 hours") is Sameness.UNKNOWN


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on the thirty-first of october", [[(10, 31)]]),
        ("1. march 14th\n2. march the second", [[(3, 14)], [(3, 2)]]),
        ("october, 24 dec and 31/10", [[(12, 24)], [(10, 31)]]),
        ("5.11. or 3/4", [[(11, 5)], [(4, 3), (3, 4)]]),
        ("in may 2023, room t14 at 5:30", []),
    ],
)
def test_days_of_a_year_are_found_in_words_and_figures(
    text: str, days: list[list[tuple[int, int]]]
) -> None:
    assert [readings for _, readings in find_days(text)] == days


def test_a_number_of_thousands_of_digits_is_no_value() -> None:
    noise = "7" * 20_000
    values = find_values(f"It is 5 {noise} km, and 3 km.")
    assert [value.text for value in values] == ["5", "3 km"]
    days = [readings for _, readings in find_days(f"{noise} may, 5 may {noise}")]
    assert days == [[(5, 5)]]


def test_a_score_is_no_time_of_day() -> None:
    assert compare_values("3:1", "3:01 am") is not Sameness.SAME
    assert [value.kind for value in find_values("We won 3:1.")] == ["amount"]


def test_the_hour_of_the_next_time_is_no_day_of_the_one_before() -> None:
    values = find_values("It is 9 am. 7:30 am is for Saturdays, by May 5: 10 of us.")
    assert [value.text for value in values][:2] == ["9 am", "7:30 am"]
    assert "by May 5" in [value.text for value in values]
