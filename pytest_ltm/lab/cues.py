"""Surface cues: how well some texts can be separated from others by words, lengths and places alone.

A cue is a property of a text: a word, two or three in a row, the magnitude of its length, its place. A detector uses
all of them (naive Bayes) or only the most informative one. It learns from some conversations and is measured on others.
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

# The shares of other words that may be let through in the search for evidence.
SHARES = (0.01, 0.05)
# Number of parts for cross-validation over conversations; fewer if there are fewer
# conversations.
FOLDS = 5

Cue: TypeAlias = str

_WORD = re.compile(r"\w+|[^\w\s]")
# Words in a row.
_LONGEST = 3
# Uninformative phrases added to each text, or a text of one word would be the most
# certain.
_SILENT = 5
# Length and place weigh as much as a phrase in a text with this many phrases.
_SHAPE = 10
# A displayed cue occurs in at least this many texts.
_OFTEN = 3


class Text(Struct, frozen=True, dict=True):
    """A message, a turn or a session; its cues are computed only once."""

    text: str
    group: str
    """Its conversation."""
    place: str
    """Its position and speaker."""
    kinds: tuple[str, ...] = ()
    """The scenarios or kinds of questions that it is evidence for; empty if it is none."""
    max_words: int = sys.maxsize
    """The most words of a longer text that count when it is let through."""

    @cached_property
    def words(self) -> int:
        """Its length in words."""
        return len(self.text.split())

    @property
    def cost(self) -> int:
        """The number of words that count when it is let through."""
        return min(self.words, self.max_words)

    @cached_property
    def shape(self) -> frozenset[Cue]:
        """Return its place and the magnitude of its length."""
        size = 2 ** int(math.log2(self.words + 1))
        return frozenset({f"<{size - 1} to {2 * size - 2} words>", f"<{self.place}>"})

    @cached_property
    def phrases(self) -> frozenset[Cue]:
        """Return its words, and sequences of up to three words."""
        words = [word.casefold() for word in _WORD.findall(self.text)]
        tokens = rows = ["^", *words]
        phrases = set(words)
        for more in range(1, _LONGEST):
            pairs = zip(rows, tokens[more:], strict=False)
            rows = [f"{row} {word}" for row, word in pairs]
            phrases.update(rows)
        return frozenset(phrases - {"^"})


class CueRecall(Struct, frozen=True):
    """The recall for one kind of evidence."""

    kind: str
    evidence: int
    """The number of texts."""
    recalls: tuple[float, ...]
    """The share that was found, at each of SHARES."""
    order: float
    """The probability that an evidence text is ranked before another one: 0.5 by chance."""
    cues: tuple[str, ...] = ()
    """The most informative cues, each with the number of texts that have it."""

    @property
    def lift_over_chance(self) -> tuple[float, ...]:
        """The recalls relative to chance."""
        pairs = zip(self.recalls, SHARES, strict=True)
        return tuple(recall / share for recall, share in pairs)


# Score, text, and whether it is sought, in descending order of score.
Ranked: TypeAlias = "tuple[tuple[float, Text, bool], ...]"
# Maps training counts to a scoring function for texts.
Detector: TypeAlias = "Callable[[CueCounts], Callable[[CueCandidate], float]]"


def rank_by_cues(
    texts: Sequence[Text], sought: Callable[[Text], bool], detector: Detector
) -> tuple[Ranked, ...]:
    """Return the texts of each part, ranked by what the detector learned from the other parts.

    Empty if all sought texts are in one part: there is nothing to learn from.
    """
    groups = list(dict.fromkeys(text.group for text in texts))
    folds = min(FOLDS, len(groups))
    part = {group: number % folds for number, group in enumerate(groups)}
    if len({part[text.group] for text in texts if sought(text)}) < 2:
        return ()
    candidates = _candidates(texts, sought)
    all_counts = CueCounts.count_cues(candidates)
    ranked = []
    for fold in range(folds):
        fold_candidates = []
        for candidate in candidates:
            if part[candidate.text.group] == fold:
                fold_candidates.append(candidate)
        score = detector(
            all_counts.subtract_counts(CueCounts.count_cues(fold_candidates))
        )
        scored = [(score(entry), entry.text, entry.sought) for entry in fold_candidates]
        ranked.append(tuple(sorted(scored, key=lambda entry: -entry[0])))
    return tuple(ranked)


def _candidates(
    texts: Sequence[Text], sought: Callable[[Text], bool]
) -> list[CueCandidate]:
    candidates = []
    for text in texts:
        candidates.append(CueCandidate(text, text.phrases, text.shape, sought(text)))
    return candidates


def all_cues(counts: CueCounts) -> Callable[[CueCandidate], float]:
    """Score by the mean weight of a text's phrases, plus a damped weight of its shape, which they would drown."""
    weight = cache(counts.weight)

    def score(candidate: CueCandidate) -> float:
        phrases = sum(map(weight, candidate.phrases)) / (
            len(candidate.phrases) + _SILENT
        )
        return phrases + sum(map(weight, candidate.shape)) / _SHAPE

    return score


def one_cue(counts: CueCounts) -> Callable[[CueCandidate], float]:
    """Score by the most informative cue: a text has it or not."""
    best = next(iter(counts.telling()), None)
    return lambda candidate: float(best in candidate.phrases or best in candidate.shape)


class CueCandidate(NamedTuple):
    """A text, its cues, and whether it is sought."""

    text: Text
    phrases: frozenset[Cue]
    shape: frozenset[Cue]
    sought: bool


class CueCounts(Struct, frozen=True):
    """The number of texts on either side that have each cue."""

    sought: Counter[Cue]
    unsought: Counter[Cue]
    texts: tuple[int, int]
    """The number of sought texts, and of others."""

    @classmethod
    def count_cues(cls, texts: Sequence[CueCandidate]) -> CueCounts:
        """Count the cues in these texts."""
        sides: tuple[Counter[Cue], Counter[Cue]] = (Counter(), Counter())
        for text in texts:
            sides[not text.sought].update(text.phrases | text.shape)
        count = sum(text.sought for text in texts)
        return cls(*sides, (count, len(texts) - count))

    def subtract_counts(self, part: CueCounts) -> CueCounts:
        """Return the counts of the remaining texts."""
        texts = (self.texts[0] - part.texts[0], self.texts[1] - part.texts[1])
        return CueCounts(
            self.sought - part.sought, self.unsought - part.unsought, texts
        )

    def weight(self, cue: Cue) -> float:
        """Return the log likelihood ratio of a cue between sought and other texts.

        log((a + 1) / (a' + 1)) - log((b + 1) / (b' + 1)), where a and b are the texts on both sides that have it, and
        a' and b' the expected numbers if it were uninformative: rare cues weigh next to nothing.
        """
        a = self.sought[cue]
        b = self.unsought[cue]
        share = (a + b) / sum(self.texts)
        expected, beside = (share * texts for texts in self.texts)
        return math.log((a + 1) / (expected + 1)) - math.log((b + 1) / (beside + 1))

    def information_gain(self, cue: Cue) -> float:
        """Return how informative a cue is about the side: half of Dunning's log-likelihood ratio (1993)."""
        a = self.sought[cue]
        b = self.unsought[cue]
        (m, n) = self.texts
        share = (a + b) / (m + n)
        apart = _log_likelihood(a, m, a / m) + _log_likelihood(b, n, b / n if n else 0)
        return apart - _log_likelihood(a, m, share) - _log_likelihood(b, n, share)

    def telling(self, least: int = 1) -> list[Cue]:
        """Return the cues typical of sought texts that occur in at least `least` of them, most informative first."""
        often = []
        for cue, count in self.sought.items():
            if count >= least and self.weight(cue) > 0:
                often.append(cue)
        return sorted(often, key=lambda cue: (-self.information_gain(cue), cue))


def best_cues(
    texts: Sequence[Text], sought: Callable[[Text], bool], limit: int
) -> tuple[str, ...]:
    """Return the most informative cues of sought texts with their counts, none of them part of another."""
    counts = CueCounts.count_cues(_candidates(texts, sought))
    cues: list[Cue] = []
    for cue in counts.telling(_OFTEN):
        if len(cues) < limit and not any(cue in had or had in cue for had in cues):
            cues.append(cue)
    lines = []
    for cue in cues:
        line = f"{cue!r} {counts.sought[cue]} of {counts.texts[0]}"
        lines.append(f"{line}, {counts.unsought[cue]} else")
    return tuple(lines)


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
    """Return the recall of the sought texts that satisfy `counts` (default: all); None if there are none."""
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
    """Return how many were found before each share of the other words was used up; ties count in part.

    Also returns the number of pairs of a sought and another text in which the sought one comes first, and the number of
    pairs.
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
