"""Arithmetic without end: when the facts of a pool are used up, no conversation runs out of new questions."""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_ltm.fillers._quiz import Cost, Fact, cost_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from pytest_ltm._tokens import TokenCounter


_Numbers: TypeAlias = tuple[int, int, int]
_CostOf: TypeAlias = "Callable[[int, _Numbers, int, Fact], Cost]"


class _Form(NamedTuple):
    question: str
    """Each number stands where `{}` is, after a space of its own."""
    answer: Callable[[int, int, int], int]
    """At least 0 and below 1,000 for three numbers of LOW to HIGH - 1."""


_LOW, _HIGH = 10, 310
_FORMS = (
    _Form("What is{} +{} +{}?", lambda a, b, c: a + b + c),
    _Form("Add{} and{}, then double{} and add that, too. What is the sum modulo 1000?",
          lambda a, b, c: (a + b + 2 * c) % 1000),
    _Form("What remains when the sum of{} and{} is divided by{}?", lambda a, b, c: (a + b) % c),
    _Form("What is the product of{} and{}, plus{}, modulo 997?", lambda a, b, c: (a * b + c) % 997),
    _Form("What is the difference between the largest and the smallest of{},{} and{}?",
          lambda a, b, c: max(a, b, c) - min(a, b, c)),
    _Form("Which of{},{} and{} comes second in ascending order?", lambda a, b, c: sorted((a, b, c))[1]),
    _Form("How far is{} +{} from{}?", lambda a, b, c: abs(a + b - c)),
)  # fmt: skip
_EACH = _HIGH - _LOW
_SIZE = len(_FORMS) * _EACH**3
"""Distinct questions: 189 millions."""


def arithmetic(rng: Random, counter: TokenCounter) -> Iterator[tuple[Fact, Cost]]:
    """Yield facts with their costs, never one twice before all have come, in constant memory."""
    step = rng.randrange(_SIZE // 3, _SIZE // 2)
    while gcd(step, _SIZE) != 1:
        step += 1
    cost = _adding(counter) if counter.additive else _counting(counter)
    at = rng.randrange(_SIZE)
    while True:
        at = (at + step) % _SIZE
        rest, form = divmod(at, len(_FORMS))
        rest, a = divmod(rest, _EACH)
        b, c = divmod(rest, _EACH)
        numbers = (a + _LOW, b + _LOW, c + _LOW)
        answer = _FORMS[form].answer(*numbers)
        fact = _fact(form, numbers, answer)
        yield fact, cost(form, numbers, answer, fact)


def _fact(form: int, numbers: _Numbers, answer: int) -> Fact:
    a, b, c = numbers
    return Fact(_FORMS[form].question.format(f" {a}", f" {b}", f" {c}"), str(answer))


def _counting(counter: TokenCounter) -> _CostOf:
    return lambda _form, _numbers, _answer, fact: cost_of(fact, counter)


@cache
def _adding(counter: TokenCounter) -> _CostOf:
    """Return a cost that counts each form and each number once, and then only adds.

    Encodings cut a text wherever digits begin (with the space before them) and end, so it is exact for them.
    """

    @cache
    def spaced(number: int) -> int:
        return counter.count(f" {number}")

    @cache
    def bare(number: int) -> int:
        return counter.count(str(number))

    def frame(form: int) -> Cost:
        message, both = cost_of(_fact(form, (0, 0, 0), 0), counter)
        return Cost(message - 4 * spaced(0), both - 4 * spaced(0) - bare(0))

    frames = [frame(form) for form in range(len(_FORMS))]

    def cost(form: int, numbers: _Numbers, answer: int, _fact: Fact) -> Cost:
        message, both = frames[form]
        a, b, c = numbers
        added = spaced(a) + spaced(b) + spaced(c) + spaced(answer)
        return Cost(message + added, both + added + bare(answer))

    return cost
