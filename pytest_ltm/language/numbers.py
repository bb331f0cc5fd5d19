"""Number words as digits, also in times and rates, so that one reader handles every notation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_ltm.language.lexicon import LEXICON

# --- The words.

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


# --- Numbers of several words in a text, as digits.

# A regular expression for a number in words.
BELOW_HUNDRED = rf"(?:(?:{'|'.join(TENS)})[- ](?:{'|'.join(ONES[1:10])})|{'|'.join([*TENS, *ONES])})"
_MINUTES = {"half": 30, "quarter": 15, "twenty": 20, "ten": 10, "five": 5}
_LY = LEXICON.keys_by_word("number adverbs")
_NAMED = LEXICON.keys_by_word("named numbers")
RE = LEXICON.expressions(
    "numbers",
    below_hundred=BELOW_HUNDRED,
    hours="|".join(ONES[1:13]),
    often="|".join(_LY),
    named="|".join(_NAMED),
)


def write_digits(text: str) -> str:
    """Return the text in lower case, with multi-word numbers in digits; no bold, no apostrophes.

    Halves become decimals ("four and a half hours", "half an hour"), times of day clock
    times ("half past six"), large numbers integers ("twelve hundred"), and rates get
    one form ("per week", "weekly" and "every week" become "1 time a week"). Single
    words ("seven") stay. Idempotent.
    """

    def large_number(match: re.Match[str]) -> str:
        if match["hundreds"]:
            return str(_small_number(match["hundreds"]))
        return str(
            _small_number(match["thousands"]) * 1_000
            + _small_number(match["rest"] or "0")
        )

    def clock_time(match: re.Match[str]) -> str:
        hour = _small_number(match[5])
        minutes = _MINUTES[(match[1] or match[3]).removeprefix("a ")]
        if match[4]:
            return f"{(hour - 2) % 12 + 1}:{60 - minutes}"
        return f"{hour}:{minutes:02}"

    plain = text.lower().replace("**", "").replace("\u2019", "'")
    plain = RE.degrees.sub(
        lambda result: " celsius" if "c" in result[1] else " fahrenheit", plain
    )
    plain = RE.minutes_seconds.sub(
        r"\1 minutes \2 seconds", RE.hours_minutes.sub(r"\1 hours \2 minutes", plain)
    )
    plain = RE.name.sub(lambda result: _NAMED[result[0]], RE.grouped.sub("", plain))
    # large numbers before the small ones, which are parts of them
    plain = RE.large.sub(large_number, plain)
    plain = RE.units_and_a_half.sub(
        lambda result: f"{_small_number(result[1]) + 0.5:g} {result[2]}s", plain
    )
    plain = RE.and_a_half.sub(
        lambda result: f"{_small_number(result[1]) + 0.5:g}", plain
    )
    plain = RE.half.sub(r"0.5 \1s", plain)
    plain = RE.oclock.sub(
        lambda result: f"{_small_number(result[1])}:00", RE.past.sub(clock_time, plain)
    )
    plain = RE.daytime.sub(
        lambda result: f"{result[1]} {'am' if result[2] == 'morning' else 'pm'}", plain
    )
    return _uniform_rates(RE.often.sub(lambda result: _LY[result[0]], plain)).replace(
        "'", ""
    )


def _small_number(word: str) -> int:
    if word.isdigit():
        return int(word)
    total = 0
    for part in re.split(r"[- ]+(?:and )?", word):
        total = total * 100 if part == "hundred" else total + NUMBERS[part]
    return total


def _uniform_rates(plain: str) -> str:
    """Return the text with rates in one form: `3 times a week`, or `1 time a week` if no count precedes."""
    parts = []
    end = 0
    for match in RE.per.finditer(plain):
        parts.append(plain[end : match.start()])
        end = match.end()
        if RE.counted.search(parts[-1][-60:]):
            parts.append(
                f" a {match[1]}" if match[0].startswith("/") else f"a {match[1]}"
            )
        elif match[0].startswith("every"):
            parts.append(f"1 time a {match[1]}")
        else:
            parts.append(match[0])
    return "".join([*parts, plain[end:]])
