"""How To Think: each answer names the one thing that the user's rule takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import has_phrase, joined, phrases, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE = re.compile(r"[^.!?\n]+")
_DECIDES = phrases(
    "takes?", "chooses?", "picks?", "selects?", "answer", "choice", "buy", "get", "winner", "wins", "go with", "result",
    "therefore", "hence", "thus", "so",
)  # fmt: skip
_REJECTS = phrases("not", "never", "dont", "isnt", "cannot", "except", "instead of", "rather than", "out")
_FRAME = frozenset("a answer at from get i in is it its of take the town you".split())  # noqa: SIM905 - reads as text


@dataclass(frozen=True, slots=True)
class AppliesRule:
    """The share of cases whose answer names the right thing and no other.

    An answer that names several counts for what it decides on: what it begins with, else the last sentence
    that decides ("so", "take", "choose", …), rejects nothing, and names one thing only. The published
    rules ask a model; this rule stands in for them.
    """

    expected: tuple[str, ...]
    offered: tuple[tuple[str, ...], ...] = ()
    """All things of each case, by name."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of cases answered right; a missing answer counts as wrong."""
        checks = []
        for place, expected in enumerate(self.expected):
            offered = self.offered[place] if place < len(self.offered) else (expected,)
            answer = answers[place] if place < len(answers) else ""
            checks.append(Check(f"takes {expected} in case {place + 1}", chosen(answer, offered) == expected))
        right = sum(check.ok for check in checks)
        rule, reason = "how-to-think/1", f"{right} of {len(checks)} cases decided as the rule would"
        if self.scoring != "current":
            rule = f"how-to-think/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        missed = next((a for a, check in zip(answers, checks, strict=False) if not check.ok), "")
        return Score(right / max(len(checks), 1), reason, checks=tuple(checks), rule=rule, evidence=snippet(missed))


def chosen(answer: str, offered: Sequence[str]) -> str | None:
    """Return the name of the only thing that an answer names or decides on; None: it decides on none."""
    text = joined(answer)
    named = [name for name in offered if has_phrase(text, name)]
    if len(named) <= 1:
        return named[0] if named else None
    sentences = [joined(sentence) for sentence in _SENTENCE.findall(answer)]
    opening = _only(sentences[0], named)
    if opening and set(sentences[0].replace(joined(opening), " ").split()) <= _FRAME:
        return opening
    decided = (_decision(text, named) for text in reversed(sentences) if not _REJECTS.search(text))
    return next((name for name in decided if name), None)


def _decision(sentence: str, named: Sequence[str]) -> str | None:
    """Return the only name after the last word that decides, else the only name of a sentence that has one."""
    deciding = [found.end() for found in _DECIDES.finditer(sentence)]
    return (_only(sentence[deciding[-1] :], named) or _only(sentence, named)) if deciding else None


def _only(sentence: str, named: Sequence[str]) -> str | None:
    found = [name for name in named if has_phrase(sentence, name)]
    return found[0] if len(found) == 1 else None
