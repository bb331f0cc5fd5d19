"""Numbers as people write them: digits of every locale, English words, fractions, powers of ten, ordinals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from pytest_ltm.language.numbers import DAYS, SMALL_NUMBERS, TENS
from pytest_ltm.language.values import cldr
from pytest_ltm.language.values.writing import LEXICON, Token, split_tokens

_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
    "k": 10**3,
}
_PACKS = {"dozen": 12, "dozens": 12}
_ARTICLES = frozenset(("a", "an"))
_SIGN_WORDS = {"-": -1, "minus": -1, "negative": -1, "+": 1, "plus": 1}
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_NOTHING = LEXICON.words("nothing")
_ORDINAL_ENDINGS = LEXICON.words("ordinal endings")
# A point or comma before three digits may separate groups or decimals.
_GROUP = 3


_ORDINALS = {word: n for word, n in DAYS.items() if "-" not in word}
_ORDINALS |= {f"{word[:-1]}ieth": 10 * n for n, word in enumerate(TENS, start=2)}
_ORDINALS |= {"hundredth": 100, "thousandth": 1000}
_DENOMINATORS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_DENOMINATORS |= {word: n for word, n in _ORDINALS.items() if n > 2}
_DENOMINATORS |= {f"{word}s": n for word, n in _ORDINALS.items() if n > 2}


_DIGITS = frozenset("0123456789")
_MOST_FIGURES = 16
_FIGURES_IN_WORDS = {word: str(n) for word, n in SMALL_NUMBERS.items() if n < 100}
_FIGURES_IN_WORDS |= {"oh": "0", "zero": "0"}


class Number(NamedTuple):
    """One reading of a number."""

    value: Fraction
    end: int
    """The index of the token after it."""
    likely: bool = True
    """Whether it is the primary reading in English text."""
    ordinal: bool = False


def read_numbers(tokens: Sequence[Token], start: int) -> list[Number]:
    """Return the readings of the number at a token; [] if there is none."""
    sign = 1
    if start < len(tokens) and tokens[start].key in _SIGN_WORDS:
        sign = _SIGN_WORDS[tokens[start].key]
        start += 1
    numbers = list(_unsigned_numbers(tokens, start))
    return [number._replace(value=sign * number.value) for number in numbers]


def _unsigned_numbers(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    if start >= len(tokens):
        return
    if tokens[start].is_number:
        whole = _digit_numbers(tokens, start)
    else:
        whole = _word_numbers(tokens, start)
    for number in whole:
        yield from _with_fraction(tokens, number)
        yield from _with_decimals(tokens, number)
    yield from _figures_in_words(tokens, start)
    for fraction in _lone_fraction(tokens, start):
        yield fraction
        yield from _part_of_scale(tokens, fraction)
    yield from _roman_number(tokens, start)


# --- Digits.


def _digit_numbers(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    end = start + 1
    if (
        _key_at(tokens, end) == "/"
        and _is_integer(tokens, end + 1)
        and _is_integer(tokens, start)
    ):
        denominator = int(tokens[end + 1].text)
        if denominator:
            yield Number(Fraction(int(tokens[start].text), denominator), end + 2)
    for value, likely in digit_readings(tokens[start].text):
        number = Number(value, end, likely)
        if _is_ordinal_ending(tokens, start):
            yield number._replace(end=end + 1, ordinal=True)
        else:
            yield from _with_multiples(tokens, number)


def _with_multiples(tokens: Sequence[Token], number: Number) -> Iterator[Number]:
    """Yield a number, and its multiple by the word after it: 3 million, 1.2k, 2 dozen."""
    end = number.end
    if end < len(tokens):
        for name in (tokens[end].text.replace(".", ""), tokens[end].key):
            factor = _factor_of(name)
            if factor:
                # a lone lower-case letter is more likely a unit: 5 m
                likely = number.likely and (
                    len(name) > 1 or name == "k" or name.isupper()
                )
                yield Number(number.value * factor, end + 1, likely)
                break
    yield number


def _factor_of(name: str) -> int | None:
    return _SCALES.get(name) or _PACKS.get(name) or cldr.multiples().get(name)


def digit_readings(text: str) -> list[tuple[Fraction, bool]]:
    """Return the possible values of digits with separators, each with whether it is likely in English.

    A single point or comma before three digits is ambiguous: 1.234 and 1,234.
    """
    marks = re.findall(r"\D", text)
    if not marks:
        return [(Fraction(int(text)), True)]
    readings: dict[Fraction, bool] = {}
    if marks[-1] in ".," and marks.count(marks[-1]) == 1:
        whole, _, decimals = text.rpartition(marks[-1])
        if _is_grouped(whole, marks[:-1]):
            likely = marks[-1] == "." or len(decimals) != _GROUP
            value = Fraction(f"{_only_digits(whole)}.{decimals}")
            readings[value] = likely
    if _is_grouped(text, marks):
        likely = marks[0] != "." or len(marks) > 1
        readings[Fraction(int(_only_digits(text)))] = likely
    return sorted(readings.items(), key=lambda reading: not reading[1])


def _is_grouped(text: str, marks: Sequence[str]) -> bool:
    """Return whether separators, all the same, split digits into groups of three, or the Indian way."""
    if not marks:
        return text.isdecimal()
    groups = text.split(marks[0])
    first, *middle, last = groups
    sizes = {len(group) for group in middle}
    regular = sizes <= {_GROUP} or sizes <= {2}
    return (
        len(set(marks)) == 1
        and first != "0"
        and 1 <= len(first) <= _GROUP
        and len(last) == _GROUP
        and regular
    )


def _only_digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _is_integer(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].text.isdecimal()


def _is_ordinal_ending(tokens: Sequence[Token], place: int) -> bool:
    following = place + 1
    return (
        following < len(tokens)
        and tokens[following].key in _ORDINAL_ENDINGS
        and tokens[following].start == tokens[place].end
    )


# --- Words.


def _word_numbers(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    if tokens[start].key in _NOTHING:
        yield Number(Fraction(0), start + 1)
        return
    words = _NumberInWords(tokens, start)
    while words.take():
        pass
    number = words.number
    if number is not None:
        yield number


class _NumberInWords:
    """Parses the words of a whole number in order: eight hundred and thirty-one."""

    def __init__(self, tokens: Sequence[Token], start: int) -> None:
        self._tokens = tokens
        self._place = start
        self._total = 0
        self._current: int | None = None
        """The number since the last thousand; None before the first word."""
        self._is_over = False
        self._ordinal = False

    @property
    def number(self) -> Number | None:
        """The number parsed so far."""
        if self._current is None:
            return None
        value = Fraction(self._total + self._current)
        return Number(value, self._place, ordinal=self._ordinal)

    def take(self) -> bool:
        """Parse the next word; return whether it belongs to the number."""
        word = _key_at(self._tokens, self._place)
        if self._is_over:
            return False
        if word in ("and", "-"):
            return self._take_link()
        if word in SMALL_NUMBERS or word in _ORDINALS:
            return self._take_small(word)
        if word in _ARTICLES:
            return self._take_article()
        return self._take_scale(word)

    def _take_link(self) -> bool:
        following = _key_at(self._tokens, self._place + 1)
        value = SMALL_NUMBERS.get(following) or _ORDINALS.get(following)
        if self._current is None or value is None or not _may_add(self._current, value):
            return False
        self._place += 1
        return True

    def _take_small(self, word: str) -> bool:
        value = SMALL_NUMBERS[word] if word in SMALL_NUMBERS else _ORDINALS[word]
        if not _may_add(self._current, value):
            return False
        self._current = (self._current or 0) + value
        self._ordinal = self._is_over = word in _ORDINALS
        self._place += 1
        return True

    def _take_article(self) -> bool:
        """Parse the article of a hundred or a dozen."""
        following = _key_at(self._tokens, self._place + 1)
        if self._current is not None or following not in (*_SCALES, *_PACKS):
            return False
        self._current = 1
        self._place += 1
        return True

    def _take_scale(self, word: str) -> bool:
        count = 1 if self._current is None else self._current
        if word in _PACKS:
            self._current = count * _PACKS[word]
            self._is_over = True
        elif word == "hundred" and self._current is not None:
            self._current = count * 100
        elif word in _SCALES and self._current is not None:
            self._total += count * _SCALES[word]
            self._current = 0
        else:
            return False
        self._place += 1
        return True


def _may_add(current: int | None, value: int) -> bool:
    if current is None or current == 0:
        return True
    if current % 100 >= 20 and current % 10 == 0:
        room = 10
    elif current % 100 == 0:
        room = 100
    else:
        room = 0
    return 0 < value < room


def _with_decimals(tokens: Sequence[Token], number: Number) -> Iterator[Number]:
    """Yield a number with its decimals in words: thirty-nine point five."""
    if number.ordinal or _key_at(tokens, number.end) != "point":
        return
    place = number.end + 1
    decimals = ""
    while (digit := _FIGURES_IN_WORDS.get(_key_at(tokens, place), "")) in _DIGITS:
        decimals += digit
        place += 1
    if decimals:
        value = number.value + Fraction(int(decimals), 10 ** len(decimals))
        yield from _with_multiples(tokens, number._replace(value=value, end=place))


def _figures_in_words(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    """Yield a number that is spoken figure by figure: three-oh-four, twenty oh nine."""
    figures: list[str] = []
    end = start
    place = start
    last = min(len(tokens), start + _MOST_FIGURES)
    while place < last and tokens[place].key in _FIGURES_IN_WORDS:
        figures.append(_FIGURES_IN_WORDS[tokens[place].key])
        end = place + 1
        place = end + (_key_at(tokens, end) == "-")
    # "oh" joins figures, and begins sentences
    if "oh" in [token.key for token in tokens[start + 1 : end]]:
        yield Number(Fraction(int("".join(figures))), end)


# --- Fractions, also after a whole number, and Roman numerals.


def _with_fraction(tokens: Sequence[Token], number: Number) -> Iterator[Number]:
    """Yield a number, and the same with a fraction after it: two and a half, 1 1/2."""
    if not number.ordinal:
        begin = number.end + (_key_at(tokens, number.end) == "and")
        for fraction in _lone_fraction(tokens, begin):
            if 0 < fraction.value < 1:
                value = number.value + fraction.value
                whole = number._replace(value=value, end=fraction.end)
                yield from _with_multiples(tokens, whole)
        if _is_slash_fraction(tokens, number.end):
            part = Fraction(
                int(tokens[number.end].text), int(tokens[number.end + 2].text)
            )
            if 0 < part < 1:
                yield number._replace(value=number.value + part, end=number.end + 3)
    yield number


def _is_slash_fraction(tokens: Sequence[Token], place: int) -> bool:
    return (
        _is_integer(tokens, place)
        and _key_at(tokens, place + 1) == "/"
        and _is_integer(tokens, place + 2)
        and int(tokens[place + 2].text) > 0
    )


def _lone_fraction(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    """Yield the fraction in words at a token: half, a third, three quarters."""
    word = _key_at(tokens, start)
    if word == "half":
        end = start + 1 + (_key_at(tokens, start + 1) in _ARTICLES)
        if _key_at(tokens, end) in _PACKS:
            yield Number(Fraction(6), end + 1)
            return
        yield Number(
            Fraction(1, 2),
            end if _key_at(tokens, start + 1) in _ARTICLES else start + 1,
        )
        return
    count = 1 if word in _ARTICLES else SMALL_NUMBERS.get(word, 0)
    following = start + 1 + (_key_at(tokens, start + 1) == "-")
    denominator = _DENOMINATORS.get(_key_at(tokens, following))
    if count and denominator:
        fraction = Number(Fraction(count, denominator), following + 1)
        is_part = _key_at(tokens, fraction.end) == "of"
        if is_part:
            yield fraction._replace(end=fraction.end + 1)
        # two thirds of a mile are no rate
        if not is_part or _key_at(tokens, fraction.end + 1) not in _ARTICLES:
            yield fraction
    elif word == "quarter":
        yield Number(Fraction(1, 4), start + 1)


def _part_of_scale(tokens: Sequence[Token], fraction: Number) -> Iterator[Number]:
    """Yield a fraction of a power of ten: a quarter of a million."""
    place = fraction.end + (_key_at(tokens, fraction.end) == "of")
    place += _key_at(tokens, place) in _ARTICLES
    factor = _SCALES.get(_key_at(tokens, place))
    if factor and tokens[place].is_word:
        yield fraction._replace(value=fraction.value * factor, end=place + 1)


def _roman_number(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    text = tokens[start].text
    if text[0] in _ROMAN_DIGITS and _ROMAN.fullmatch(text):
        digits = [_ROMAN_DIGITS[letter] for letter in text]
        value = sum(
            -digit if digit < following else digit
            for digit, following in zip(digits, [*digits[1:], 0], strict=True)
        )
        yield Number(Fraction(value), start + 1, likely=len(text) > 1)


def _key_at(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].key if 0 <= place < len(tokens) else ""


def write_digits(text: str) -> str:
    """Return a text with its whole numbers of several words in digits: two hundred and six."""
    tokens = split_tokens(text)
    written = ""
    end = 0
    for place, token in enumerate(tokens):
        if token.start < end or not token.is_word or token.key in _SIGN_WORDS:
            continue
        for number in read_numbers(tokens, place)[:1]:
            is_whole = number.value.denominator == 1 and not number.ordinal
            if is_whole and number.end > place + 1:
                written += f"{text[end : token.start]}{number.value}"
                end = tokens[number.end - 1].end
    return written + text[end:]


@cache
def number_words() -> frozenset[str]:
    """Return the words that a number may begin with."""
    return frozenset(
        (
            *SMALL_NUMBERS,
            *_NOTHING,
            *_ORDINALS,
            *_DENOMINATORS,
            *_SIGN_WORDS,
            *_ARTICLES,
            *_PACKS,
        )
    )
