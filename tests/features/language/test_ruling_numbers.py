"""Numbers, times and rates in answers, however they are written."""

from __future__ import annotations

import pytest

from pytest_ltm.language.numbers import write_digits
from pytest_ltm.language.rulings.gold import amount_ruling, read_gold


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Twelve hundred dollars", "1200 dollars"),
        ("one hundred eighty-five", "185"),
        ("two thousand five hundred", "2500"),
        ("four and a half hours", "4.5 hours"),
        ("an hour and a half", "1.5 hours"),
        ("half past six in the evening", "6:30 pm"),
        ("a quarter to one", "12:45"),
        ("five o'clock", "5:00"),
        ("3 times per week", "3 times a week"),
        ("every month", "1 time a month"),
        ("$40/month", "$40 a month"),
        ("230°C", "230 celsius"),
        ("**Seven** weeks", "seven weeks"),
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
    ],
)
def test_an_amount_is_the_same_in_any_unit_and_format(
    gold: str, same: str, other: str
) -> None:
    expected = read_gold(gold, "How much?")

    assert amount_ruling(expected, "How much?", same, forgiving=False).verdict == "yes"
    assert amount_ruling(expected, "How much?", other, forgiving=False).verdict != "yes"
