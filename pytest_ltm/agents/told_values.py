"""ToldValues: unlikely numbers, codes and names, with the user that told each, and replies that assert them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.language.meanings import telling_keys
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.proof import prove
from pytest_ltm.language.values import Sameness, compare_values, find_values

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PUNCTUATION = re.compile(r"[\W_]")
# What is shorter may occur in a reply by chance.
_FEWEST_DIGITS = 4
_SHORTEST_CODE = 5
_SHORTEST_NAME = 5
# Common words have fewer tokens than uncommon names.
_FEWEST_TOKENS = 3
_YEARS = range(1000, 2101)
# The key of all numbers: they are compared by value.
_NUMBER = "#"


class ToldValue(NamedTuple):
    """A number, a code or a name that is unlikely by chance, with the sentence and the user that told it."""

    key: str
    """Equal for equal names and codes; the same for all numbers."""
    written: str
    """The value as the user wrote it."""
    sentence: str
    user: str


class ToldValues:
    """The values that the users of one agent told it."""

    def __init__(self) -> None:
        self._values: dict[str, list[ToldValue]] = {}
        """The values by key."""
        self._lock = threading.Lock()

    def note(self, text: str, user: str) -> None:
        """Store the values in a user's text."""
        for sentence in SENTENCE_END.split(text):
            for key, written in _told_values(sentence):
                value = ToldValue(key, written, sentence, user)
                with self._lock:
                    self._values.setdefault(key, []).append(value)

    def find_strange(self, reply: str, user: str, message: str) -> ToldValue | None:
        """Return a value that a reply asserts and only another user told; None if there is none.

        Both must be about the same subject: a telling word of the user's sentence must
        occur in the message or its reply.
        """
        subjects = {*telling_keys(message), *telling_keys(reply)}
        speech = normalize(reply)
        for key, written in chain(_long_numbers(speech), _word_keys(speech)):
            values = self._same_values(key, written, message)
            users = {value.user for value in values}
            if len(users) != 1 or user in users:
                continue
            for value in values:
                if _is_about(value, subjects) and _asserts(speech, written, message):
                    return value
        return None

    def _same_values(self, key: str, written: str, message: str) -> list[ToldValue]:
        with self._lock:
            values = list(self._values.get(key, ()))
        if key != _NUMBER:
            return values
        equal_values = []
        for value in values:
            sameness = compare_values(value.written, written, question=message)
            if sameness is Sameness.SAME:
                equal_values.append(value)
        return equal_values


def _told_values(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield key and wording of long numbers, codes and uncommon names."""
    yield from _long_numbers(sentence)
    for number, (key, written) in enumerate(_word_keys(sentence)):
        is_name = number > 0 and written[0].isupper() and _is_uncommon(key)
        if is_name or _is_code(key):
            yield key, written


def _long_numbers(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and wording of the numbers in words, and of those with enough digits that are not years."""
    for value in find_values(text):
        digits = "".join(filter(str.isdigit, value.text))
        is_year = digits == value.text and int(digits) in _YEARS
        is_long = len(digits.strip("0")) >= _FEWEST_DIGITS and not is_year
        if value.kind == "amount" and (is_long or not digits):
            yield _NUMBER, value.text


def _word_keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and wording of the words."""
    for word in _WORD.findall(text):
        yield _PUNCTUATION.sub("", word.casefold()), word


def _is_code(key: str) -> bool:
    has_both = any(map(str.isdigit, key)) and any(map(str.isalpha, key))
    return has_both and len(key) >= _SHORTEST_CODE


def _is_uncommon(key: str) -> bool:
    is_word = key.isalpha() and len(key) >= _SHORTEST_NAME
    return is_word and count_tokens(f" {key}") >= _FEWEST_TOKENS


def _is_about(value: ToldValue, subjects: set[str]) -> bool:
    keys = set(telling_keys(value.sentence)) - set(telling_keys(value.written))
    return not keys.isdisjoint(subjects)


def _asserts(speech: str, written: str, message: str) -> bool:
    proof = prove(speech, [written], question=message)
    return proof.state == "asserts" and proof.value == written
