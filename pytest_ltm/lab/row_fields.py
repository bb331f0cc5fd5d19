"""Identifies the fields of a row of answers by the words in their names: question, answer, gold, grade."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from pytest_ltm.api.storage import load_packaged_yaml

_TABLE: Mapping[str, Any] = load_packaged_yaml(__file__, "answer_fields.yml")
_ROLES: Mapping[str, Mapping[str, Any]] = _TABLE["roles"]
_APART: frozenset[str] = frozenset(_TABLE["apart"])
_PLAIN: frozenset[str] = frozenset(_TABLE["plain"])
_ENTERED: frozenset[str] = frozenset(_TABLE["entered"])
_VERDICTS: Mapping[str, float] = _TABLE["verdicts"]
_DEPTH = 4
"""The maximum depth of nested objects to search."""
_WIDE = 60
"""The maximum number of fields in one."""
_FEW = 20
"""The maximum number of items in a list."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


class Leaf(NamedTuple):
    """A field with a value, at any depth of its row."""

    path: tuple[str, ...]
    words: tuple[str, ...]
    """The words of its own name, in lower case."""
    around: frozenset[str]
    """The words of the names of the objects around it."""
    value: Any


def words_of(name: str) -> tuple[str, ...]:
    """Return the words in a field's name, however they are joined, without a plural s."""
    words = (word.lower() for word in _WORD.findall(name))
    return tuple(re.sub("(?<=[^s]{2}[^su])s$", "", word) for word in words)


def leaves_of(row: Mapping[str, Any]) -> list[Leaf]:
    """Return the fields of a row and of nested objects, the outer ones first."""
    leaves: list[Leaf] = []
    waiting: list[tuple[tuple[str, ...], Any]] = [((), row)]
    for path, value in waiting:
        for name, inner in _items_of(value):
            inner_path = (*path, *words_as_path(name))
            entered = isinstance(inner, dict) or _is_entered(inner, name)
            if entered and len(inner_path) < _DEPTH:
                waiting.append((inner_path, inner))
            else:
                around = frozenset(chain.from_iterable(map(words_of, inner_path[:-1])))
                leaves.append(Leaf(inner_path, words_of(inner_path[-1]), around, inner))
    return leaves


def words_as_path(name: str) -> list[str]:
    """Return the path in a flattened name, which uses dots or slashes."""
    return [part for part in re.split(r"[./]", name) if part] or [name]


def _items_of(value: Any) -> Sequence[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), inner) for name, inner in list(value.items())[:_WIDE]]
    return [(str(place), inner) for place, inner in enumerate(value[:_FEW])]


def _is_entered(value: Any, name: str) -> bool:
    if not isinstance(value, list) or _ENTERED.isdisjoint(words_of(name)):
        return False
    return any(isinstance(member, dict) for member in value)


class RowFields:
    """The fields of a row by role, likeliest first."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        leaves = leaves_of(row)
        self.question = _ranked(leaves, "question")
        self.texts = []
        for leaf in leaves:
            if isinstance(leaf.value, str) and leaf not in self.question:
                self.texts.append(leaf.value)
        self.gold = _ranked(leaves, "gold")
        self.reply = _ranked(leaves, "reply")
        self.grade = [leaf for leaf in _ranked(leaves, "grade") if _has_grade(leaf)]
        self.error = [leaf for leaf in _ranked(leaves, "error") if leaf.value]
        # a bare `answer` is the expected one next to another answer, and vice versa
        bare = []
        for leaf in leaves:
            if leaf.words == ("answer",) and not leaf.around:
                bare.append(leaf)
        if bare and self.reply and bare[0] not in self.reply:
            self.gold += bare
        elif bare and self.gold:
            self.reply += bare

    @property
    def answers(self) -> list[Leaf]:
        """The field with the answer; several if each belongs to a model, as `NAME_prediction`."""
        for leaf in self.reply:
            if not model_of(leaf):
                return [leaf]
        return self.reply


_PREDICTION = "_prediction"


def model_of(leaf: Leaf) -> str:
    """Return the model's name in a field such as `NAME_prediction`, or ""."""
    name = leaf.path[-1]
    if name.endswith(_PREDICTION):
        return name.removesuffix(_PREDICTION)
    return ""


def _ranked(leaves: Sequence[Leaf], role: str) -> list[Leaf]:
    ranked: list[tuple[tuple[int, int], Leaf]] = []
    for leaf in leaves:
        rank = _rank_of(leaf, role)
        if rank is not None:
            ranked.append((rank, leaf))
    ranked.sort(key=lambda pair: pair[0])
    return [leaf for _, leaf in ranked]


def _rank_of(leaf: Leaf, role: str) -> tuple[int, int] | None:
    """Return a field's rank for a role, by depth and word order; None if it has another role."""
    words = set(leaf.words)
    around = leaf.around
    if not _APART.isdisjoint(words) and role not in ("grade", "error"):
        return None
    for rival in _ROLES[role]["yields to"]:
        if _word_rank(rival, words, around) is not None:
            return None
    if role == "grade" and leaf.words[-1:] == ("answer",):
        return None
    rank = _word_rank(role, words, around)
    return None if rank is None else (len(leaf.path), rank)


def _word_rank(role: str, words: set[str], around: frozenset[str]) -> int | None:
    role_words: Sequence[str] = _ROLES[role]["words"]
    for rank, word in enumerate(role_words):
        if word in words:
            return rank
    if "answer" in words and not words.isdisjoint(_ROLES[role].get("answers", ())):
        return len(role_words)
    # a plain name, such as `text`, takes the meaning of the object around it
    if around and (words <= _PLAIN or all(map(str.isdigit, words))):
        for rank, word in enumerate(role_words):
            if word in around:
                return rank + len(role_words)
    return None


# --- Values.


def text_in(value: Any) -> str | None:
    """Return the text of a value: itself, a number's, or that of a user's last message; None for others."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and value:
        messages = [member for member in value if isinstance(member, dict)]
        if messages:
            return text_in(_last_of_user(messages).get("content"))
        return text_in(value[0])
    if isinstance(value, dict):
        return text_in(value.get("text") or value.get("content"))
    return None


def _last_of_user(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the last message of a user; the last of all if none is a user's."""
    for message in messages[::-1]:
        if message.get("role") in ("user", "human"):
            return message
    return messages[-1]


def holds_one_text(leaf: Leaf) -> bool:
    """Return whether a field holds one answer: a text, messages, or a list of one under a plural name."""
    value = leaf.value
    while isinstance(value, list) and len(value) == 1 and leaf.path[-1].endswith("s"):
        value = value[0]
    if isinstance(value, list):
        return bool(value) and all(isinstance(member, dict) for member in value)
    return True


def grade_in(value: Any) -> float | None:
    """Return the grade in a value, 0 to 1: a share, a word for it, or the mean of several; None for others."""
    if isinstance(value, str):
        word = value.strip().lower().rstrip(".")
        if word in _VERDICTS:
            return _VERDICTS[word]
        try:
            value = float(word)
        except ValueError:
            return None
    if isinstance(value, list):
        grades = [grade for member in value if (grade := grade_in(member)) is not None]
        if grades and len(grades) == len(value):
            return sum(grades) / len(grades)
        return None
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return float(value)
    return None


def _has_grade(leaf: Leaf) -> bool:
    return grade_in(leaf.value) is not None


def published_grade(fields: RowFields) -> float | None:
    """Return the grade of a row: of the likeliest field, or the mean with its siblings in one object."""
    if not fields.grade:
        return None
    best = fields.grade[0]
    # several judgments of one answer are siblings
    alike = []
    for leaf in fields.grade:
        is_sibling = leaf.path[:-1] == best.path[:-1]
        if is_sibling and leaf.words[:-1] == best.words[:-1]:
            alike.append(leaf)
    if not all(leaf.words[-1].isdigit() for leaf in alike):
        alike = [best]
    grades = [grade for leaf in alike if (grade := grade_in(leaf.value)) is not None]
    return sum(grades) / len(grades)


# --- Errors of a provider, which do not count as answers.

_ERROR_START = re.compile(_TABLE["error starts"], re.IGNORECASE)
_ERROR_KIND = re.compile(_TABLE["error kinds"], re.IGNORECASE)


def provider_error(fields: RowFields, gold: str) -> str:
    """Return the error that a row contains instead of an answer, or ""."""
    answer = next((text_in(leaf.value) for leaf in fields.reply), None)
    if not answer or not answer.strip():
        found = [_error_text(leaf.value) for leaf in fields.error]
        # without a field for errors, a grader's reason may contain it
        found += filter(_reads_as_error, fields.texts)
        return next(filter(None, found), "")
    # a question may ask for an error
    asked_for = bool(gold.strip()) and gold.strip().lower() in answer.lower()
    if _reads_as_error(answer) and not asked_for:
        return answer
    return ""


def _reads_as_error(text: str) -> bool:
    """Return whether a text begins like a program's error that names its kind."""
    return bool(_ERROR_START.match(text) and _ERROR_KIND.search(text[:_FIRST]))


_FIRST = 300
"""The number of characters within which an error names its kind."""


def _error_text(value: Any) -> str:
    if isinstance(value, dict):
        return _error_text(value.get("message") or value.get("error") or str(value))
    return value if isinstance(value, str) else ""
