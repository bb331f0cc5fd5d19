"""Learners that recognize filler by words or characters, trained on recorded runs of other suites."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import exp, log
from pathlib import Path
from typing import Protocol, TypeAlias

from pytest_ltm.api.journal import events
from pytest_ltm.api.storage import AgentError

# A message, and whether it is filler.
Lesson: TypeAlias = tuple[str, bool]

_WORD = re.compile(r"[a-z']+|\d|[?!:;]")
# Lengths of the character sequences that the linear learner uses.
_LENGTHS = (3, 4)
# The number of passes over all lessons, the learning rate, and the maximum extra weight
# of a rare side.
_ROUNDS = 4
_RATE = 0.2
_LARGEST_SHARE = 20.0
# Added to every count by naive Bayes (Krichevsky and Trofimov, 1981).
_SMOOTHING = 0.5


class FillerLearner(Protocol):
    """A trained classifier of filler."""

    def is_filler(self, text: str) -> bool:
        """Return whether it takes a message for filler."""


def word_features(text: str) -> frozenset[str]:
    """Return the words of a text, and its pairs of neighbouring words."""
    words = _WORD.findall(text.lower())
    pairs = map(" ".join, pairwise(words))
    return frozenset([*words, *pairs])


def character_features(text: str) -> frozenset[str]:
    """Return the sequences of three and four characters in a text with marked ends."""
    marked = f"\x02{text.lower()}\x03"
    features = set[str]()
    for length in _LENGTHS:
        starts = range(len(marked) - length + 1)
        features.update(marked[start : start + length] for start in starts)
    return frozenset(features)


class WordLearner:
    """Naive Bayes on words and pairs of words, with equal priors."""

    def __init__(self, lessons: Sequence[Lesson]) -> None:
        self._lesson_counts = Counter(is_filler for _, is_filler in lessons)
        self._counts = {True: Counter[str](), False: Counter[str]()}
        for text, is_filler in lessons:
            self._counts[is_filler].update(word_features(text))

    def is_filler(self, text: str) -> bool:
        """Return whether its words are likelier in filler."""
        return sum(map(self._weigh_feature, word_features(text))) > 0

    def _weigh_feature(self, feature: str) -> float:
        return self._share(feature, side=True) - self._share(feature, side=False)

    def _share(self, feature: str, *, side: bool) -> float:
        count = self._counts[side][feature] + _SMOOTHING
        return log(count / (self._lesson_counts[side] + 1))


class CharacterLearner:
    """Logistic regression on character sequences; both sides have equal weight."""

    def __init__(self, lessons: Sequence[Lesson], seed: int = 0) -> None:
        self._weights = dict[str, float]()
        self._bias = 0.0
        label_counts = Counter(is_filler for _, is_filler in lessons)
        shares = {}
        for side, count in label_counts.items():
            shares[side] = len(lessons) / (2 * count)
        rows = [(character_features(text), is_filler) for text, is_filler in lessons]
        rng = random.Random(seed)
        for _ in range(_ROUNDS):
            rng.shuffle(rows)
            for features, is_filler in rows:
                self._learn_row(features, is_filler=is_filler, share=shares[is_filler])

    def is_filler(self, text: str) -> bool:
        """Return whether its characters indicate filler."""
        return self._score_features(character_features(text)) > 0

    def _score_features(self, features: Collection[str]) -> float:
        weights = self._weights
        return self._bias + sum(weights.get(name, 0.0) for name in features)

    def _learn_row(
        self, features: Collection[str], *, is_filler: bool, share: float
    ) -> None:
        score = max(-30.0, min(30.0, self._score_features(features)))
        error = is_filler - 1 / (1 + exp(-score))
        step = _RATE * min(share, _LARGEST_SHARE) * error / max(len(features), 1)
        self._bias += step
        for name in features:
            self._weights[name] = self._weights.get(name, 0.0) + step


LEARNERS: Mapping[str, Callable[[Sequence[Lesson]], FillerLearner]] = {
    "words": WordLearner,
    "characters": CharacterLearner,
}
"""By their name in agent specs."""


def read_lessons(folder: Path) -> list[Lesson]:
    """Return the messages of all runs below a folder; AgentError unless both sides occur."""
    paths = sorted(folder.rglob("journal.jsonl"))
    lessons = list(chain.from_iterable(map(_journal_lessons, paths)))
    if len({is_filler for _, is_filler in lessons}) < len((True, False)):
        raise AgentError(
            f"{str(folder)!r} has no runs with messages of scenarios and filler. "
            "Name the folder of a run of another suite, such as .ltm/runs"
        )
    return lessons


def _journal_lessons(path: Path) -> Iterator[Lesson]:
    """Yield the lessons in a journal's events; openings are skipped."""
    for event in events.iter_readable_events(path):
        if isinstance(event, events.FillerSent):
            yield event.message, True
        elif isinstance(event, events.MessageSent) and event.kind != "opening":
            yield event.text, event.kind == "filler"
