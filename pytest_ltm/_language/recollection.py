"""Whether an answer says what was told, in any form of its words and numbers, or that it cannot know."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ltm._language.numbers import words_with_digits
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.refusal import only_offers_example
from pytest_ltm._language.words import STOP_WORDS, plain_words, word_stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_STOP = frozenset(map(word_stem, (*STOP_WORDS, "called", "known", "name", "named", "titled", "used")))
_AND = lazy_pattern(r"\band\b")
_LABEL = lazy_pattern(r"\s*(?:[AQ]|step |fact )\d{1,3}[:.]\s*", re.IGNORECASE)
# Up to so many words an expected answer must be named completely.
_ALL_OF = 2
# The share of the words of a longer one.
_MOST_OF = 0.5


@dataclass(frozen=True, slots=True)
class Recollection:
    """What one question expects, and how it is recognised."""

    expected: str
    question: str = ""
    needed: frozenset[str] = field(init=False)
    """Stems of the words that carry the answer: those that the question does not say already."""

    def __post_init__(self) -> None:
        said = frozenset(recollection_keys(self.question))
        label = _LABEL.match(self.expected)
        content = frozenset(recollection_keys(self.expected[label.end() :] if label else self.expected))
        object.__setattr__(self, "needed", (content - said) or content)

    def share(self, told: frozenset[str]) -> float:
        """Return the share of what is needed that an answer tells, given as `keys` of it."""
        return len(self.needed & told) / len(self.needed) if self.needed else 0.0

    def in_full(self, texts: frozenset[str]) -> bool:
        """Tell whether an answer says enough: numbers that are needed, and something of all that an "and" joins."""
        numbers = {key for key in self.needed if key.isdecimal()}
        joined = (self.needed.intersection(recollection_keys(part)) for part in _AND.split(self.expected))
        whole = numbers <= texts and all(part & texts for part in joined if part)
        return whole and self.share(texts) >= (1 if len(self.needed) <= _ALL_OF else _MOST_OF)


def is_unsure(answer: str, one: Recollection) -> bool:
    """Tell whether an answer may say in other words what it does not say in those expected, nor in the question's."""
    told = frozenset(recollection_keys(answer))
    return not one.in_full(told) and not told <= frozenset(recollection_keys(one.question))


def is_recalled(answer: str, one: Recollection, others: Iterable[Recollection]) -> bool:
    """Tell whether an answer says the one thing that was asked for.

    An answer that tells more than half of the others, too (at least three), picks none; neither does an
    example from somebody who does not know.
    """
    told = frozenset(recollection_keys(answer))
    if not one.in_full(told) or only_offers_example(answer):
        return False
    rest = [other for other in others if other.needed - one.needed]
    too = sum(other.needed <= told for other in rest)
    return too < max(3, len(rest) / 2)


def recollection_keys(text: str) -> Iterator[str]:
    """Yield the stems of the words that carry meaning, and numbers as digits; `twenty-three` is 23."""
    for word in words_with_digits(plain_words(text)):
        key = word if word.isdecimal() else word_stem(word)
        if key not in _STOP:
            yield key


@lru_cache(maxsize=1 << 15)
def keys_of_word(word: str) -> frozenset[str]:
    """Return the same for what a text has between two blanks, remembered: texts say the same words again and again."""
    return frozenset(recollection_keys(word))
