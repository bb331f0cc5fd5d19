"""Whether an answer says what was told: the words that carry the expected answer, numbers in any form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._excuses import declines, only_offers_example
from pytest_ltm.evaluators._words import NUMBERS, STOP_WORDS, TENS, stem, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15,
}  # fmt: skip
_NOT_NUMBERS = frozenset(("a", "an", "one", "single", "couple", "pair", "dozen"))
_DIGITS = re.compile(r"(\d{1,12})(?:st|nd|rd|th)?")
_STOP = frozenset(map(stem, (*STOP_WORDS, "called", "known", "name", "named", "titled", "used")))
_LABEL = re.compile(r"\s*(?:[AQ]|step |fact )\d{1,3}[:.]\s*", re.IGNORECASE)
_ALL_OF = 2
"""Up to so many words an expected answer must be named completely."""
_MOST_OF = 0.5
"""The share of the words of a longer one."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What one question expects, and how it is recognised."""

    expected: str
    question: str = ""
    needed: frozenset[str] = field(init=False)
    """Stems of the words that carry the answer: those that the question does not say already."""

    def __post_init__(self) -> None:
        said = frozenset(keys(self.question))
        label = _LABEL.match(self.expected)
        content = frozenset(keys(self.expected[label.end() :] if label else self.expected))
        object.__setattr__(self, "needed", (content - said) or content)

    def share(self, told: frozenset[str]) -> float:
        """Return the share of what is needed that an answer tells, given as `keys` of it."""
        return len(self.needed & told) / len(self.needed) if self.needed else 0.0

    def in_full(self, told: frozenset[str]) -> bool:
        """Tell whether an answer says enough; a number that is needed must be there."""
        numbers = {key for key in self.needed if key.isdecimal()}
        return numbers <= told and self.share(told) >= (1 if len(self.needed) <= _ALL_OF else _MOST_OF)


def unsure(answer: str, one: Recollection) -> bool:
    """Tell whether an answer may say in other words what it does not say in those expected.

    Who declines, or only repeats the question, does not.
    """
    told = frozenset(keys(answer))
    return not declines(answer) and not one.in_full(told) and not told <= frozenset(keys(one.question))


def recalled(answer: str, one: Recollection, others: Iterable[Recollection]) -> bool:
    """Tell whether an answer says the one thing that was asked for.

    An answer that tells more than half of the others, too (at least three), picks none; neither does an
    example from somebody who does not know.
    """
    told = frozenset(keys(answer))
    if not one.in_full(told) or only_offers_example(answer):
        return False
    rest = [other for other in others if other.needed - one.needed]
    too = sum(other.needed <= told for other in rest)
    return too < max(3, len(rest) / 2)


def keys(text: str) -> Iterator[str]:
    """Yield the stems of the words that carry meaning, and numbers as digits; `twenty-three` is 23."""
    for word in numbered(words(text)):
        key = word if word.isdecimal() else stem(word)
        if key not in _STOP:
            yield key


def numbered(some_words: Sequence[str]) -> Iterator[str]:
    """Yield the words, each number that is written in words (or as an ordinal) in digits."""
    at = 0
    while at < len(some_words):
        value, used = _spelled(some_words, at)
        yield str(value) if used else some_words[at]
        at += used or 1


def _spelled(some_words: Sequence[str], at: int) -> tuple[int, int]:
    """Return the number that begins there, below a thousand where it is spelled, and how many words it takes."""
    value, used = _below_hundred(some_words, at)
    if not used or some_words[at + used : at + used + 1] != ["hundred"]:
        return value, used
    link = used + 1 + (some_words[at + used + 1 : at + used + 2] == ["and"])
    rest, more = _below_hundred(some_words, at + link)
    return (value * 100 + rest, link + more) if more else (value * 100, used + 1)


def _below_hundred(some_words: Sequence[str], at: int) -> tuple[int, int]:
    value = _number(some_words[at]) if at < len(some_words) else None
    if value is None:
        return 0, 0
    if some_words[at] in TENS and at + 1 < len(some_words) and (unit := _number(some_words[at + 1])) in range(1, 10):
        return value + (unit or 0), 2
    return value, 1


def _number(word: str) -> int | None:
    if digits := _DIGITS.fullmatch(word):
        return int(digits[1])
    if word in _NOT_NUMBERS:
        return None
    return NUMBERS.get(word, _ORDINALS.get(word))
