"""Fact: a user's statement about themselves, with an invented value that no model can guess."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ltm.language.proof import prove

_NOUNS = """
boat anchor blanket bicycle candle canoe carpet compass curtain drum easel ferret fiddle
garden goat hammock harp kettle kite ladder lantern loom mirror oven parrot piano pillow
pony quilt rabbit scarf sledge stove tent telescope tortoise trumpet umbrella violin wagon
"""
SUBJECTS = tuple(_NOUNS.split())
_ONSETS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_SYLLABLES = 5
# Words that mark a value as past. This is a rule, not a list of stores' formats;
# `prove` judges values that are marked differently.
_PAST = re.compile(
    r"\b(?:superseded|outdated|obsolete|former|formerly|previous|previously|past|until|was|were|retracted"
    r"|withdrawn|invalid|invalidated|expired|historical|old|no longer|used to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """The name of something that belongs to the user."""

    subject: str
    value: str

    @property
    def text(self) -> str:
        """The message that states the fact."""
        return f"The name of my {self.subject} is {self.value}."

    @property
    def question(self) -> str:
        """The question that the fact answers."""
        return f"What is the name of my {self.subject}?"

    @property
    def other_words(self) -> str:
        """The same question, with few words in common with the fact."""
        return f"How do I call the {self.subject} that I own?"

    def renamed(self, value: str) -> Fact:
        """Return the fact with another value."""
        return Fact(self.subject, value)

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the value."""
        return self.value.casefold() in text.casefold()

    def is_current_in(self, text: str, *other_facts: Fact) -> bool:
        """Return whether a text asserts the value as current; `other_facts`: other values of the subject."""
        if not self.is_in(text):
            return False
        values = [self.value, *(fact.value for fact in other_facts)]
        proof = prove(text, values, question=self.question)
        is_alone = not any(fact.is_in(text) for fact in other_facts)
        if is_alone and _PAST.search(
            text.casefold().replace(self.value.casefold(), "")
        ):
            return False
        return proof.state == "asserts" and proof.value == self.value


class FactMaker:
    """Draws facts on different subjects, each with a unique value."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._subjects = iter(rng.sample(SUBJECTS, len(SUBJECTS)))
        self._drawn: set[str] = set()
        self._numbered = 0

    def value(self) -> str:
        """Return an invented word, with at least 20 bits per two syllables."""
        while True:
            letters = ""
            for _ in range(_SYLLABLES):
                letters += self._rng.choice(_ONSETS) + self._rng.choice(_VOWELS)
            word = letters.capitalize()
            if word not in self._drawn:
                self._drawn.add(word)
                return word

    def fact(self) -> Fact:
        """Return a fact on an unused subject."""
        return Fact(next(self._subjects), self.value())

    def facts(self, count: int) -> list[Fact]:
        """Return several facts."""
        return [self.fact() for _ in range(count)]

    def many(self, count: int) -> Iterator[Fact]:
        """Yield any number of facts on numbered subjects."""
        for _ in range(count):
            self._numbered += 1
            subject = f"{self._rng.choice(SUBJECTS)} {self._numbered}"
            yield Fact(subject, self.value())
