"""Facts about whole numbers: numerals, powers, divisors, sequences."""

from __future__ import annotations

from math import gcd, isqrt, lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""".split()  # noqa: SIM905 - reads better than a column of strings
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    yield from _numerals()
    yield from _powers()
    yield from _divisors()
    yield from _sequences()
    yield from _shares()


def roman(number: int) -> str:
    """Return a number from 1 to 3999 in Roman numerals."""
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def words(number: int) -> str:
    """Return a number below 1,000 in English words."""
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    small = _ONES[rest] if rest < len(_ONES) else _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    if not hundreds:
        return small
    return f"{_ONES[hundreds]} hundred" + (f" {small}" if rest else "")


def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, ... `11th` ..."""
    last = number % 10 if number // 10 % 10 != 1 else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def primes(below: int) -> list[int]:
    """Return the primes below a limit, in order."""
    return [n for n in range(2, below) if _smallest_factor(n) == n]


def _smallest_factor(n: int) -> int:
    return next((d for d in range(2, isqrt(n) + 1) if n % d == 0), n)


def _numerals() -> Iterator[tuple[str, object]]:
    for n in range(4, 400):
        yield f"How is the number {n} written in Roman numerals?", roman(n)
        yield f"Which number do the Roman numerals {roman(n + 396)} stand for?", n + 396
    for n in range(16, 256):
        yield f"How is the decimal number {n} written in hexadecimal?", f"{n:X}"
        yield f"What is the hexadecimal number {n + 240:X} in decimal?", n + 240
    for n in range(5, 128):
        yield f"How is the decimal number {n} written in binary?", f"{n:b}"
        yield f"How is the decimal number {n + 123} written in octal?", f"{n + 123:o}"
    for n in range(21, 1000, 3):
        yield f"How is {n} written in English words?", words(n)
    for n in range(22, 1000, 4):
        yield f"Which number is written as {words(n)}?", n
    for n in range(1, 150):
        yield f"What is the short form of the ordinal number that belongs to {n}?", ordinal(n)


def _powers() -> Iterator[tuple[str, object]]:
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


def _divisors() -> Iterator[tuple[str, object]]:
    for n in range(101, 700, 2):
        yield f"Is {n} a prime number?", "yes" if _smallest_factor(n) == n else "no"
    for n in range(703, 1400, 2):
        if _smallest_factor(n) != n:
            yield f"What is the smallest prime factor of {n}?", _smallest_factor(n)
    for n in range(12, 260):
        yield f"How many positive divisors has {n}?", sum(n % d == 0 for d in range(1, n + 1))
    for a in range(12, 100, 4):
        for b in range(a + 3, 120, 9):
            yield f"What is the greatest common divisor of {a} and {b}?", gcd(a, b)
    for a in range(6, 40, 2):
        for b in range(a + 2, 60, 7):
            yield f"What is the least common multiple of {a} and {b}?", lcm(a, b)


def _sequences() -> Iterator[tuple[str, object]]:
    for i, prime in enumerate(primes(1000), start=1):
        yield f"What is the {ordinal(i)} prime number?", prime
    for n in range(5, 155):
        yield f"What is the sum of all whole numbers from 1 to {n}?", n * (n + 1) // 2
    before, number = 1, 1
    for i in range(3, 50):
        before, number = number, before + number
        yield f"If the Fibonacci sequence begins with 1 and 1, what is its {ordinal(i)} number?", number
    product = 6
    for n in range(4, 16):
        product *= n
        yield f"What is the factorial of {n}?", product
    for n in range(120, 900, 7):
        yield f"What is the sum of the digits of {n}?", sum(map(int, str(n)))
        yield f"Which number results when the digits of {n + 1} are read backwards?", int(str(n + 1)[::-1])


def _shares() -> Iterator[tuple[str, object]]:
    for percent in (5, 10, 15, 20, 25, 30, 40, 60, 75, 80):
        for whole in range(120, 520, 20):
            yield f"How much is {percent} percent of {whole}?", percent * whole // 100
    for part in (3, 4, 6, 7, 8, 9):
        for n in range(11, 51):
            yield f"If {part} equal parts make up {part * n}, how much is one part?", n
