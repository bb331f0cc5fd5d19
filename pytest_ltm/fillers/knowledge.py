"""All built-in facts: computed, or known with certainty, and never on a subject of a scenario.

The pool has `known_facts`; fillers that have used them all take `arithmetic_facts`,
which are endless.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from itertools import chain, pairwise
from math import gcd, isqrt, lcm
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, TypeAlias

from pytest_ltm.api.model import TokenCounter
from pytest_ltm.api.storage import load_packaged_yaml
from pytest_ltm.fillers.quiz import FactTokens, QuizFact, cost_of
from pytest_ltm.language.dates import DAYS, MONTHS
from pytest_ltm.language.numbers import ONES, ORDINALS, TENS

_DATA = load_packaged_yaml(__file__, "knowledge.yml")
_WORDS, _NATO, _MORSE, _GREEK, _ELEMENTS = (
    _DATA[name].split() for name in ("words", "nato", "morse", "greek", "elements")
)
_PLANETS = _DATA["planets"]
_ALSO_COLOURS = {"silver", "gold", "copper"}


def _shape_facts() -> Iterator[tuple[str, object]]:
    for n in range(5, 105):
        yield (
            f"How many diagonals has a convex polygon with {n} sides?",
            n * (n - 3) // 2,
        )
        yield (
            f"How many degrees do the interior angles of a convex polygon with {n} sides sum up to?",
            (n - 2) * 180,
        )
    for n in range(3, 90):
        yield f"Which angle in degrees is complementary to {n} degrees?", 90 - n
        yield f"Which angle in degrees is supplementary to {n + 90} degrees?", 90 - n
    for n in range(9, 70):
        yield f"How many small squares make up a board of {n} by {n} squares?", n * n
        yield (
            f"What is the perimeter of a square whose sides are {n} metres long, in metres?",
            4 * n,
        )
    for a in range(4, 30, 2):
        for b in range(a + 1, 40, 5):
            yield (
                f"What is the area in square metres of a rectangle of {a} by {b} metres?",
                a * b,
            )
    for k in range(1, 30):
        for a, b, c in ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)):
            sides = f"{k * a} and {k * b}"
            yield (
                f"How long is the longest side of a right triangle whose other sides measure {sides}?",
                k * c,
            )


def _named_shapes() -> Iterator[tuple[str, object]]:
    for name, sides in _DATA["polygons"].items():
        article = "an" if name[0] in "aeiou" else "a"
        yield f"How many sides has {article} {name}?", sides
        yield f"What is a polygon with {sides} sides called?", name
    for name, (*counts, kind) in _DATA["solids"].items():
        for part, count in zip(("faces", "edges", "vertices"), counts, strict=True):
            yield f"How many {part} has the solid called {name}?", count
        yield f"Which polygons are the faces of a regular {name}?", kind
    for semitones, name in enumerate(_DATA["intervals"], start=1):
        yield (
            f"How many semitones make up the musical interval called {name}?",
            semitones,
        )


# --- Facts about whole numbers: numerals, powers, divisors, sequences.

_ROMAN = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def roman_numeral(number: int) -> str:
    """Return a number from 1 to 3999 in Roman numerals."""
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def number_in_words(number: int) -> str:
    """Return a number below 1,000 in English words."""
    hundreds, below_hundred = divmod(number, 100)
    tens, ones = divmod(below_hundred, 10)
    if below_hundred < len(ONES):
        small = ONES[below_hundred]
    else:
        small = TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    if not hundreds:
        return small
    return f"{ONES[hundreds]} hundred" + (f" {small}" if below_hundred else "")


def ordinal_number(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, ... `11th` ..."""
    last = number % 10 if number // 10 % 10 != 1 else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def _smallest_factor(n: int) -> int:
    return next((d for d in range(2, isqrt(n) + 1) if n % d == 0), n)


def _numeral_facts() -> Iterator[tuple[str, object]]:
    for n in range(4, 400):
        yield f"How is the number {n} written in Roman numerals?", roman_numeral(n)
        yield (
            f"Which number do the Roman numerals {roman_numeral(n + 396)} stand for?",
            n + 396,
        )
    for n in range(16, 256):
        yield f"How is the decimal number {n} written in hexadecimal?", f"{n:X}"
        yield f"What is the hexadecimal number {n + 240:X} in decimal?", n + 240
    for n in range(5, 128):
        yield f"How is the decimal number {n} written in binary?", f"{n:b}"
        yield f"How is the decimal number {n + 123} written in octal?", f"{n + 123:o}"
    for n in range(21, 1000, 3):
        yield f"How is {n} written in English words?", number_in_words(n)
    for n in range(22, 1000, 4):
        yield f"Which number is written as {number_in_words(n)}?", n
    for n in range(1, 150):
        yield (
            f"What is the short form of the ordinal number that belongs to {n}?",
            ordinal_number(n),
        )


def _power_facts() -> Iterator[tuple[str, object]]:
    for n in range(11, 200):
        yield f"What is the square of {n}?", n * n
    for n in range(200, 320):
        yield f"What is the square root of {n * n}?", n
    for n in range(3, 80):
        yield f"What is the cube of {n}?", n**3
    for n in range(4, 41):
        yield f"What is 2 to the power of {n}?", 2**n
    for base in (3, 5, 6, 7):
        for n in range(3, 13):
            yield f"What is {base} to the power of {n}?", base**n
    for n in range(2, 16):
        yield f"How many zeros has 10 to the power of {n} when it is written out?", n


def _divisor_facts() -> Iterator[tuple[str, object]]:
    for n in range(101, 700, 2):
        yield f"Is {n} a prime number?", "yes" if _smallest_factor(n) == n else "no"
    for n in range(703, 1400, 2):
        if _smallest_factor(n) != n:
            yield f"What is the smallest prime factor of {n}?", _smallest_factor(n)
    for n in range(12, 260):
        yield (
            f"How many positive divisors has {n}?",
            sum(n % d == 0 for d in range(1, n + 1)),
        )
    for a in range(12, 100, 4):
        for b in range(a + 3, 120, 9):
            yield f"What is the greatest common divisor of {a} and {b}?", gcd(a, b)
    for a in range(6, 40, 2):
        for b in range(a + 2, 60, 7):
            yield f"What is the least common multiple of {a} and {b}?", lcm(a, b)


def _sequence_facts() -> Iterator[tuple[str, object]]:
    for i, prime in enumerate(
        (n for n in range(2, 1000) if _smallest_factor(n) == n), start=1
    ):
        yield f"What is the {ordinal_number(i)} prime number?", prime
    for n in range(5, 155):
        yield f"What is the sum of all whole numbers from 1 to {n}?", n * (n + 1) // 2
    before = 1
    number = 1
    for i in range(3, 50):
        before, number = number, before + number
        yield (
            f"If the Fibonacci sequence begins with 1 and 1, what is its {ordinal_number(i)} number?",
            number,
        )
    product = 6
    for n in range(4, 16):
        product *= n
        yield f"What is the factorial of {n}?", product
    for n in range(120, 900, 7):
        yield f"What is the sum of the digits of {n}?", sum(map(int, str(n)))
        yield (
            f"Which number results when the digits of {n + 1} are read backwards?",
            int(str(n + 1)[::-1]),
        )


def _share_facts() -> Iterator[tuple[str, object]]:
    for percent in (5, 10, 15, 20, 25, 30, 40, 60, 75, 80):
        for total in range(120, 520, 20):
            yield f"How much is {percent} percent of {total}?", percent * total // 100
    for part in (3, 4, 6, 7, 8, 9):
        for n in range(11, 51):
            yield f"If {part} equal parts make up {part * n}, how much is one part?", n


# --- Facts about letters, words and codes.


def morse_code(sign: str) -> str:
    """Return the Morse code of a letter or digit in words: `dot dash`."""
    code = _MORSE[(ascii_uppercase + digits).index(sign)]
    return " ".join("dot" if mark == "." else "dash" for mark in code)


def _letter_facts() -> Iterator[tuple[str, object]]:
    for i, word in enumerate(_WORDS):
        yield f"How many letters has the word '{word}'?", len(word)
        yield f"How is the word '{word}' spelled backwards?", word[::-1]
        yield (
            f"How many of the letters of '{word}' are a, e, i, o or u?",
            sum(letter in "aeiou" for letter in word),
        )
        place = i % (len(word) - 1) + 1
        yield (
            f"What is the {ordinal_number(place)} letter of the word '{word}'?",
            word[place - 1].upper(),
        )
        other_word = _WORDS[(i * 7 + 3) % len(_WORDS)]
        if other_word != word:
            yield (
                f"Which word comes first in a dictionary, '{word}' or '{other_word}'?",
                min(word, other_word),
            )
    for i, letter in enumerate(ascii_uppercase):
        yield f"Which place has the letter {letter} in the English alphabet?", i + 1
        yield (
            f"What is the {ordinal_number(i + 1)} letter of the English alphabet?",
            letter,
        )
        for step in (1, 2, 3):
            for side, neighbour in (("after", i + step), ("before", i - step)):
                if 0 <= neighbour < len(ascii_uppercase):
                    yield (
                        f"Which letter stands {step} {side} {letter} in the English alphabet?",
                        ascii_uppercase[neighbour],
                    )
    for i, letter in enumerate(_GREEK):
        yield f"Which place has {letter} in the Greek alphabet?", i + 1
        yield (
            f"What is the {ordinal_number(i + 1)} letter of the Greek alphabet?",
            letter,
        )
        if i:
            yield (
                f"Which letter of the Greek alphabet comes directly after {_GREEK[i - 1]}?",
                letter,
            )


def _code_facts() -> Iterator[tuple[str, object]]:
    for word in _NATO:
        yield (
            f"Which word stands for the letter {word[0]} in the NATO phonetic alphabet?",
            word,
        )
        yield (
            f"Which letter does {word} stand for in the NATO phonetic alphabet?",
            word[0],
        )
    for sign in ascii_uppercase + digits:
        yield f"What is the Morse code of {sign}?", morse_code(sign)
        yield f"What does {morse_code(sign)} stand for in Morse code?", sign
    for sign in ascii_uppercase + ascii_lowercase + digits:
        if sign in digits:
            kind = "digit"
        elif sign.isupper():
            kind = "capital letter"
        else:
            kind = "small letter"
        yield f"What is the decimal ASCII code of the {kind} {sign}?", ord(sign)
        yield f"Which {kind} has the decimal ASCII code {ord(sign)}?", sign
    for row in _DATA["qwerty"]:
        for left_letter, right_letter in pairwise(row):
            yield (
                f"Which letter lies to the right of {left_letter} on a QWERTY keyboard?",
                right_letter,
            )
            yield (
                f"Which letter lies to the left of {right_letter} on a QWERTY keyboard?",
                left_letter,
            )
    for digit, letters in _DATA["keypad"].items():
        yield f"Which letters are on the key {digit} of a telephone?", letters
        for letter in letters:
            yield f"On which digit key of a telephone is the letter {letter}?", digit


# --- Facts about the Gregorian calendar.

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# The first day of a common year.
_COMMON = date(2023, 1, 1)


def _calendar_facts() -> Iterator[tuple[str, object]]:
    for i, month in enumerate(MONTHS):
        yield f"How many days has {month} in a common year?", _LENGTHS[i]
        yield f"Which number has {month} among the months of the year?", i + 1
        yield f"What is the {ordinal_number(i + 1)} month of the year?", month
    for i, day in enumerate(DAYS):
        for later in range(8, 48):
            yield (
                f"Which day of the week is it {later} days after a {day}?",
                DAYS[(i + later) % 7],
            )
    for year in range(1801, 2101):
        yield (
            f"Is {year} a leap year in the Gregorian calendar?",
            "yes" if isleap(year) else "no",
        )
    for nth in range(1, 366, 2):
        when = _COMMON + timedelta(days=nth - 1)
        yield (
            f"Which date is the {ordinal_number(nth)} day of a common year?",
            _short_date(when),
        )
        yield (
            f"Which day of a common year, counted from 1, is {_short_date(when + timedelta(days=1))}?",
            nth + 1,
        )
    for number in range(date(1901, 1, 5).toordinal(), date(2100, 1, 1).toordinal(), 97):
        when = date.fromordinal(number)
        yield (
            f"On which day of the week falls {_short_date(when)} {when.year}?",
            DAYS[when.weekday()],
        )


def _short_date(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]}"


# --- Facts about chemical elements, compounds and planets.


def _element_facts() -> Iterator[tuple[str, object]]:
    names = _ELEMENTS[1::2]
    for number, (symbol, name) in enumerate(
        zip(_ELEMENTS[::2], names, strict=True), start=1
    ):
        if name in _ALSO_COLOURS:
            continue
        yield f"Which chemical element has the atomic number {number}?", name
        yield f"What is the atomic number of {name}?", number
        yield f"What is the chemical symbol of {name}?", symbol
        yield f"Which chemical element has the symbol {symbol}?", name
        after = names[number] if number < len(names) else ""
        if after and after not in _ALSO_COLOURS:
            yield f"Which element follows {name} in the order of atomic numbers?", after
    for name, formula in _DATA["formulas"].items():
        yield f"What is the chemical formula of {name}?", formula
        yield f"Which compound has the chemical formula {formula}?", name
    for i, (planet, nth) in enumerate(zip(_PLANETS, ORDINALS, strict=False)):
        yield f"Which planet of the solar system is the {nth} from the Sun?", planet
        yield (
            f"Which place has {planet} among the planets, counted from the Sun?",
            i + 1,
        )
        if i:
            yield (
                f"Which planet's orbit is the next one outside that of {_PLANETS[i - 1]}?",
                planet,
            )


# --- Facts about units of measurement.

_FREEZING = 32
_STEPS = (9, 5)


def _measure_facts() -> Iterator[tuple[str, object]]:
    for large, small, factor in _DATA["units"]:
        for n in range(2, 27):
            yield f"How many {small} are {n} {large}?", n * factor
        for n in range(27, 42):
            yield f"How many {large} are {n * factor} {small}?", n
    for prefix, power in _DATA["prefixes"].items():
        size = f"minus {-power}" if power < 0 else str(power)
        yield f"Which power of ten does the SI prefix {prefix} stand for?", size
        yield f"Which SI prefix stands for 10 to the power of {size}?", prefix
    for celsius in range(5, 305, 5):
        fahrenheit = celsius * _STEPS[0] // _STEPS[1] + _FREEZING
        yield f"How many degrees Fahrenheit are {celsius} degrees Celsius?", fahrenheit
    for offset in range(1, 13):
        for hour in range(offset % 3, 24, 3):
            for zone, clock_hour, minutes in (
                (f"+{offset}", hour + offset, "00"),
                (f"-{offset}", hour - offset, "30"),
            ):
                question = f"What does a clock set to UTC{zone} show when it is {hour:02d}:{minutes} UTC?"
                yield question, f"{clock_hour % 24:02d}:{minutes}"


# --- Facts about countries: only undisputed capitals and codes.


def _country_facts() -> Iterator[tuple[str, object]]:
    for row in _DATA["countries"].split(";"):
        country, two, three, capital = row.strip().split("|")
        yield f"What is the capital of {country}?", capital
        yield f"Of which country is {capital} the capital?", country
        yield f"What is the two-letter ISO 3166 code of {country}?", two
        yield f"Which country has the two-letter ISO 3166 code {two}?", country
        yield f"What is the three-letter ISO 3166 code of {country}?", three
        yield f"Which country has the three-letter ISO 3166 code {three}?", country


# Each yields questions with their answers; their order determines the facts that a seed
# draws.
_FIELDS = (
    _numeral_facts,
    _power_facts,
    _divisor_facts,
    _sequence_facts,
    _share_facts,
    _named_shapes,
    _shape_facts,
    _measure_facts,
    _calendar_facts,
    _letter_facts,
    _code_facts,
    _element_facts,
    _country_facts,
)


def known_facts() -> Iterator[QuizFact]:
    """Yield every fact once, in a fixed order."""
    for question, answer in chain.from_iterable(field() for field in _FIELDS):
        yield QuizFact(question, str(answer))


# --- Endless arithmetic: no conversation runs out of new questions when the facts of a
# pool are used up.

_Numbers: TypeAlias = tuple[int, int, int]
_CostOf: TypeAlias = "Callable[[int, _Numbers, int, QuizFact], FactTokens]"


class _Form(NamedTuple):
    question: str
    """Each number replaces `{}`, with a space before it."""
    answer: Callable[[int, int, int], int]
    """From 0 to 999 for three numbers from LOW to HIGH - 1."""


_LOW = 10
_HIGH = 310
_FORMS = (
    _Form("What is{} +{} +{}?", lambda a, b, c: a + b + c),
    _Form(
        "Add{} and{}, then double{} and add that, too. What is the sum modulo 1000?",
        lambda a, b, c: (a + b + 2 * c) % 1000,
    ),
    _Form(
        "What remains when the sum of{} and{} is divided by{}?",
        lambda a, b, c: (a + b) % c,
    ),
    _Form(
        "What is the product of{} and{}, plus{}, modulo 997?",
        lambda a, b, c: (a * b + c) % 997,
    ),
    _Form(
        "What is the difference between the largest and the smallest of{},{} and{}?",
        lambda a, b, c: max(a, b, c) - min(a, b, c),
    ),
    _Form(
        "Which of{},{} and{} comes second in ascending order?",
        lambda a, b, c: sorted((a, b, c))[1],
    ),
    _Form("How far is{} +{} from{}?", lambda a, b, c: abs(a + b - c)),
)
_EACH = _HIGH - _LOW
# Distinct questions: 189 million.
_SIZE = len(_FORMS) * _EACH**3


def arithmetic_facts(
    rng: Random, counter: TokenCounter
) -> Iterator[tuple[QuizFact, FactTokens]]:
    """Yield facts with their costs, without repetition until all have occurred, in constant memory."""
    step = rng.randrange(_SIZE // 3, _SIZE // 2)
    while gcd(step, _SIZE) != 1:
        step += 1
    cost: _CostOf = (
        _adding_cost(counter)
        if counter.additive
        else lambda _form, _numbers, _answer, fact: cost_of(fact, counter)
    )
    position = rng.randrange(_SIZE)
    while True:
        position = (position + step) % _SIZE
        quotient, form = divmod(position, len(_FORMS))
        quotient, a = divmod(quotient, _EACH)
        b, c = divmod(quotient, _EACH)
        numbers = (a + _LOW, b + _LOW, c + _LOW)
        answer = _FORMS[form].answer(*numbers)
        fact = _arithmetic_fact(form, numbers, answer)
        yield fact, cost(form, numbers, answer, fact)


def _arithmetic_fact(form: int, numbers: _Numbers, answer: int) -> QuizFact:
    a, b, c = numbers
    return QuizFact(
        _FORMS[form].question.format(f" {a}", f" {b}", f" {c}"), str(answer)
    )


@cache
def _adding_cost(counter: TokenCounter) -> _CostOf:
    """Return a cost function that counts each form and each number once, and then only adds.

    Encodings split a text where digits begin (with the space before them) and end, so
    the sums are exact.
    """

    @cache
    def spaced(number: int) -> int:
        return counter.count(f" {number}")

    @cache
    def bare(number: int) -> int:
        return counter.count(str(number))

    def frame(form: int) -> FactTokens:
        message, both = cost_of(_arithmetic_fact(form, (0, 0, 0), 0), counter)
        return FactTokens(message - 4 * spaced(0), both - 4 * spaced(0) - bare(0))

    frames = [frame(form) for form in range(len(_FORMS))]

    def cost(form: int, numbers: _Numbers, answer: int, _fact: QuizFact) -> FactTokens:
        message, both = frames[form]
        a, b, c = numbers
        added = spaced(a) + spaced(b) + spaced(c) + spaced(answer)
        return FactTokens(message + added, both + added + bare(answer))

    return cost
