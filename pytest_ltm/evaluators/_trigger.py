"""Trigger Response: one sentence is said at each activation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._rouge import rouge_l
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import bare, joined, plain, snippet, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE_END = re.compile(r"[.!?\n]+")
_CONTRACTIONS = re.compile(r"(?<=[a-z])('m|'s|'re|'ve|'ll|'d|n't)\b")
_FULL = {"'m": " am", "'s": " is", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "n't": " not"}
_PUBLISHED_ROUGE = 0.75
_NEAR = 0.93
_WORTH_COMPARING = 0.7


@dataclass(frozen=True, slots=True)
class SaysAtEachTrigger:
    """The share of activations whose answer says the sentence.

    `current`: the sentence's words in a row, contractions written out, or some sentences of the answer nearly equal
    to it (ROUGE-L with stemming). `v3.5` and `paper`: in the answer, lower case and without punctuation, or
    ROUGE-L of the whole answer above 0.75; else those rules ask a model and the current rule stands in.
    """

    sentence: str
    activations: int = 3
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of activations answered with the sentence; a missing answer counts as none."""
        asked = [*answers, *[""] * (self.activations - len(answers))]
        verdicts = [self._said(answer) for answer in asked]
        checks = tuple(Check(f"says it at activation {n}", said) for n, (said, _) in enumerate(verdicts, start=1))
        said = sum(check.ok for check in checks)
        reason = f"{said} of {len(checks)} activations answered with {self.sentence!r}"
        rule = "trigger-response/1" if self.scoring == "current" else f"trigger-response/{self.scoring}"
        if any(stood_in for _, stood_in in verdicts):
            rule += "+trigger-response/1"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        missed = next((answer for answer, check in zip(asked, checks, strict=True) if not check.ok), "")
        return Score(said / max(len(checks), 1), reason, checks=checks, rule=rule, evidence=snippet(missed))

    def _said(self, answer: str) -> tuple[bool, bool]:
        """Return whether an answer says the sentence, and whether the current rule stood in."""
        if self.scoring != "current":
            literal = bare(self.sentence) in bare(answer)
            if literal or rouge_l(self.sentence, answer) > _PUBLISHED_ROUGE:
                return True, False
            return says(self.sentence, answer), True
        return says(self.sentence, answer), False


def says(sentence: str, answer: str) -> bool:
    """Tell whether an answer says a sentence, literally or nearly so."""
    wanted, given = _written_out(sentence), _written_out(answer)
    if not wanted.strip():
        return False
    if joined(wanted) in joined(given):
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
