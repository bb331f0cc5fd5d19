"""Comparing values: each text is read in all possible ways, and readings of the same kind are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import chain, product, takewhile, zip_longest
from typing import Literal, TypeAlias

from pytest_ltm.api.model import STOP_WORDS, plain_words
from pytest_ltm.language.numbers import SMALL_NUMBERS
from pytest_ltm.language.values import cldr
from pytest_ltm.language.values.amounts import (
    COUNTED,
    Amount,
    amounts_at,
    bound_words,
    compare_amounts,
    read_amounts,
    units_at,
)
from pytest_ltm.language.values.labels import (
    compare_labels,
    differing_words,
    find_closed_name,
    read_label,
)
from pytest_ltm.language.values.moments import (
    Moment,
    compare_moments,
    may_begin_time,
    may_end_value,
    moments_at,
    month_of,
    read_moments,
    read_weekdays,
    time_words,
)
from pytest_ltm.language.values.numerals import Number, number_words, read_numbers
from pytest_ltm.language.values.sameness import Sameness, weigh_readings
from pytest_ltm.language.values.writing import Token, plain_writing, split_tokens

_TIME_ASKED = re.compile(
    r"\b(?:when|what time|which day|what day|what date|which date|until|since)\b"
)
_COUNT_ASKED = re.compile(
    r"\bhow (?:many|much|old|far|long|tall|big|often|heavy|warm|hot|cold|fast)\b|\bwhat (?:percentage|fraction|share)\b"
)
_THINGS_ASKED = re.compile(r"\bhow many\b", re.IGNORECASE)
_NAME_ASKED = re.compile(r"\b(?:who|whom|whose|name|named|called)\b")
_UNIT_ASKED = re.compile(
    r"\bhow (?:many|much)(?: more| fewer| less)? ((?:[^\W\d_]+ ?){1,3})"
)
_VERSION = re.compile(r"\b(?:version|release|model|edition|build|firmware)\b")
_DECIMAL = re.compile(r"\d+(?:\.\d+)+")
_RATIO = re.compile(r"(?:the |a )?(\d+) ?(?::|to|zu|\u2236) ?(\d+)")
_SCORE = frozenset((":", "\u2236", "-", "to", "zu"))
_SHARE = frozenset(("/", "over", "of", "out of"))
_TURNED_NAME = re.compile(r"([^\W\d_][\w'-]+), ([^\W\d_][\w' -]+)")
_LEADING_WORDS = frozenset(("the", "for", "it", "is", "was", "it's"))
_PLAIN_WORDS = frozenset(
    (
        *("the", "it", "its", "is", "was", "are", "were", "be", "been", "that", "this"),
        *("you", "your", "he", "she", "they", "we", "i", "my", "his", "her", "their"),
        *("for", "at", "in", "on", "of", "to", "have", "has", "had", "did", "do"),
    )
)
"""Words beside a value that change nothing in it, unlike quantifiers: all but one, half of the 12."""
_AGO = re.compile(r"\bago\b")
Kind: TypeAlias = Literal["amount", "time"]
_EDGES = ' \t\n.,;:!?"*_`'


LONGEST_VALUE = 200
"""Characters of the longest text that may be a value."""
_MOST_WORDS = 6


def is_bare_value(text: str) -> bool:
    """Return whether a text is a bare value, at most a few words, rather than a sentence about it."""
    return len(text) <= LONGEST_VALUE and len(text.split()) <= _MOST_WORDS


def may_be_unread(first: str, second: str) -> bool:
    """Return whether two bare values may be the same in a form that no reader knows.

    This is so if a single word is replaced, as it may be a synonym (cell phone and
    mobile phone), and if only the second is an amount or a time (New Year's Day).
    """
    if not (is_bare_value(first) and is_bare_value(second)):
        return False
    mine = Text(first, "")
    theirs = Text(second, "")
    kinds = [kind_of(text.plain, text.tokens) for text in (mine, theirs)]
    if any(kinds):
        return kinds[0] is None and not find_values(first)
    if len(_items_of(first)) > 1 and len(_items_of(second)) > 1:
        return False
    return differing_words(mine.plain, theirs.plain) == (1, 1)


def differ_in_bound(first: str, second: str) -> bool:
    """Return whether one bare value is an amount, and the other a bound: five, and at least five."""
    if not (is_bare_value(first) and is_bare_value(second)):
        return False
    amounts = [read_amounts(Text(value, "").body) for value in (first, second)]
    has_bound = [any(amount.has_bound for amount in found) for found in amounts]
    return all(amounts) and has_bound[0] != has_bound[1]


@dataclass(frozen=True)
class Text:
    """A text that may be a value, with its readings, computed on first use."""

    written: str
    question: str

    @cached_property
    def plain(self) -> str:
        """The text in plain writing, without surrounding punctuation."""
        text = plain_writing(self.written)
        inner = text.strip(_EDGES)
        # the point of .NET and the quote of 55" and '23 are part of the value
        begin = text.find(inner)
        end = text.find(inner) + len(inner)
        if text[:begin].endswith(".") and inner[:1].isalpha():
            begin -= 1
        if text[end : end + 1] in ('"', "*") and text.count(text[end]) == 1:
            end += 1
        if re.search(r"\b[A-Za-z]\.[A-Za-z]$", inner) and text[end : end + 1] == ".":
            end += 1
        return text[begin:end]

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The tokens of the plain text."""
        return split_tokens(self.plain)

    @cached_property
    def known(self) -> frozenset[str]:
        """The words of the question."""
        words = re.findall(r"[^\W\d_]+", self.question.casefold())
        return frozenset(words)

    @cached_property
    def body(self) -> Sequence[Token]:
        """The tokens without a leading article or `it is`."""
        tokens = list(self.tokens)
        while len(tokens) > 1 and tokens[0].key in _LEADING_WORDS:
            tokens = tokens[1:]
        is_number = len(tokens) > 2 and (
            tokens[1].is_number or tokens[1].key in SMALL_NUMBERS
        )
        if is_number and tokens[0].key in ("a", "an"):
            tokens = tokens[1:]
        return tokens

    @cached_property
    def moments(self) -> Sequence[Moment]:
        """Its readings as a date or time, depending on the question."""
        is_time_asked = _TIME_ASKED.search(self.question.casefold()) is not None
        return read_moments(self.plain, self.tokens, asked=is_time_asked)

    @cached_property
    def amounts(self) -> Sequence[Amount]:
        """Its readings as an amount, in the unit of the question."""
        nouns = frozenset(word.removesuffix("s") for word in self.known)
        units = asked_units(self.question)
        return [
            _in_asked_unit(amount, units) for amount in read_amounts(self.body, nouns)
        ]


@lru_cache(maxsize=512)
def read_text(written: str, question: str) -> Text:
    """Return a text with its readings, cached: one expected value is compared with many."""
    return Text(written, question)


@lru_cache(maxsize=4096)
def compare_values(first: str, second: str, *, question: str = "") -> Sameness:
    """Compare two values: whether the second text states the value of the first.

    Args:
        first: The expected value.
        second: The value to compare with it; it may be more exact, but not less.
        question: The question, which defines the unit of a bare number.
    """
    mine = read_text(first, question)
    theirs = read_text(second, question)
    is_long = max(len(first), len(second)) > LONGEST_VALUE
    if is_long or not mine.tokens or not theirs.tokens:
        return Sameness.UNKNOWN
    if mine.plain.casefold() == theirs.plain.casefold():
        return Sameness.SAME
    for compare_whole in (_compare_year_end, _compare_versions):
        verdict = compare_whole(mine, theirs)
        if verdict is not None:
            return verdict
    proof = Sameness.UNKNOWN
    is_read = False
    for comparer in _COMPARERS:
        result = comparer(mine, theirs)
        if result is Sameness.SAME:
            return result
        # 1400 hours may be a time of day
        if comparer is _compare_amounts and _is_one_a_time(mine, theirs):
            result = Sameness.UNKNOWN
        # if the first kind of reading cannot refute, later kinds must not
        if result is not None and not is_read:
            proof = result
            is_read = True
        if proof is Sameness.OTHER:
            return proof
    return proof


_YEAR_END = re.compile(r"(?<!\w)'(\d\d)\b(?!['\"])")
_YEAR = re.compile(r"(?:19|20)\d\d")


def _compare_year_end(expected: Text, text: Text) -> Sameness | None:
    """Compare a year with the last two digits of one in a text: '09. None if it has none."""
    year_end = _YEAR_END.search(text.plain)
    if year_end is None:
        return None
    words = plain_words(year_end.string[: year_end.start()])
    is_alone = not plain_words(year_end.string[year_end.end() :])
    is_alone = is_alone and _YEAR_WORDS.issuperset(words)
    if not is_alone or not _YEAR.fullmatch(expected.plain):
        return Sameness.UNKNOWN
    is_same = expected.plain.endswith(year_end[1])
    return Sameness.SAME if is_same else Sameness.OTHER


_YEAR_WORDS = frozenset(("its", "it", "was", "an", "a", "in", "back", "the", "of"))


def _is_one_a_time(*texts: Text) -> bool:
    """Return whether exactly one of two texts is a date or a time of day."""
    are_times = [any(moment.likely for moment in text.moments) for text in texts]
    are_numbers = [text.plain.isdecimal() for text in texts]
    return are_times[0] != are_times[1] and not any(are_numbers)


def state_same_values(first: str, second: str) -> bool:
    """Return whether two texts state the same values in the same order."""
    pairs = zip_longest(find_values(first), find_values(second))
    return all(
        mine and theirs and compare_values(mine.text, theirs.text) is Sameness.SAME
        for mine, theirs in pairs
    )


def _compare_versions(mine: Text, theirs: Text) -> Sameness | None:
    """Compare decimals as versions: 3.10 is not 3.1."""
    figures = [_DECIMAL.findall(text.plain) for text in (mine, theirs)]
    bare = all(len(figure) == 1 for figure in figures)
    if not bare or figures[0] == figures[1]:
        return None
    if float_of(figures[0][0]) != float_of(figures[1][0]) and "." in figures[0][0]:
        return None
    words = f"{mine.question} {mine.plain} {theirs.plain}".casefold()
    if _VERSION.search(words):
        return Sameness.OTHER
    is_count_asked = _COUNT_ASKED.search(mine.question.casefold())
    lone = all(
        text.plain == found[0]
        for text, found in zip((mine, theirs), figures, strict=True)
    )
    return Sameness.UNKNOWN if lone and not is_count_asked else None


def float_of(figures: str) -> float:
    """Return the float of digits with one point; NaN for more or fewer points."""
    if figures.count(".") == 1:
        return float(figures)
    return float("nan")


def _compare_ratios(mine: Text, theirs: Text) -> Sameness | None:
    """Compare scores, ratios and shares of two numbers: 3:1, 120 over 80, 18 out of 20."""
    for links in (_SCORE, _SHARE):
        pairs = [_paired_numbers(text.body, links) for text in (mine, theirs)]
        if pairs[0] and pairs[0] == pairs[1]:
            return Sameness.SAME
    is_ratio = all(_RATIO.fullmatch(text.plain) for text in (mine, theirs))
    if is_ratio and not all(text.moments for text in (mine, theirs)):
        return Sameness.OTHER
    return None


def _compare_figures(mine: Text, theirs: Text) -> Sameness | None:
    """Compare a value with its numbers alone, said one after the other: six one for 6'1"."""
    spoken = _spoken_numbers(theirs.body)
    written = [int(token.text) for token in mine.tokens if token.text.isdecimal()]
    is_figures = len(spoken) > 1 and not any(token.is_word for token in mine.tokens)
    # digits said one by one: four, zero, seven, one
    is_code = len(spoken) > _SHORTEST_CODE and max(spoken) < _TEN
    if is_code and "".join(map(str, spoken)) == mine.plain:
        return Sameness.SAME
    return Sameness.SAME if is_figures and spoken == written else None


_TEN = 10
_SHORTEST_CODE = 2


def _spoken_numbers(tokens: Sequence[Token]) -> list[int]:
    """Return the whole numbers that tokens consist of; [] if there is anything else."""
    numbers: list[int] = []
    place = 0
    while place < len(tokens):
        if numbers and tokens[place].key == "," and max(numbers) < _TEN:
            place += 1
            continue
        found = _whole_numbers(tokens, place)
        if not found:
            return []
        number = max(found, key=lambda reading: reading.end)
        # "zero seven" of a code
        if tokens[place].key == "zero" and number.value:
            numbers.append(0)
        numbers.append(int(number.value))
        place = number.end
    return numbers


def _paired_numbers(
    tokens: Sequence[Token], links: frozenset[str]
) -> tuple[Fraction, ...]:
    """Return the two numbers that tokens consist of, with one of the links between them; () if they do not."""
    for first in _whole_numbers(tokens, 0):
        for begin in range(first.end + 1, min(first.end + 3, len(tokens))):
            link = " ".join(token.key for token in tokens[first.end : begin])
            if link not in links:
                continue
            for second in _whole_numbers(tokens, begin):
                if second.end == len(tokens):
                    return (first.value, second.value)
    return ()


def _whole_numbers(tokens: Sequence[Token], place: int) -> list[Number]:
    return [
        number
        for number in read_numbers(tokens, place)
        if number.value.denominator == 1 and not number.ordinal
    ]


def _compare_times(mine: Text, theirs: Text) -> Sameness | None:
    is_count = _COUNT_ASKED.search(mine.question.casefold()) is not None
    if is_count and any(text.plain.isdecimal() for text in (mine, theirs)):
        return None
    days = [read_weekdays(text.tokens) for text in (mine, theirs)]
    if all(days):
        return Sameness.SAME if days[0] == days[1] else Sameness.OTHER
    if not mine.moments or not theirs.moments:
        return None
    return weigh_readings(
        (compare_moments(moment, other_moment), moment.likely and other_moment.likely)
        for moment in mine.moments
        for other_moment in theirs.moments
    )


def _compare_amounts(mine: Text, theirs: Text) -> Sameness | None:
    if not mine.amounts or not theirs.amounts:
        return None
    is_count_asked = _COUNT_ASKED.search(mine.question.casefold()) is not None
    results = []
    for first, second in product(mine.amounts, theirs.amounts):
        result = compare_amounts(first, second)
        # two sisters, where brothers are asked for
        if _THINGS_ASKED.search(mine.question) and _count_other_things(first, second):
            result = Sameness.UNKNOWN
        results.append((result, _are_likely(first, second, asked=is_count_asked)))
    return weigh_readings(results)


def _count_other_things(first: Amount, second: Amount) -> bool:
    """Return whether one amount counts things that the question does not name, and the other is a number."""
    units = [amount.units for amount in (first, second)]
    is_counted = any(unit.startswith(COUNTED) for unit in chain.from_iterable(units))
    return is_counted and not all(units)


def asks_for_name(question: str) -> bool:
    """Return whether a question asks for a person, or for the name of something."""
    return _NAME_ASKED.search(question.casefold()) is not None


def asked_units(question: str) -> frozenset[str]:
    """Return the units that the question asks for: how many miles."""
    match = _UNIT_ASKED.search(question.casefold())
    if match is None:
        return frozenset()
    found = units_at(split_tokens(plain_writing(match[1])), 0)
    return frozenset(name.unit for name, _ in found if name.likely)


def _in_asked_unit(amount: Amount, units: frozenset[str]) -> Amount:
    if amount.units or not units:
        return amount
    return replace(amount, units=units)


def _are_likely(first: Amount, second: Amount, *, asked: bool) -> bool:
    """Return whether two readings are likely; if a number is asked for, large ones are whole."""
    both_likely = first.likely and second.likely
    return both_likely or (asked and _are_whole(first, second))


def _are_whole(first: Amount, second: Amount) -> bool:
    ends = (first.low, first.high, second.low, second.high)
    return all(
        end is not None and end.denominator == 1 and abs(end) >= 1000 for end in ends
    )


def _compare_lists(mine: Text, theirs: Text) -> Sameness | None:
    """Compare lists as sets: each value of one must be a value of the other."""
    items = [_items_of(text.written) for text in (mine, theirs)]
    if len(items[0]) != len(items[1]) or len(items[0]) < 2:
        return None
    remaining = list(items[1])
    for item in items[0]:
        match = next(
            (
                candidate
                for candidate in remaining
                if compare_values(item, candidate, question=mine.question)
                is Sameness.SAME
            ),
            None,
        )
        if match is None:
            return Sameness.UNKNOWN
        remaining.remove(match)
    return Sameness.SAME


def _items_of(text: str) -> list[str]:
    return [
        item
        for item in _separators().split(plain_writing(text).strip(_EDGES))
        if item.strip(_EDGES)
    ]


@cache
def _separators() -> re.Pattern[str]:
    links = "|".join(sorted(cldr.list_words()))
    return re.compile(
        rf"\s*(?:,\s*(?:{links}|&)\s|[;\n\u3001]|,(?=\s)|\s(?:{links}|&|\+)\s)\s*"
    )


def _is_amount(text: Text) -> bool:
    return any(amount.likely for amount in read_amounts(text.body))


def _compare_labels(mine: Text, theirs: Text) -> Sameness | None:
    is_bare = is_bare_value(mine.plain) and is_bare_value(theirs.plain)
    # in a sentence the order of the question's words matters: who is taller than whom
    known_words = mine.known if is_bare else frozenset[str]()
    plains = [text.plain for text in (mine, theirs)]
    turned = [_TURNED_NAME.sub(r"\2 \1", plain) for plain in plains]
    if turned != plains and turned[0].casefold() == turned[1].casefold():
        return Sameness.SAME
    labels = [read_label(plain, known_words) for plain in plains]
    result = compare_labels(*labels, named=asks_for_name(mine.question))
    if result is not Sameness.OTHER:
        return result
    amounts = all(_is_amount(text) for text in (mine, theirs))
    return None if amounts or not is_bare else result


_COMPARERS: tuple[Callable[[Text, Text], Sameness | None], ...] = (
    _compare_ratios,
    _compare_figures,
    _compare_times,
    _compare_amounts,
    _compare_lists,
    _compare_labels,
)


# --- Values within a text.


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value in a text, and its position."""

    text: str
    start: int
    end: int
    """Position in the plain text."""
    kind: Kind


_MOST_TOKENS = 8
_LONGEST_TOKEN = 50
_TIME_SIGNS = frozenset((":", "/", "-", "am", "pm"))
_TOUCHING = re.compile(r"[^\W\d_]$|\d:$")
_SIGNS = frozenset({"Sc", "Sm", "Pd"})
"""Unicode categories: currencies, mathematics, dashes."""


def find_values(text: str) -> list[FoundValue]:
    """Return the values in a text, in order; of overlapping ones the longest.

    Positions refer to `plain_writing(text)`. Linear in the length of the text.
    """
    return list(_values_of(plain_writing(text)))


@lru_cache(maxsize=64)
def _values_of(plain: str) -> Sequence[FoundValue]:
    """Return the values of a plain text, cached: one answer is read several times."""
    return list(_iter_values(plain))


def find_days(text: str) -> Iterator[tuple[FoundValue, list[tuple[int, int]]]]:
    """Yield the days of a year in a normalized text, each with its possible (month, day) pairs.

    Texts are read as if a day were asked for: 5.11. is one, and 3/4.
    """
    for value in _iter_values(text, "time", asked=True):
        moments = read_moments(value.text, split_tokens(value.text), asked=True)
        fields = [moment.fields for moment in moments]
        days = [
            (parts["month"], parts["day"])
            for parts in fields
            if {"month", "day"} <= parts.keys()
        ]
        if days:
            yield value, days


def _iter_values(
    plain: str, kind: Kind | None = None, *, asked: bool = False
) -> Iterator[FoundValue]:
    """Yield the values of a plain text; `asked`: a time is asked for, so possible times count."""
    end = 0
    for window in value_windows(plain):
        start = window[0].start
        if start < end or (kind == "time" and not _has_time_sign(window)):
            continue
        times = 0
        if may_begin_time(window[0]):
            moments = moments_at(plain, window, asked=asked)
            times = _value_end(window, moments, if_unlikely=asked)
        amounts = 0 if kind == "time" else _value_end(window, amounts_at(window))
        size = max(times, amounts)
        if size:
            end = window[size - 1].end
            found_kind: Kind = "time" if times == size else "amount"
            yield FoundValue(plain[start:end], start, end, found_kind)


def value_windows(plain: str) -> Iterator[Sequence[Token]]:
    """Yield the tokens from each one with which a value may begin, up to the most that a value has."""
    tokens = split_tokens(plain)
    for place, token in enumerate(tokens):
        # a number of thousands of digits is noise
        if not _is_short(token) or not _may_begin(token):
            continue
        # digits after a letter belong to a name (T14), after a colon to a score
        text_before = plain[max(0, token.start - 2) : token.start]
        if not (token.is_number and _TOUCHING.search(text_before)):
            yield list(takewhile(_is_short, tokens[place : place + _MOST_TOKENS]))


def _has_time_sign(tokens: Sequence[Token]) -> bool:
    """Return whether tokens have a sign that every numeric time and day has: a cheap filter."""
    return any(
        token.key in _TIME_SIGNS
        or (token.is_number and "." in token.text)
        or month_of(token.key)
        for token in tokens
    )


def _is_short(token: Token) -> bool:
    return len(token.text) <= _LONGEST_TOKEN


def _value_end(
    tokens: Sequence[Token],
    readings: Iterable[tuple[Amount | Moment, int]],
    *,
    if_unlikely: bool = False,
) -> int:
    """Return the size of the longest likely reading at the start of tokens; 0 if there is none."""
    sizes = [size for reading, size in readings if reading.likely or if_unlikely]
    return max((size for size in sizes if may_end_value(tokens[size - 1])), default=0)


def _may_begin(token: Token) -> bool:
    """Return whether a value may begin with a token: a cheap filter."""
    if token.is_number or token.key in value_words():
        return True
    return not token.is_word and unicodedata.category(token.text[0]) in _SIGNS


@cache
def value_words() -> frozenset[str]:
    """Return the words that values may begin with."""
    calendar = (*cldr.month_names(), *cldr.weekday_names(), *cldr.currency_names())
    return frozenset((*number_words(), *bound_words(), *time_words(), *calendar))


def restate_value(text: str, gold: str, question: str) -> str:
    """Return a short text with the expected value rewritten as in `gold`: 5000 m as 5 km."""
    # the value's own full stop would end the sentence
    gold = gold.rstrip(" .")
    # "in 4 months" is not "4 months ago"
    is_lost = _AGO.search(gold) and not _AGO.search(text)
    if is_lost or gold in text or len(text) > LONGEST_VALUE:
        return text
    if span := find_closed_name(text, gold):
        return f"{text[: span[0]]}{gold}{text[span[1] :]}"
    kind = _kind_within(text, gold)
    if kind is None:
        return text
    plain = plain_writing(text)
    for value in _values_of_kind(plain, kind):
        if compare_values(gold, value.text, question=question) is Sameness.SAME:
            return f"{plain[: value.start]}{gold}{plain[value.end :]}"
    return text


def names_only_another(text: str, gold: str, question: str) -> bool:
    """Return whether a short text names one amount, and that differs from the expected one."""
    if _kind_within(text, gold) != "amount":
        return False
    values = _values_of_kind(text, "amount")
    if len(values) != 1 or not _is_single_number(values[0]):
        return False
    # it may be part of another kind of value: "after 10 minutes" is a time
    rest = text.replace(values[0].text, " ", 1)
    if re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", rest, re.IGNORECASE):
        return False
    # "all but one", "two less than": what is not understood may change it
    plain = plain_writing(text)
    known_words = _PLAIN_WORDS.union(plain_words(question))
    after = plain_words(plain[values[0].end :])[:1]
    is_known = known_words.issuperset(plain_words(plain[: values[0].start]))
    if not is_known or _YEAR_END.search(plain):
        return False
    if not known_words.union(STOP_WORDS).issuperset(after):
        return False
    result = compare_values(gold, values[0].text, question=question)
    return result is Sameness.OTHER


def _values_of_kind(text: str, kind: Kind) -> list[FoundValue]:
    """Return the values of one kind in a text; the digits of a date are not amounts."""
    return [value for value in find_values(text) if value.kind == kind]


def _is_single_number(value: FoundValue) -> bool:
    """Return whether a value is a single number: from 8 to 16 is a range, or a change."""
    return all(amount.is_exact for amount in read_amounts(split_tokens(value.text)))


def _kind_within(text: str, gold: str) -> Kind | None:
    """Return the kind of the expected value if a text is one short line; None for other texts."""
    is_sentence = len(text) <= LONGEST_VALUE and "\n" not in text
    return _kind_expected(gold) if is_sentence else None


@lru_cache(maxsize=256)
def _kind_expected(gold: str) -> Kind | None:
    expected = Text(gold, "")
    return kind_of(expected.plain, expected.tokens)


def kind_of(text: str, tokens: Sequence[Token]) -> Kind | None:
    """Return the kind of value that a whole text is; None if it is not a known kind."""
    if any(moment.likely for moment in read_moments(text, tokens)):
        return "time"
    if any(amount.likely for amount in read_amounts(tokens)):
        return "amount"
    return None
