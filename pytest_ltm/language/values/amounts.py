"""Amounts: numbers, quantities with units, money, percent, rates, ranges and bounds, and comparing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain, pairwise
from types import ModuleType
from typing import Any

from pytest_ltm.api.model import STOP_WORDS
from pytest_ltm.language.numbers import SMALL_NUMBERS
from pytest_ltm.language.values import cldr
from pytest_ltm.language.values.numerals import Number, number_words, read_numbers
from pytest_ltm.language.values.sameness import Sameness
from pytest_ltm.language.values.writing import LEXICON, Token

TIMES = "times"
_TIMES_WORDS = frozenset(("x", "times", "time", "\u00d7"))
_MULTIPLICATIVES = {"once": 1, "twice": 2, "thrice": 3, "double": 2, "triple": 3}
_MONEY = "money:"
COUNTED = "noun:"
_PERCENT = "concentr-percent"
_PER = LEXICON.words("per")
_ONES = frozenset(("a", "an"))
_DIMENSIONS = LEXICON.words("dimensions")
# The implied unit of a bare number after another unit: 5'11, 1h30, 1m85.
_NEXT_SMALLER = {
    "length-foot": "length-inch",
    "length-meter": "length-centimeter",
    "length-kilometer": "length-meter",
    "duration-hour": "duration-minute",
    "duration-minute": "duration-second",
    "mass-kilogram": "mass-gram",
    "mass-pound": "mass-ounce",
    "mass-stone": "mass-pound",
}
_CENTS = 100
_CENT_NAMES = frozenset(("cent", "cents", "pence", "centimes", "centavos", "paise"))
# Lengths of time without a fixed ratio to smaller ones.
_CALENDAR_UNITS = ("month", "year", "decade", "century", "quarter")
# Converted amounts with a smaller difference may mean the same: four weeks and a month,
# 10 km and 6.2 miles.
_ROUGHLY = 0.15
# Amounts in units of two systems with at most this difference are rounded: 5 miles, 8 km.
_CONVERTED = 0.01
_EXACTLY = 1e-9


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of things or units, or a range of numbers."""

    low: Fraction | None
    """None: no lower bound."""
    high: Fraction | None
    units: frozenset[str] = frozenset()
    """Ids of its possible units: CLDR's, `money:EUR`, `times`, `noun:` and a stem; none for a bare number."""
    per: tuple[Fraction, str] | None = None
    """The period of a rate: (2, `duration-week`) for every other week."""
    about: bool = False
    open_ends: bool = False
    """Whether its bound is exclusive: more than 5."""
    ordinal: bool = False
    likely: bool = True

    @property
    def has_bound(self) -> bool:
        """Whether it is open above or below."""
        return self.low is None or self.high is None

    @property
    def is_exact(self) -> bool:
        """Whether it is a single number."""
        return self.low == self.high and not self.about


# --- Reading.


def read_amounts(
    tokens: Sequence[Token], nouns: frozenset[str] = frozenset()
) -> list[Amount]:
    """Return all readings of tokens that form an amount as a whole; [] otherwise.

    `nouns`: words of the question that may follow a number without changing it.
    """
    size = len(tokens)
    return [amount for amount, end in amounts_at(tokens, nouns) if end == size]


def amounts_at(
    tokens: Sequence[Token], nouns: frozenset[str] = frozenset()
) -> Iterator[tuple[Amount, int]]:
    """Yield the readings of amounts at the start of tokens, each with its end."""
    begin = _phrase_at(tokens, 0, "exactly")[1]
    bound, begin = _phrase_at(tokens, begin, "bounds in front")
    if bound:
        begin = _phrase_at(tokens, begin, "exactly")[1]
    if begin == len(tokens):
        return
    readers = (_ranges, _frequencies, _quantities)
    for amount, end in chain.from_iterable(
        reader(tokens, begin, nouns) for reader in readers
    ):
        if bound:
            yield _bounded(amount, bound), end
        else:
            yield from _with_bound_behind(tokens, begin, amount, end)


def single_amounts_at(tokens: Sequence[Token]) -> Iterator[tuple[Amount, int]]:
    """Yield the readings of single amounts at the start of tokens, without bounds, ranges and dimensions."""
    yield from _frequencies(tokens, 0, frozenset())
    for amount, end in _simple_quantities(tokens, 0, frozenset()):
        yield amount, end
        yield from _with_rate(tokens, amount, end)


_LONGEST = 3


def _with_bound_behind(
    tokens: Sequence[Token], begin: int, amount: Amount, end: int
) -> Iterator[tuple[Amount, int]]:
    """Yield an amount, and the same with a bound after it; a bound's word is not a noun."""
    sizes = range(1, min(_LONGEST + 1, end - begin))
    if not any(_bound_behind(tokens, end - size, end) for size in sizes):
        yield amount, end
    bound, bound_end = _phrase_at(tokens, end, "bounds behind", allow_end=True)
    if bound and amount.is_exact:
        yield _bounded(amount, bound), bound_end


def _bound_behind(tokens: Sequence[Token], begin: int, end: int) -> str | None:
    return LEXICON.keys_by_word("bounds behind").get(_phrase(tokens[begin:end]))


def bound_words() -> frozenset[str]:
    """Return the first words of bounds, rates and multiples."""
    phrases = (
        *LEXICON.keys_by_word("bounds in front"),
        *_MULTIPLICATIVES,
        *_rate_words(),
        *("between", "from", "every"),
    )
    return frozenset(phrase.split(" ")[0] for phrase in phrases)


def _phrase_at(
    tokens: Sequence[Token], begin: int, section: str, *, allow_end: bool = False
) -> tuple[str, int]:
    """Return the meaning and end of a section's longest phrase at a token; ("", begin) if there is none.

    `allow_end`: whether the phrase may be the last one.
    """
    meanings = LEXICON.keys_by_word(section)
    last = len(tokens) - (not allow_end)
    for end in range(min(begin + _LONGEST, last), begin, -1):
        meaning = meanings.get(_phrase(tokens[begin:end]))
        if meaning:
            return meaning, end
    return "", begin


def _phrase(tokens: Sequence[Token]) -> str:
    return " ".join(token.key for token in tokens)


def _bounded(amount: Amount, bound: str) -> Amount:
    # the ends of a range are uncertain then
    if bound == "~" or not amount.is_exact:
        return replace(amount, about=True)
    is_open = len(bound) == 1
    if bound[0] == ">":
        return replace(amount, high=None, open_ends=is_open)
    return replace(amount, low=None, open_ends=is_open)


_RANGE_MARKS = frozenset(("-", "to", "and", "through", "until", "till"))


def _ranges(
    tokens: Sequence[Token], begin: int, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield the ranges at a token: 5-10 km, from 5 to 10 km, between 5 and 10."""
    first = tokens[begin].key
    begin += first in ("between", "from")
    for low, place in _quantities(tokens, begin, nouns):
        mark = tokens[place].key if place < len(tokens) else ""
        if mark in _RANGE_MARKS and (mark != "and" or first == "between"):
            # "three-twenty" may be a price
            is_price = low.likely and _is_hyphen(tokens, place) and not low.units
            for high, end in _quantities(tokens, place + 1, nouns):
                for amount in _range_of(low, high):
                    if is_price and tokens[begin].is_word:
                        yield replace(amount, likely=False), end
                    else:
                        yield amount, end


def _range_of(low: Amount, high: Amount) -> Iterator[Amount]:
    if low.low is None or high.high is None or low.low >= high.high:
        return
    if not low.units or not high.units or low.units & high.units:
        likely = low.likely and high.likely
        yield replace(low, high=high.high, units=low.units or high.units, likely=likely)


def _quantities(
    tokens: Sequence[Token], start: int, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield the amounts at a token, each with its end."""
    for amount, bare_end in _simple_quantities(tokens, start, nouns):
        yield amount, bare_end
        end = bare_end
        while end < len(tokens) and tokens[end].key in _DIMENSIONS:
            # "the 256 GB one", but a bare "six one" has inches
            if tokens[end].key in SMALL_NUMBERS and not amount.units:
                break
            end += 1
            yield amount, end
        yield from _with_rate(tokens, amount, end)


def _simple_quantities(
    tokens: Sequence[Token], start: int, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    if start >= len(tokens):
        return
    if tokens[start].key in _MULTIPLICATIVES:
        yield (
            _amount_of(Fraction(_MULTIPLICATIVES[tokens[start].key]), {TIMES}),
            start + 1,
        )
        return
    yield from _money_before_number(tokens, start)
    yield from _lap_times(tokens, start)
    yield from _vague_amounts(tokens, start, nouns)
    for number in _counts(tokens, start):
        yield from _with_units(tokens, number, nouns)
        if (
            _is_digits(tokens, start)
            and number.end == start + 2
            and tokens[start + 1].key == "k"
        ):
            # runners omit the unit: 5k
            yield _amount_of(number.value, {"length-meter"}), number.end


def _vague_amounts(
    tokens: Sequence[Token], start: int, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield the amounts of about two at a token: a couple of hours."""
    begin = start + (tokens[start].key in _ONES)
    if begin < len(tokens) and tokens[begin].key == "couple":
        ends = [begin + 1]
        if begin + 1 < len(tokens) and tokens[begin + 1].key == "of":
            ends.append(begin + 2)
        for couple_end in ends:
            couple = Number(Fraction(2), couple_end)
            for amount, end in _with_units(tokens, couple, nouns):
                yield replace(amount, about=True), end


def _is_digits(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].is_number


def _counts(tokens: Sequence[Token], start: int) -> Iterator[Number]:
    for number in read_numbers(tokens, start):
        yield number
        # three quarters of an hour
        link = [token.key for token in tokens[number.end - 1 : number.end + 1]]
        if link[0] == "of" and link[-1] in _ONES:
            yield number._replace(end=number.end + 1)
    if tokens[start].key in _ONES and start + 1 < len(tokens):
        yield Number(Fraction(1), start + 1)
    if (
        tokens[start].key == "half"
        and start + 1 < len(tokens)
        and tokens[start + 1].key in _ONES
    ):
        yield Number(Fraction(1, 2), start + 2)


def _amount_of(
    value: Fraction, units: set[str], *, likely: bool = True, ordinal: bool = False
) -> Amount:
    return Amount(value, value, frozenset(units), likely=likely, ordinal=ordinal)


def _with_units(
    tokens: Sequence[Token], number: Number, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield a number with each unit that may follow it, and alone."""
    article = tokens[number.end - 1].key in _ONES and number.value == 1
    if not article:
        yield (
            _amount_of(
                number.value, set(), likely=number.likely, ordinal=number.ordinal
            ),
            number.end,
        )
    if number.ordinal:
        yield from _with_noun(tokens, number, nouns)
        return
    unit_place = number.end + _is_hyphen(tokens, number.end)
    for unit, end in units_at(tokens, unit_place):
        yield from _with_smaller(tokens, number, unit, end)
    codes, end = _currency_at(tokens, number.end)
    if not codes and number.end + 1 < len(tokens) and tokens[number.end + 1].is_word:
        # a currency with its country: Swiss euros
        codes, end = _currency_at(tokens, number.end + 1)
    # in "a $5 discount" the sign belongs to the five
    if codes and (tokens[number.end].is_word or not article):
        # "a real" is seldom one of Brazil's
        yield _amount_of(number.value, codes, likely=number.likely and not article), end
        yield from _with_cents(tokens, number, codes, end)
    if (
        not article
        and not codes
        and not any(True for _ in units_at(tokens, number.end))
    ):
        yield from _with_noun(tokens, number, nouns)


def _is_hyphen(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a hyphen joins a number and its unit: a 15-minute walk."""
    if place + 1 >= len(tokens) or tokens[place].key != "-":
        return False
    is_joined = tokens[place - 1].end == tokens[place].start
    return is_joined and tokens[place + 1].is_word


def _with_noun(
    tokens: Sequence[Token], number: Number, nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield a number of things: 12 plants; a bare number if they are the things asked for."""
    end = number.end
    if end < len(tokens) and tokens[end].key in _TIMES_WORDS:
        yield _amount_of(number.value, {TIMES}, likely=number.likely), end + 1
        return
    links = {*STOP_WORDS, *cldr.list_words(), *cldr.list_words("or")}
    stems: list[str] = []
    for token in tokens[end : end + _LONGEST]:
        # in "six one" the second is no thing that is counted
        if not token.is_word or token.key in links or token.key in number_words():
            return
        stems.append(_noun_stem(token.key))
        unasked = [stem for stem in stems if stem not in nouns]
        units = {COUNTED + " ".join(stems)} if unasked else set()
        amount = _amount_of(
            number.value, units, likely=number.likely, ordinal=number.ordinal
        )
        yield amount, end + len(stems)


def _noun_stem(word: str) -> str:
    if word.endswith("s") and len(word) > _LONGEST:
        return word[:-1]
    return word


def _with_smaller(
    tokens: Sequence[Token], number: Number, unit: cldr.UnitName, end: int
) -> Iterator[tuple[Amount, int]]:
    """Yield an amount, and its sum with a smaller one after it: 5 feet 11 inches, an hour and a half."""
    likely = number.likely and unit.likely
    amount = _amount_of(number.value, {unit.unit}, likely=likely)
    yield amount, end
    begin = end + (end < len(tokens) and tokens[end].key in ("and", ","))
    for smaller in read_numbers(tokens, begin):
        if begin > end and _is_part_in_words(tokens, begin, smaller):
            yield (
                _amount_of(number.value + smaller.value, {unit.unit}, likely=likely),
                smaller.end,
            )
        for part, part_end in units_at(tokens, smaller.end):
            total = _sum_in_smaller(number.value, unit.unit, smaller.value, part.unit)
            if total is not None:
                yield _amount_of(total, {part.unit}, likely=likely), part_end
        implied = _NEXT_SMALLER.get(unit.unit)
        if implied and begin == end:
            total = _sum_in_smaller(number.value, unit.unit, smaller.value, implied)
            if total is not None:
                yield _amount_of(total, {implied}), smaller.end


def _with_cents(
    tokens: Sequence[Token], number: Number, codes: set[str], end: int
) -> Iterator[tuple[Amount, int]]:
    """Yield an amount of money with the hundredths after it: a dollar fifty."""
    if number.value.denominator != 1 or not tokens[end - 1].is_word:
        return
    has_link = end < len(tokens) and tokens[end].key == "and"
    for cents in read_numbers(tokens, end + has_link):
        is_named = cents.end < len(tokens) and tokens[cents.end].key in _CENT_NAMES
        if (
            0 < cents.value < _CENTS
            and not cents.ordinal
            and (is_named or not has_link)
        ):
            total = number.value + cents.value / _CENTS
            yield _amount_of(total, codes), cents.end + is_named


def _is_part_in_words(tokens: Sequence[Token], begin: int, number: Number) -> bool:
    # "twenty minutes and half an hour" are two amounts
    around_end = tokens[number.end - 1 : number.end + 1]
    is_apart = any(token.key in ("a", "an") for token in around_end)
    return 0 < number.value < 1 and tokens[begin].is_word and not is_apart


def _sum_in_smaller(
    large: Fraction, unit: str, small: Fraction, smaller: str
) -> Fraction | None:
    """Return the sum of two amounts in the smaller unit; None if they do not add up."""
    factor = conversion_factor(unit, smaller)
    if factor is None or factor <= 1 or small >= factor or large.denominator != 1:
        return None
    return large * Fraction(factor).limit_denominator(1000) + small


def units_at(
    tokens: Sequence[Token], place: int
) -> Iterator[tuple[cldr.UnitName, int]]:
    """Yield the units named at a token, longest name first; case-insensitive only if no case matches."""
    for size in range(min(4, len(tokens) - place), 0, -1):
        words = [token.text.replace(".", "") for token in tokens[place : place + size]]
        # a full stop after a name ends a sentence
        if not words[-1]:
            continue
        # "km / h" may be spaced, the figure of "m2" touches
        is_spaced = any(
            token.is_number and token.start > before.end
            for before, token in pairwise(tokens[place : place + size])
        )
        glues = (" ",) if is_spaced else (" ", "")
        for glue in glues:
            name = glue.join(words)
            name = _primes(name.replace("''", '"'))
            units = cldr.unit_names().get(name, frozenset())
            is_letter = len(name) == 1 and bool(units)
            if not is_letter and not any(unit.likely for unit in units):
                units = cldr.folded_unit_names().get(name.casefold(), units)
            if units:
                for unit in units:
                    yield unit, place + size
                return
    if place < len(tokens) and tokens[place].is_word:
        identity = _unit_by_pint(tokens[place].key)
        if identity:
            yield cldr.UnitName(identity, likely=True), place + 1


def _primes(name: str) -> str:
    return name.replace("'", "\u2032").replace('"', "\u2033")


def _currency_at(tokens: Sequence[Token], place: int) -> tuple[set[str], int]:
    for size in range(min(3, len(tokens) - place), 0, -1):
        name = _phrase(tokens[place : place + size])
        # codes that are words: ALL, XFO's "or"
        if name in STOP_WORDS:
            continue
        names = cldr.currency_names()
        glued = "".join(token.key for token in tokens[place : place + size])
        is_glued = tokens[place].start + len(glued) == tokens[place + size - 1].end
        codes = names.get(name) or (names.get(glued) if is_glued else None)
        if codes:
            return {_MONEY + code for code in codes}, place + size
    return set(), place


def _money_before_number(
    tokens: Sequence[Token], start: int
) -> Iterator[tuple[Amount, int]]:
    sign = tokens[start].key in ("-", "+")
    codes, place = _currency_at(tokens, start + sign)
    if codes:
        for number in read_numbers(tokens, place):
            value = -number.value if sign and tokens[start].key == "-" else number.value
            yield _amount_of(value, codes, likely=number.likely), number.end


def _lap_times(tokens: Sequence[Token], start: int) -> Iterator[tuple[Amount, int]]:
    """Yield the lengths of time that digits with colons may mean: 25:50, 1:02:03."""
    parts = tokens[start : start + 5]
    if (
        len(parts) >= 3
        and parts[1].text == ":"
        and _are_sixtieths(parts[2:3])
        and parts[0].text.isdecimal()
    ):
        minutes = Fraction(int(parts[0].text) * 60 + int(parts[2].text))
        if len(parts) == 5 and parts[3].text == ":" and _are_sixtieths(parts[4:]):
            yield (
                _amount_of(minutes * 60 + int(parts[4].text), {"duration-second"}),
                start + 5,
            )
        else:
            yield _amount_of(minutes, {"duration-second"}), start + 3
            yield _amount_of(minutes, {"duration-minute"}, likely=False), start + 3


def _are_sixtieths(tokens: Sequence[Token]) -> bool:
    return all(
        len(token.text) == 2 and token.text.isdecimal() and int(token.text) < 60
        for token in tokens
    )


# --- Rates.


def _with_rate(
    tokens: Sequence[Token], amount: Amount, place: int
) -> Iterator[tuple[Amount, int]]:
    """Yield an amount per period: 3 times a week, 20 dollars per hour."""
    if place < len(tokens) and tokens[place].key in _PER:
        for count, unit, end in _periods(tokens, place + 1):
            joined = {_joined_unit(name, unit) for name in amount.units} - {""}
            if joined and count == 1:
                # a unit of its own: miles an hour
                yield replace(amount, units=frozenset(joined)), end
            else:
                yield replace(amount, per=(count, unit)), end
    elif place < len(tokens):
        for period in _rate_words().get(tokens[place].key, []):
            yield replace(amount, per=period), place + 1


def _joined_unit(unit: str, period: str) -> str:
    """Return the id of the unit that an amount has in a period: miles an hour; "" if there is none."""
    name = f"{unit.partition('-')[2]}-per-{period.partition('-')[2]}"
    return next((known for known in cldr.unit_ids() if known.endswith(f"-{name}")), "")


def _frequencies(
    tokens: Sequence[Token], begin: int, _nouns: frozenset[str]
) -> Iterator[tuple[Amount, int]]:
    """Yield the frequencies at a token: every other week, weekly."""
    once = _amount_of(Fraction(1), {TIMES})
    if tokens[begin].key in ("every", "each"):
        for count, unit, end in _periods(tokens, begin + 1):
            yield replace(once, per=(count, unit)), end
    for period in _rate_words().get(tokens[begin].key, []):
        yield replace(once, per=period), begin + 1


def _periods(
    tokens: Sequence[Token], place: int
) -> Iterator[tuple[Fraction, str, int]]:
    if place >= len(tokens):
        return
    counts = [
        (Fraction(1), place),
        *((number.value, number.end) for number in read_numbers(tokens, place)),
    ]
    if tokens[place].key in ("other", "second"):
        counts = [(Fraction(2), place + 1)]
    for count, begin in counts:
        for unit, end in units_at(tokens, begin):
            if unit.likely and unit.unit.startswith("duration-"):
                yield count, unit.unit, end


@cache
def _rate_words() -> Mapping[str, list[tuple[Fraction, str]]]:
    """Return the periods of adverbs such as weekly; two of them are ambiguous."""
    rates = LEXICON.keys_by_word("rates").items()
    periods = {word: [(Fraction(1), f"duration-{unit}")] for word, unit in rates}
    twice = Fraction(2)
    half = Fraction(1, 2)
    periods["fortnightly"] = [(twice, "duration-week")]
    for word, unit in (("biweekly", "week"), ("bimonthly", "month")):
        periods[word] = [(twice, f"duration-{unit}"), (half, f"duration-{unit}")]
    return periods


# --- Comparing.


def compare_amounts(first: Amount, second: Amount) -> Sameness:
    """Compare two readings of amounts; a bare number may have any unit."""
    if first.per and second.per:
        return _compare_rates(first, second)
    if first.per or second.per:
        plain = _compare_plain(replace(first, per=None), replace(second, per=None))
        # 68 mph and 68 miles an hour have other units
        is_comparable = first.units == second.units and plain is not Sameness.SAME
        return plain if is_comparable else Sameness.UNKNOWN
    return _compare_plain(first, second)


def _compare_plain(first: Amount, second: Amount) -> Sameness:
    if first.is_exact and second.is_exact:
        return _compare_exact(first, second)
    if first.about or second.about:
        return _compare_rough(first, second)
    ends = [_compare_ends(first, second, "low"), _compare_ends(first, second, "high")]
    if first.has_bound != second.has_bound:
        return _compare_with_bound(first, second, ends)
    if Sameness.OTHER in ends or first.open_ends != second.open_ends:
        return Sameness.OTHER
    if set(ends) == {Sameness.SAME}:
        return Sameness.SAME
    return Sameness.UNKNOWN


def _compare_with_bound(
    first: Amount, second: Amount, ends: Sequence[Sameness]
) -> Sameness:
    """Compare an amount and a bound, given the results for their ends."""
    if Sameness.SAME in ends:
        # at least five may be five, more than five may not
        is_open = first.open_ends or second.open_ends
        return Sameness.OTHER if is_open else Sameness.UNKNOWN
    # 1,299 may be just under 1,300
    mine, theirs = (amount.low or amount.high for amount in (first, second))
    is_near = _is_near(mine, theirs) and not first.units.isdisjoint(second.units)
    return Sameness.UNKNOWN if is_near else Sameness.OTHER


def _compare_ends(first: Amount, second: Amount, end: str) -> Sameness:
    mine = getattr(first, end)
    theirs = getattr(second, end)
    if mine is None or theirs is None:
        return Sameness.SAME if mine is theirs else Sameness.OTHER
    return _compare_exact(
        replace(first, low=mine, high=mine), replace(second, low=theirs, high=theirs)
    )


def _compare_rough(first: Amount, second: Amount) -> Sameness:
    mine, theirs = (replace(amount, about=False) for amount in (first, second))
    ends = {_compare_ends(mine, theirs, end) for end in ("low", "high")}
    # whoever converts 100 km says "about 62 miles"
    is_converted = mine.is_exact and mine.low != theirs.low
    if ends == {Sameness.SAME} and (is_converted or first.about == second.about):
        return Sameness.SAME
    is_in_one_unit = not (first.units and second.units) or first.units & second.units
    is_near = _is_near(mine.low or mine.high, theirs.low or theirs.high)
    if Sameness.OTHER in ends and not (is_in_one_unit and is_near):
        return Sameness.OTHER
    return Sameness.UNKNOWN


def _is_near(mine: Fraction | None, theirs: Fraction | None) -> bool:
    if mine is None or theirs is None:
        return False
    return _distance(float(mine), float(theirs)) <= _ROUGHLY


def _distance(mine: float, theirs: float) -> float:
    """Return how far two numbers are apart, as a share of the larger one."""
    return abs(mine - theirs) / max(abs(mine), abs(theirs), 1e-12)


def _compare_exact(first: Amount, second: Amount) -> Sameness:
    mine = first.low
    theirs = second.low
    if mine is None or theirs is None:
        return Sameness.UNKNOWN
    if not first.units or not second.units or first.units == second.units:
        return _compare_bare(first, second)
    if first.units & second.units:
        return Sameness.SAME if mine == theirs else Sameness.OTHER
    results = {
        _compare_converted(mine, unit, theirs, other)
        for unit in first.units
        for other in second.units
    }
    return results.pop() if len(results) == 1 else Sameness.UNKNOWN


def _compare_bare(first: Amount, second: Amount) -> Sameness:
    """Compare numbers if one has no unit, or both have the same."""
    if first.low == second.low or _percent_value(first) == _percent_value(second):
        return Sameness.SAME
    percents = [amount for amount in (first, second) if _PERCENT in amount.units]
    if len(percents) == 1 and _is_rounded_share(percents[0], first, second):
        return Sameness.SAME
    units = first.units | second.units
    if first.units != second.units and _may_be_converted(first, second, units):
        return Sameness.UNKNOWN
    return Sameness.OTHER


def _is_rounded_share(percentage: Amount, *amounts: Amount) -> bool:
    """Return whether a whole percentage is a rounded fraction: 33 % for a third."""
    shares = [_percent_value(amount) for amount in amounts]
    is_whole = percentage.low is not None and percentage.low.denominator == 1
    return is_whole and round(shares[0] * 100) == round(shares[1] * 100)


def _percent_value(amount: Amount) -> Fraction:
    """Return a percentage as a share, and any other number unchanged."""
    return (amount.low or Fraction(0)) / (100 if _PERCENT in amount.units else 1)


def _may_be_converted(first: Amount, second: Amount, units: frozenset[str]) -> bool:
    """Return whether a bare number may be in another unit of the same kind: 90 for an hour and a half."""
    ratio = abs(Fraction(first.low or 0) / second.low) if second.low else Fraction(0)
    return any(
        factor is not None
        and factor != 1
        and ratio in (_as_fraction(factor), _as_fraction(1 / factor))
        for unit in units
        for factor in (conversion_factor(unit, other) for other in _units_alike(unit))
    )


def _as_fraction(factor: float) -> Fraction:
    return Fraction(factor).limit_denominator(10**6)


def _compare_converted(
    mine: Fraction, unit: str, theirs: Fraction, other: str
) -> Sameness:
    counted = [name.startswith(COUNTED) or name == TIMES for name in (unit, other)]
    if any(counted):
        # 12 plants and 12 flowers may be the same
        return Sameness.UNKNOWN
    if unit.startswith(_MONEY) or other.startswith(_MONEY):
        return Sameness.OTHER
    generic = "temperature-generic" in (unit, other)
    if generic and unit.startswith("temperature") and other.startswith("temperature"):
        return Sameness.SAME if mine == theirs else Sameness.OTHER
    return _compare_measures(float(mine), unit, float(theirs), other)


def _compare_measures(mine: float, unit: str, theirs: float, other: str) -> Sameness:
    sizes = _in_one_unit(mine, unit, theirs, other)
    if sizes is None:
        if unit.split("-", maxsplit=1)[0] != other.split("-", maxsplit=1)[0]:
            return Sameness.OTHER
        return Sameness.UNKNOWN
    result = _compare_sizes(*sizes, exact_units=_are_exact(unit, other))
    if result is not Sameness.UNKNOWN or not _are_exact(unit, other):
        return result
    # nobody rounds 11,000 m to 10 km
    if _is_multiple(unit, other):
        return Sameness.OTHER
    # in units of another system it is rounded: 8 km for 5 miles
    return Sameness.SAME if _distance(*sizes) <= _CONVERTED else result


def _is_multiple(unit: str, other: str) -> bool:
    """Return whether one unit is a whole number of the other: an hour, but not a month of days."""
    factor = conversion_factor(unit, other) or 0.5
    factors = (factor, 1 / factor)
    return _are_exact(unit, other) and any(
        abs(number - round(number)) < _EXACTLY for number in factors if number >= 1
    )


def _are_exact(unit: str, other: str) -> bool:
    """Return whether the conversion of two units is exact: minutes and hours, but not days and months."""
    by_calendar = [name.endswith(_CALENDAR_UNITS) for name in (unit, other)]
    return by_calendar[0] == by_calendar[1]


def _compare_sizes(mine: float, theirs: float, *, exact_units: bool) -> Sameness:
    apart = _distance(mine, theirs)
    if apart <= _EXACTLY:
        return Sameness.SAME if exact_units else Sameness.UNKNOWN
    return Sameness.UNKNOWN if apart <= _ROUGHLY else Sameness.OTHER


def _compare_rates(first: Amount, second: Amount) -> Sameness:
    (count, unit) = first.per or (Fraction(1), "")
    (other_count, other_unit) = second.per or (Fraction(1), "")
    mine = replace(first, per=None)
    theirs = replace(second, per=None)
    factor = conversion_factor(unit, other_unit)
    if factor is None:
        return (
            Sameness.UNKNOWN
            if unit.split("-")[0] == other_unit.split("-")[0]
            else Sameness.OTHER
        )
    if not (mine.is_exact and theirs.is_exact):
        return (
            _compare_plain(mine, theirs)
            if unit == other_unit and count == other_count
            else Sameness.UNKNOWN
        )
    if unit == other_unit:
        return _compare_plain(_divided(mine, count), _divided(theirs, other_count))
    if mine.units and theirs.units and mine.units.isdisjoint(theirs.units):
        return Sameness.UNKNOWN
    rates = (
        float(mine.low or 0) / (float(count) * factor),
        float(theirs.low or 0) / float(other_count),
    )
    return _compare_sizes(*rates, exact_units=_are_exact(unit, other_unit))


def _divided(amount: Amount, count: Fraction) -> Amount:
    value = (amount.low or Fraction(0)) / count
    return replace(amount, low=value, high=value)


# --- Units, with Pint.


@cache
def _pint() -> ModuleType:
    """Return the same module every time: tests of a project may import it anew, with other error classes."""
    import pint

    return pint


@cache
def _registry() -> Any:
    registry = _pint().UnitRegistry(autoconvert_offset_to_baseunit=True)
    # Pint's own decade is a ratio of frequencies
    registry.define(f"{_TEN_YEARS} = 10 * year")
    return registry


@cache
def _pint_unit(unit: str) -> Any:
    """Return Pint's unit for a CLDR id; None if Pint has none."""
    errors = _pint().errors
    parts = unit.partition("-")[2].split("-per-")
    try:
        return _registry().parse_units("/".join(map(_pint_name, parts)))
    except (errors.UndefinedUnitError, ValueError, errors.DefinitionSyntaxError):
        return None


_TEN_YEARS = "calendar_decade"


def _pint_name(name: str) -> str:
    if name == "decade":
        return _TEN_YEARS
    for power, word in ((2, "square-"), (3, "cubic-")):
        if name.startswith(word):
            return f"{name.removeprefix(word).replace('-', '_')}**{power}"
    return name.replace("-", "_")


@cache
def conversion_factor(unit: str, other: str) -> float | None:
    """Return the factor from one unit to another; None if it is not fixed."""
    if unit == other:
        return 1.0
    sizes = None
    if not unit.startswith("temperature"):
        sizes = _in_one_unit(1.0, other, 1.0, unit)
    return sizes[1] if sizes else None


def _in_one_unit(
    mine: float, unit: str, theirs: float, other: str
) -> tuple[float, float] | None:
    """Return two amounts in the first unit; None if the units are unknown or measure different things."""
    first = _pint_unit(unit)
    second = _pint_unit(other)
    if first is None or second is None or first.dimensionality != second.dimensionality:
        return None
    return mine, float(_registry().Quantity(theirs, second).to(first).magnitude)


@cache
def _units_alike(unit: str) -> tuple[str, ...]:
    kind = unit.partition("-")[0]
    return tuple(name for name in cldr.unit_ids() if name.partition("-")[0] == kind)


@cache
def _unit_by_pint(word: str) -> str:
    """Return the CLDR id of a unit name that only Pint knows: `lbs`, `metres`; "" if none."""
    if len(word) < _LONGEST:
        return ""
    names = [found for found in _registry().parse_unit_name(word) if not found[0]]
    if not names:
        return ""
    for unit in _ids_by_pint_name().get(names[0][1], ()):
        return unit
    return ""


@cache
def _ids_by_pint_name() -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for unit in cldr.unit_ids():
        ids.setdefault(unit.partition("-")[2].replace("-", "_"), []).append(unit)
    return ids
