"""Name List: the answer lists all names that the user has gone by, and no others."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._json import NoJSON, published_json, values
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import BULLET, joined, snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASIDE = re.compile(r"\s*\([^()]*\)")
_MOST_WORDS = 4
"""A line of more words is no name."""


@dataclass(frozen=True, slots=True)
class ListsNames:
    """The share of names recalled: matches / max(names expected, names given), whatever the order.

    `current` compares words case-folded, counts a name once, takes a list inside an object, and reads names from
    bulleted lines, else from prose, where there is no list. `v3.5` and `paper`: 0 unless the answer is a JSON list.
    """

    expected: tuple[str, ...]
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of names in the last answer."""
        answer = last(answers)
        if self.scoring == "current":
            return self._current(answer)
        try:
            given = published_json(answer)
        except NoJSON as error:
            return Score(0.0, f"no JSON: {error}", rule=f"name-list/{self.scoring}", evidence=snippet(answer))
        rule = f"name-list/{self.scoring}"
        if not isinstance(given, list):
            return Score(0.0, "not a list", rule=rule, evidence=snippet(answer))
        names = [str(name).lower() for name in given]
        found = [name for name in self.expected if name.lower() in names]
        return self._share(found, len(names), rule, answer)

    def _current(self, answer: str) -> Score:
        given = _listed(answer)
        given = _bulleted(answer) if given is None else given
        wanted = {" ".join(words(name)) for name in self.expected}
        if given is None or (given and not any(" ".join(words(name)) in wanted for name in given)):
            text = joined(answer)
            found = [name for name in self.expected if joined(name) in text]
            return self._share(found, 0, "name-list/1", answer)
        keys = dict.fromkeys(" ".join(words(name)) for name in given)
        found = [name for name in self.expected if " ".join(words(name)) in keys]
        return self._share(found, len(keys), "name-list/1", answer)

    def _share(self, found: Sequence[str], given: int, rule: str, answer: str) -> Score:
        missing = list((Counter(self.expected) - Counter(found)).elements())
        value = len(found) / max(len(self.expected), given, 1)
        extra = max(given - len(found), 0)
        parts = [f"not named: {', '.join(missing)}"] * bool(missing) + [f"{extra} invented"] * bool(extra)
        reason = "; ".join(parts) or "names all and no others"
        return Score(value, reason, rule=rule, evidence=snippet(answer))


def _listed(answer: str) -> list[str] | None:
    """Return the names of the first list of texts, also inside an object; None where there is none."""
    for value in values(answer):
        found = _texts(value, 3)
        if found is not None:
            return found
    return None


def _texts(value: Any, depth: int) -> list[str] | None:
    """Return the texts of a list, of objects with a name in a list, or of a list inside an object."""
    if isinstance(value, list):
        names = [_name(item) for item in value]
        return [name for name in names if name] if all(name is not None for name in names) else None
    if isinstance(value, dict) and depth:
        inner = (_texts(item, depth - 1) for item in value.values() if isinstance(item, (list, dict)))
        return next((found for found in inner if found is not None), None)
    return None


def _name(item: Any) -> str | None:
    if isinstance(item, dict):
        item = next((text for text in item.values() if isinstance(text, str)), None)
    return _ASIDE.sub("", item) if isinstance(item, str) else None


def _bulleted(answer: str) -> list[str] | None:
    """Return the names of bulleted or numbered lines of a few words; None where there are not several."""
    lines = [_ASIDE.sub("", line) for line in answer.splitlines() if BULLET.match(line)]
    names = [BULLET.sub("", line) for line in lines]
    short = [name for name in names if 0 < len(words(name)) <= _MOST_WORDS]
    return short if len(short) > 1 and len(short) == len(names) else None
