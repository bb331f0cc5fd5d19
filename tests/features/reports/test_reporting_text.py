"""Texts for a terminal: sanitized, measured, shortened, wrapped."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from pytest_ltm.api.storage import escape_unprintable, one_line, pluralize
from pytest_ltm.figures.text import (
    clip_text,
    columns_of,
    exact_dollars,
    format_dollars,
    pad_left,
    pad_right,
    short_count,
    shorten_text,
    span_of_time,
    wrap_text,
)

TEXTS = st.text(st.characters(), max_size=200)


@pytest.mark.slow
@given(TEXTS)
def test_printable_text_holds_no_control_bidi_or_surrogate_character(text: str) -> None:
    kinds = {
        unicodedata.category(each)
        for each in escape_unprintable(text).replace("\n", "").replace("\u200d", "")
    } - {"Cf"}

    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068") & set(
        escape_unprintable(text)
    )
    escape_unprintable(text).encode()


@pytest.mark.parametrize("text", ["plain", "two\nlines", "größer 漢字 🙂", "👩‍👩‍👧"])
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert escape_unprintable(text) == text


def test_what_is_harmful_is_shown_as_an_escape() -> None:
    assert escape_unprintable("\x1b[2J\u202e\r\ud83d") == r"\x1b[2J\u202e\r\ud83d"
    assert one_line("a\n\n b\tc") == "a b c"


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)]
)
def test_width_is_measured_in_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    assert columns_of(pad_right(text, 6)) == columns_of(pad_left(text, 6)) == 6


@given(TEXTS.map(one_line), st.integers(10, 60))
def test_shortened_and_clipped_text_fits_and_short_text_is_untouched(
    text: str, width: int
) -> None:
    assert columns_of(shorten_text(text, width)) <= width
    assert columns_of(clip_text(text, width)) <= width
    if columns_of(text) <= width:
        assert shorten_text(text, width) == clip_text(text, width) == text


@given(
    TEXTS.map(one_line),
    st.text("xyz", min_size=1, max_size=10),
    TEXTS.map(one_line),
    st.integers(10, 60),
)
def test_the_part_that_decides_survives_shortening(
    before: str, keep: str, after: str, width: int
) -> None:
    short = shorten_text(before + keep + after, width, keep)

    assert keep in short
    assert columns_of(short) <= width


def test_shortening_leaves_out_the_middle() -> None:
    assert shorten_text("abcdefghijklmnop", 11) == "abcd … mnop"


@given(TEXTS.map(escape_unprintable), st.integers(10, 60))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrap_text(text, width, "  ")

    assert max(map(columns_of, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (99_999, "99,999"),
        (100_000, "100.0k"),
        (999_949, "999.9k"),
        (999_950, "1.00M"),
        (1_400_000, "1.40M"),
    ],
)
def test_large_numbers_become_short(number: int, shown: str) -> None:
    assert short_count(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (59.4, "59s"),
        (59.6, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (19_200, "5h 20m"),
        (183_845, "2d 3h"),
        (172_860, "2d"),
    ],
)
def test_times_are_told_in_their_two_largest_units(seconds: float, shown: str) -> None:
    assert span_of_time(seconds) == shown


def test_a_character_is_as_wide_as_the_tables_say() -> None:
    given = [chr(code) for code in range(0x20, 0x3000) if code not in range(0x7F, 0xA0)]
    wide = {each: wcwidth(each) for each in given}
    assert [
        each for each in given if wide[each] > 0 and columns_of(each) != wide[each]
    ] == []
    assert columns_of("é…—’") == 4


@pytest.mark.parametrize(
    ("amount", "short", "exact"),
    [
        (0.00001, "0.00001", "0.00001"),
        (0.000123, "0.00012", "0.0001"),
        (0.05, "0.05", "0.0500"),
        (12.3, "12.30", "12.30"),
    ],
)
def test_no_amount_is_written_with_an_exponent(
    amount: float, short: str, exact: str
) -> None:
    assert (format_dollars(amount), exact_dollars(amount)) == (short, exact)


def test_one_reply_has_replies_beside_it() -> None:
    assert (pluralize(1, "reply"), pluralize(2, "reply")) == ("1 reply", "2 replies")
