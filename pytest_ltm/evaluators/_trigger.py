"""Trigger Response: one sentence is said at each activation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._judged import Part, share
from pytest_ltm.evaluators._rouge import rouge_l
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import bare, content_stems, joined, plain, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge import Judge
    from pytest_ltm._score import Score, Scoring, Unscored

_SENTENCE_END = re.compile(r"[.!?\n]+")
_CONTRACTIONS = re.compile(r"(?<=[a-z])('m|'s|'re|'ve|'ll|'d|n't)\b")
_FULL = {"'m": " am", "'s": " is", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "n't": " not"}
_PUBLISHED_ROUGE = 0.75
_NEAR = 0.93
_WORTH_COMPARING = 0.7
_NEARLY = 0.6
"""The share of the sentence's own words that an answer must have before a judge is asked about it."""


@dataclass(frozen=True, slots=True)
class SaysAtEachTrigger:
    """The share of activations whose answer says the sentence.

    `current`: the sentence's words in a row, contractions written out, or some sentences of the answer nearly equal
    to it (ROUGE-L with stemming). `v3.5` and `paper`: in the answer, lower case and without punctuation, or
    ROUGE-L of the whole answer above 0.75; else those rules ask a model and the current rule stands in. A judge, if
    there is one, is asked about answers with most of the sentence's words.
    """

    sentence: str
    activations: int = 3
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of activations answered with the sentence; a missing answer counts as none."""
        asked = [*answers, *[""] * (self.activations - len(answers))]
        published = [self._as_published(answer) for answer in asked]
        parts = [
            self._part(f"says it at activation {n}", answer, said=said)
            for n, (answer, said) in enumerate(zip(asked, published, strict=True), start=1)
        ]
        reason = f"{{ok}} of {{of}} activations answered with {self.sentence!r}"
        rule = "trigger-response/1" if self.scoring == "current" else f"trigger-response/{self.scoring}"
        if self.scoring != "current" and not all(published):
            rule += "+trigger-response/1"
            stands_in = f" (the rule of {self.scoring} asks a model; the current rule stands in)"
            reason += stands_in * (self.judge is None)
        return share(parts, self.judge, rule=rule, reason=reason)

    def _as_published(self, answer: str) -> bool:
        """Return whether the published rules are sure that an answer says the sentence."""
        if self.scoring == "current":
            return False
        return bare(self.sentence) in bare(answer) or rouge_l(self.sentence, answer) > _PUBLISHED_ROUGE

    def _part(self, label: str, answer: str, *, said: bool) -> Part:
        said = said or says(self.sentence, answer)
        wanted = content_stems(self.sentence)
        nearly = len(wanted & content_stems(answer)) >= _NEARLY * len(wanted)
        if said or not nearly:
            return Part(label, answer, said)
        return Part(label, answer, said, "trigger-response", (("sentence", self.sentence),))


def says(sentence: str, answer: str) -> bool:
    """Tell whether an answer says a sentence, literally or nearly so."""
    wanted, given = _written_out(sentence), _written_out(answer)
    if not wanted.strip():
        return False
    if joined(wanted) in joined(given) or joined(sentence) in joined(answer):
        return True
    size = len([part for part in _SENTENCE_END.split(wanted) if part.strip()])
    parts = [part for part in _SENTENCE_END.split(given) if part.strip()]
    needed = set(words(wanted))
    windows = (" ".join(parts[at : at + size]) for at in range(max(len(parts) - size + 1, 1)))
    return any(_near(wanted, window, needed) for window in windows)


def _near(wanted: str, window: str, needed: set[str]) -> bool:
    said = words(window)
    shared = [at for at, word in enumerate(said) if word in needed]
    if len({said[at] for at in shared}) < _WORTH_COMPARING * len(needed):
        return False
    return rouge_l(wanted, " ".join(said[shared[0] : shared[-1] + 1])) > _NEAR


def _written_out(text: str) -> str:
    return _CONTRACTIONS.sub(lambda short: _FULL[short.group()], plain(text))
