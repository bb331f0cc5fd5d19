"""Numbers, times and rates in answers, however they are written."""

from __future__ import annotations

import pytest

from pytest_ltm.language.rulings.gold import amount_ruling, read_gold
from pytest_ltm.language.values.numerals import write_digits


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Twelve hundred dollars", "1200 dollars"),
        ("one hundred eighty-five", "185"),
        ("two thousand five hundred", "2500"),
        ("half a dozen eggs", "6 eggs"),
        ("seven weeks", "seven weeks"),
        ("milk plus two eggs", "milk plus two eggs"),
        ("five to ten", "five to ten"),
    ],
)
def test_numbers_of_several_words_are_written_with_digits(
    text: str, written: str
) -> None:
    assert write_digits(text) == written
    assert write_digits(written) == written


@pytest.mark.parametrize(
    ("gold", "same", "other"),
    [
        ("two weeks", "14 days", "15 days"),
        ("48 minutes and 20 seconds", "48:20", "48 minutes"),
        ("18 months", "a year and a half", "a year"),
        ("6:30 PM", "18:30", "6:30 AM"),
        ("6:30 PM", "half past six", "half past seven"),
        ("three times a week", "thrice weekly", "three times a month"),
        ("$1,200", "1.2k dollars", "€1,200"),
        ("7 May 2023", "2023-05-07", "2023-07-05"),
        ("1 hour", "60 minutes", "1 hour and 5 minutes"),
        ("230°C", "230 degrees Celsius", "230°F"),
        ("4.5 hours", "four and a half hours", "four hours"),
        ("90 minutes", "It took an **hour and a half**.", "It took an hour."),
        ("45 minutes", "three quarters of an hour", "a quarter of an hour"),
        ("6:30 pm", "half past six in the evening", "half past six in the morning"),
        ("12:45", "a quarter to one", "a quarter past one"),
        ("5:00", "five o'clock", "six o'clock"),
        ("3 times a week", "3 times per week", "3 times per month"),
        ("once a month", "every month", "every week"),
        ("$40 a month", "$40/month", "$40/year"),
        ("7 hours", "a seven-hour drive", "a six-hour drive"),
        ("$5", "You get a $5 discount.", "You get a $6 discount."),
    ],
)
def test_an_amount_is_the_same_in_any_unit_and_format(
    gold: str, same: str, other: str
) -> None:
    expected = read_gold(gold, "How much?")

    assert amount_ruling(expected, "How much?", same, forgiving=False).verdict == "yes"
    assert amount_ruling(expected, "How much?", other, forgiving=False).verdict != "yes"
