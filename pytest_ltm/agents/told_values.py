"""Told values: unlikely numbers, codes and names, who told them, and replies that assert them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import NamedTuple

from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.language.meanings import telling_keys
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.proof import prove
from pytest_ltm.language.values import Sameness, compare_values, find_values

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BETWEEN = re.compile(r"[\W_]")
_DIGITS, _CODE, _NAME = 4, 5, 5
"""Minimum significant digits of a number, characters of a code, letters of a name."""
_TOKENS = 3
"""Minimum tokens of a name: common words have fewer."""
_YEARS = range(1000, 2101)
_NUMBER = "#"


class ToldValue(NamedTuple):
    """A number, a code or a name that is unlikely by chance, with the sentence and the user that told it."""

    key: str
    """Equal for equal names and codes; the same for all numbers, which are compared by value."""
    written: str
    sentence: str
    user: str


class ToldValues:
    """The values that the users of one agent told it."""

    def __init__(self) -> None:
        self._values: dict[str, list[ToldValue]] = {}
        """Values by their key."""
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

        Both must be about the same subject: a telling word of the sentence with the
        value must occur in the message or its reply.
        """
        subjects = {*telling_keys(message), *telling_keys(reply)}
        speech = normalize(reply)
        for key, written in [*_long_numbers(speech), *_word_keys(speech)]:
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
        same = []
        for value in values:
            sameness = compare_values(value.written, written, question=message)
            if sameness is Sameness.SAME:
                same.append(value)
        return same


def _told_values(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield key and wording of long numbers, codes and uncommon names."""
    yield from _long_numbers(sentence)
    for number, (key, written) in enumerate(_word_keys(sentence)):
        is_name = number > 0 and written[0].isupper() and _is_uncommon(key)
        if is_name or _is_code(key):
            yield key, written


def _long_numbers(text: str) -> Iterator[tuple[str, str]]:
    """Yield numbers with enough digits, except years; numbers in words are always compared."""
    for found in find_values(text):
        figures = "".join(filter(str.isdigit, found.text))
        is_year = figures == found.text and int(figures) in _YEARS
        is_long = len(figures.strip("0")) >= _DIGITS and not is_year
        if found.kind == "amount" and (is_long or not figures):
            yield _NUMBER, found.text


def _word_keys(text: str) -> list[tuple[str, str]]:
    return [(_BETWEEN.sub("", word.casefold()), word) for word in _WORD.findall(text)]


def _is_code(key: str) -> bool:
    has_both = any(map(str.isdigit, key)) and any(map(str.isalpha, key))
    return has_both and len(key) >= _CODE


def _is_uncommon(key: str) -> bool:
    is_word = key.isalpha() and len(key) >= _NAME
    return is_word and count_tokens(f" {key}") >= _TOKENS


def _is_about(value: ToldValue, subjects: set[str]) -> bool:
    keys = set(telling_keys(value.sentence)) - set(telling_keys(value.written))
    return not keys.isdisjoint(subjects)


def _asserts(speech: str, written: str, message: str) -> bool:
    proof = prove(speech, [written], question=message)
    return proof.state == "asserts" and proof.value == written
