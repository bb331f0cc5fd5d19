"""Number words, and words of a text with small numbers in digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ltm.language.lexicon import LEXICON

ONES, TENS, _ORDINAL_WORDS = LEXICON.table("number words").values()
SMALL_NUMBERS = {word: n for n, word in enumerate(ONES)}
SMALL_NUMBERS |= {word: n * 10 for n, word in enumerate(TENS, start=2)}
_OTHER_WORDS = {"a": 1, "an": 1, "single": 1, "couple": 2, "pair": 2, "dozen": 12}
# Numbers written as one word.
NUMBERS = SMALL_NUMBERS | _OTHER_WORDS
# Words that hardly ever mean anything but their number.
COUNTS = {word: n for word, n in SMALL_NUMBERS.items() if word != "one"}
_LAST_ORDINAL = 15
# Days of the month in words.
DAYS = {word: n for n, word in enumerate(_ORDINAL_WORDS, start=1)}
# Ordinals that count things, too.
ORDINALS = {word: n for word, n in DAYS.items() if n <= _LAST_ORDINAL}
_SINGLE = ORDINALS | COUNTS


def words_with_digits(some_words: Sequence[str]) -> Iterator[str]:
    """Yield the words, with numbers and ordinals in digits: "twenty", "three" becomes "23"."""
    at = 0
    while at < len(some_words):
        if some_words[at] not in _SINGLE and not some_words[at][:1].isdecimal():
            # the usual case: not a number
            yield some_words[at]
            at += 1
            continue
        value, used = _below_hundred(some_words, at)
        if used and some_words[at + used : at + used + 1] == ["hundred"]:
            link = used + 1 + (some_words[at + used + 1 : at + used + 2] == ["and"])
            rest, more = _below_hundred(some_words, at + link)
            # the "and" after a bare "two hundred" belongs to the next word, not to the
            # number
            if more:
                value = value * 100 + rest
                used = link + more
            else:
                value *= 100
                used += 1
        yield str(value) if used else some_words[at]
        at += used or 1


def _below_hundred(some_words: Sequence[str], at: int) -> tuple[int, int]:
    value = _single_number(some_words[at]) if at < len(some_words) else None
    if value is None:
        return 0, 0
    following = some_words[at + 1] if at + 1 < len(some_words) else ""
    # a bare "one" is seldom a number, except in twenty-one
    unit = 1 if following == "one" else _single_number(following)
    if some_words[at] in TENS and unit is not None and 1 <= unit <= 9:
        return (value + unit, 2)
    return (value, 1)


def _single_number(word: str) -> int | None:
    digits = RE.digits.fullmatch(word)
    return int(digits[1]) if digits else _SINGLE.get(word)


# A regular expression for a number in words.
BELOW_HUNDRED = rf"(?:(?:{'|'.join(TENS)})[- ](?:{'|'.join(ONES[1:10])})|{'|'.join([*TENS, *ONES])})"
RE = LEXICON.expressions("numbers")
