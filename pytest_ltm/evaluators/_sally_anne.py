"""Sally-Anne: the answer names one place (or person), asked for as JSON `{"answer": "word"}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._json import NoJSON, published_json, values
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import joined, plain, snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARTICLES = frozenset(("the", "a", "an", "in", "inside", "at", "on", "his", "her", "their"))
_LONGEST_PLAIN_ANSWER = 12
_SENTENCE = re.compile(r"[^.!?\n]+")
_PLACED = re.compile(
    r"\b(?:look|search|think|belie[fv]|expect|find|check)[a-z]*\b.{0,120}?"
    r"\b(?:in|inside|at|on|under|into) (?:the|a|an) (\w+(?: \w+){0,3})"
)


@dataclass(frozen=True, slots=True)
class AnswersWord:
    """Full marks if the `answer` of the JSON in the last answer is the expected word.

    `current` ignores articles and reads an answer without JSON: a short one that names the word and no `other`, or
    the place where somebody is said to look. `v3.5` and
    `paper`: the value of `answer`, in lower case, equals the expected word.
    """

    expected: str
    others: tuple[str, ...] = ()
    """The other places of the story; an answer without JSON that names one of them earns nothing."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer is the word, else 0."""
        answer = last(answers)
        if self.scoring == "current":
            said, rule = self._said(answer), "sally-anne/1"
            ok = said is not None and _core(said) == _core(self.expected)
        else:
            said, rule = _published(answer), f"sally-anne/{self.scoring}"
            ok = said is not None and said.lower() == self.expected.lower()
        reason = f"says {snippet(said, 80)!r}" if said is not None else "gives no answer"
        reason += "" if ok else f", not {self.expected!r}"
        return Score(float(ok), reason, rule=rule, evidence=snippet(answer))

    def _said(self, answer: str) -> str | None:
        found = [said for value in values(answer) if (said := _answer_of(value)) is not None]
        if found:
            return found[0]
        text = joined(answer)
        if len(text.split()) > _LONGEST_PLAIN_ANSWER:
            places = (place[1] for part in _SENTENCE.findall(plain(answer)) if (place := _PLACED.search(part)))
            return next((self._known(place) for place in places), None)
        if any(joined(other) in text for other in self.others) or " not " in text:
            return None
        return self.expected if joined(self.expected) in text else None

    def _known(self, place: str) -> str:
        """Return the place of the story that words begin with, else the first of the words."""
        known = (name for name in (self.expected, *self.others) if joined(place).startswith(joined(name)))
        return max(known, key=len, default=place.split(maxsplit=1)[0])


def _published(answer: str) -> str | None:
    try:
        value = published_json(answer)
    except NoJSON:
        return None
    said = value.get("answer") if isinstance(value, dict) else None
    return said if isinstance(said, str) else None


def _answer_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    said = next((item for key, item in value.items() if str(key).strip().lower() == "answer"), None)
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    return said if isinstance(said, str) else None


def _core(text: str) -> list[str]:
    return [word for word in words(text) if word not in _ARTICLES]
