"""Surface cues: how much of some texts can be told from others by words, lengths and places alone.

A cue is what a text has: a word, two or three in a row, the size of its length, its
place. A detector goes by all of them (naive Bayes) or by the one that tells most. It
learns in some conversations and is measured in others.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import NamedTuple, TypeAlias

from msgspec import Struct

# How many of the other words are let through while evidence is looked for.
SHARES = (0.01, 0.05)
# In so many parts conversations are learned without and looked through in turn; fewer
# where there are fewer.
FOLDS = 5

Cue: TypeAlias = str

_WORD = re.compile(r"\w+|[^\w\s]")
# Words in a row.
_LONGEST = 3
# Phrases that say nothing are added to those of each text, or a text of one word would
# be the surest.
_SILENT = 5
# Length and place weigh as much as a phrase does in a text that has so many.
_SHAPE = 10
# A cue that is shown was seen in so many texts.
_OFTEN = 3


class Text(Struct, frozen=True, dict=True):
    """A message, a turn or a session; what it can be known by is worked out once, however often it is asked for."""

    text: str
    group: str
    """Its conversation."""
    place: str
    """Where it stands and who says it."""
    kinds: tuple[str, ...] = ()
    """Whose evidence it is: of scenarios, or of kinds of questions; none: nobody's."""
    max_words: int = sys.maxsize
    """Of a longer one only so many words count as let through."""

    @cached_property
    def words(self) -> int:
        """Its length."""
        return len(self.text.split())

    @property
    def cost(self) -> int:
        """The words that count when it is let through."""
        return min(self.words, self.max_words)

    @cached_property
    def shape(self) -> frozenset[Cue]:
        """Return its place and the size of its length."""
        size = 2 ** int(math.log2(self.words + 1))
        return frozenset({f"<{size - 1} to {2 * size - 2} words>", f"<{self.place}>"})

    @cached_property
    def phrases(self) -> frozenset[Cue]:
        """Return its words, and up to three of them in a row."""
        words = [word.casefold() for word in _WORD.findall(self.text)]
        tokens = rows = ["^", *words]
        phrases = set(words)
        for more in range(1, _LONGEST):
            rows = [
                f"{row} {word}" for row, word in zip(rows, tokens[more:], strict=False)
            ]
            phrases.update(rows)
        return frozenset(phrases - {"^"})


class CueRecall(Struct, frozen=True):
    """How much of one kind of evidence was found."""

    kind: str
    evidence: int
    """How many texts."""
    recalls: tuple[float, ...]
    """The share that was found, at each of SHARES."""
    order: float
    """How often a text that is evidence comes before one that is not: 0.5 by chance."""
    cues: tuple[str, ...] = ()
    """What tells it best, with the number of texts that have it."""

    @property
    def lift_over_chance(self) -> tuple[float, ...]:
        """How many times as much as chance would find."""
        return tuple(
            recall / share for recall, share in zip(self.recalls, SHARES, strict=True)
        )


# Score, text, and whether it is sought; the surest first.
Ranked: TypeAlias = "tuple[tuple[float, Text, bool], ...]"
# From what was seen elsewhere to the score of a text.
Detector: TypeAlias = "Callable[[CueCounts], Callable[[CueCandidate], float]]"


def rank_by_cues(
    texts: Sequence[Text], sought: Callable[[Text], bool], detector: Detector
) -> tuple[Ranked, ...]:
    """Return the texts of each part, ranked by what the detector learned in the other parts.

    None where what is sought is in one part only: there is nothing to learn from.
    """
    groups = list(dict.fromkeys(text.group for text in texts))
    folds = min(FOLDS, len(groups))
    part = {group: number % folds for number, group in enumerate(groups)}
    if len({part[text.group] for text in texts if sought(text)}) < 2:
        return ()
    candidates = [
        CueCandidate(text, text.phrases, text.shape, sought(text)) for text in texts
    ]
    all_counts = CueCounts.count_cues(candidates)
    ranked = []
    for fold in range(folds):
        fold_candidates = [
            entry for entry in candidates if part[entry.text.group] == fold
        ]
        score = detector(
            all_counts.subtract_counts(CueCounts.count_cues(fold_candidates))
        )
        scored = [(score(entry), entry.text, entry.sought) for entry in fold_candidates]
        ranked.append(tuple(sorted(scored, key=lambda entry: -entry[0])))
    return tuple(ranked)


def all_cues(counts: CueCounts) -> Callable[[CueCandidate], float]:
    """Go by the mean weight of a text's phrases, and part of the weights of its shape, which they would drown."""
    weight = cache(counts.weight)

    def score(candidate: CueCandidate) -> float:
        phrases = sum(map(weight, candidate.phrases)) / (
            len(candidate.phrases) + _SILENT
        )
        return phrases + sum(map(weight, candidate.shape)) / _SHAPE

    return score


def one_cue(counts: CueCounts) -> Callable[[CueCandidate], float]:
    """Go by the one cue that tells most: a text has it or not."""
    best = next(iter(counts.telling()), None)
    return lambda candidate: float(best in candidate.phrases or best in candidate.shape)


class CueCandidate(NamedTuple):
    """A text, what it can be known by, and whether it is sought."""

    text: Text
    phrases: frozenset[Cue]
    shape: frozenset[Cue]
    sought: bool


class CueCounts(Struct, frozen=True):
    """In how many texts of either side each cue was seen."""

    sought: Counter[Cue]
    unsought: Counter[Cue]
    texts: tuple[int, int]
    """That are sought, and that are not."""

    @classmethod
    def count_cues(cls, texts: Sequence[CueCandidate]) -> CueCounts:
        """Return what is seen in these texts."""
        sides: tuple[Counter[Cue], Counter[Cue]] = (Counter(), Counter())
        for text in texts:
            sides[not text.sought].update(text.phrases | text.shape)
        count = sum(text.sought for text in texts)
        return cls(*sides, (count, len(texts) - count))

    def subtract_counts(self, part: CueCounts) -> CueCounts:
        """Return what is seen in the rest."""
        texts = (self.texts[0] - part.texts[0], self.texts[1] - part.texts[1])
        return CueCounts(
            self.sought - part.sought, self.unsought - part.unsought, texts
        )

    def weight(self, cue: Cue) -> float:
        """Return the log of how many times more likely the cue is in what is sought.

        log((a + 1) / (a' + 1)) - log((b + 1) / (b' + 1)), a and b the texts on both
        sides that have it, a' and b' as many as there would be if it told nothing: one
        seen once or never weighs next to nothing.
        """
        a = self.sought[cue]
        b = self.unsought[cue]
        share = (a + b) / sum(self.texts)
        expected, beside = (share * texts for texts in self.texts)
        return math.log((a + 1) / (expected + 1)) - math.log((b + 1) / (beside + 1))

    def information_gain(self, cue: Cue) -> float:
        """Return how much the cue tells of the side: half of Dunning's log-likelihood ratio (1993)."""
        a = self.sought[cue]
        b = self.unsought[cue]
        (m, n) = self.texts
        share = (a + b) / (m + n)
        apart = _log_likelihood(a, m, a / m) + _log_likelihood(b, n, b / n if n else 0)
        return apart - _log_likelihood(a, m, share) - _log_likelihood(b, n, share)

    def telling(self, least: int = 1) -> list[Cue]:
        """Return the cues that tell what is sought and were seen in so many texts of it, those that tell most first."""
        often = [
            cue
            for cue, count in self.sought.items()
            if count >= least and self.weight(cue) > 0
        ]
        return sorted(often, key=lambda cue: (-self.information_gain(cue), cue))


def best_cues(
    texts: Sequence[Text], sought: Callable[[Text], bool], limit: int
) -> tuple[str, ...]:
    """Return the cues that tell what is sought best, none that is part of another, with how often they come."""
    counts = CueCounts.count_cues(
        [CueCandidate(text, text.phrases, text.shape, sought(text)) for text in texts]
    )
    cues: list[Cue] = []
    for cue in counts.telling(_OFTEN):
        if len(cues) < limit and not any(cue in had or had in cue for had in cues):
            cues.append(cue)
    return tuple(
        f"{cue!r} {counts.sought[cue]} of {counts.texts[0]}, {counts.unsought[cue]} else"
        for cue in cues
    )


def _log_likelihood(count: int, of: int, share: float) -> float:
    missing = of - count
    return (count * math.log(share) if count else 0) + (
        missing * math.log(1 - share) if missing else 0
    )


def cue_recall(
    kind: str,
    parts: Sequence[Ranked],
    counts: Callable[[Text], bool] = bool,
    cues: tuple[str, ...] = (),
) -> CueRecall | None:
    """Return how much was found of what is sought and `counts`, by default all; None if there is none of it."""
    total = 0
    found = []
    for part in parts:
        evidence = sum(sought and counts(text) for _, text, sought in part)
        if evidence:
            total += evidence
            found.append(_count_found(part, counts))
    if not total:
        return None
    numbers, firsts, pairs = zip(*found, strict=True)
    recalls = tuple(sum(column) / total for column in zip(*numbers, strict=True))
    order = sum(firsts) / max(sum(pairs), 1)
    return CueRecall(kind, total, recalls, order, cues)


def _count_found(
    part: Ranked, counts: Callable[[Text], bool]
) -> tuple[list[float], float, int]:
    """Return how many were found before each share of the others' words was used up: of equal scores a share.

    Then in how many pairs of a sought text and another the sought one comes first, and
    the number of pairs.
    """
    words = sum(text.cost for _, text, sought in part if not sought)
    other_count = sum(not sought for *_, sought in part)
    rooms = [share * words for share in SHARES]
    numbers = [0.0 for _ in SHARES]
    first = later = 0.0
    for rank, (_, equal) in enumerate(groupby(part, key=lambda entry: entry[0])):
        tied = list(equal)
        beside = sum(not sought for *_, sought in tied)
        cost = sum(text.cost for _, text, sought in tied if not sought)
        mine = sum(sought and counts(text) for _, text, sought in tied)
        for place, room in enumerate(rooms):
            if room > 0 or not rank:
                numbers[place] += mine * min(1.0, room / cost if cost else 1.0)
                rooms[place] -= cost
        first += mine * (other_count - later - beside / 2)
        later += beside
    return (
        numbers,
        first,
        other_count * sum(sought and counts(text) for _, text, sought in part),
    )
