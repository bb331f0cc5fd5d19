"""Conflicting Personal Information: each answer says what is so, and nothing else that was ever said to be so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Check, Score, Scoring
from pytest_ltm.evaluators._excuses import only_offers_example
from pytest_ltm.evaluators._recollection import numbered
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import phrases, plain, snippet, stem, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLAUSE = re.compile(r"[.;!?\n(),:]|\b(?:but|although|though|while|whereas|and)\b")
_PAST = phrases(
    "not", "no longer", "never", "used to", "previous(?:ly)?", "former(?:ly)?", "before", "earlier", "original(?:ly)?",
    "first", "initially", "was", "were", "had", "once", "old", "wrong(?:ly)?", "false(?:ly)?", "mistaken(?:ly)?",
    "instead of", "rather than", "from", "isnt", "dont", "rumou?rs?", "thinks?", "claims?", "says", "untrue",
)  # fmt: skip
_AFTER = phrases(
    "before (?:that|this|then)", "earlier", "previously", "formerly", "originally", "wrong", "false", "mistaken",
    "incorrect", "anymore", "initially", "not true", "no longer", "untrue", "at first", "withdrawn",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnowsCurrentFacts:
    """The share of questions whose answer says what is so now.

    An answer may speak of what was so, or of what is not, as long as it says so in the same clause ("not", "used
    to", "before that", …). One that says two things to be so earns nothing. The published rules ask a
    model; this rule stands in for them.
    """

    expected: tuple[str, ...]
    mentioned: tuple[tuple[str, ...], ...] = ()
    """For each question what else was ever said to be so."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of questions answered right; a missing answer counts as wrong."""
        checks = []
        for place, expected in enumerate(self.expected):
            others = self.mentioned[place] if place < len(self.mentioned) else ()
            answer = answers[place] if place < len(answers) else ""
            claimed = set() if only_offers_example(answer) else claims(answer, (expected, *others))
            checks.append(Check(f"knows {expected!r}", claimed == {expected}))
        right = sum(check.ok for check in checks)
        rule, reason = "current-facts/1", f"{right} of {len(checks)} known as they are now"
        if self.scoring != "current":
            rule = f"current-facts/{self.scoring}+{rule}"
            reason += f" (the rule of {self.scoring} asks a model; the current rule stands in)"
        missed = next((a for a, check in zip(answers, checks, strict=False) if not check.ok), "")
        return Score(right / max(len(checks), 1), reason, checks=tuple(checks), rule=rule, evidence=snippet(missed))


def claims(answer: str, values: Sequence[str]) -> set[str]:
    """Return those of the values that an answer says to be so."""
    claimed = set()
    for clause in _CLAUSE.split(plain(answer)):
        said = list(numbered(words(clause)))
        places = sorted(_places(said, values))
        for number, (start, end, value) in enumerate(places):
            before = " ".join(said[places[number - 1][1] if number else 0 : start])
            after = " ".join(said[end : places[number + 1][0] if number + 1 < len(places) else len(said)])
            if not (_PAST.search(before) or _AFTER.search(after)):
                claimed.add(value)
    return claimed


def _places(said: Sequence[str], values: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where the words of a clause name which value."""
    stems = [stem(word) for word in said]
    for value in values:
        wanted = [stem(word) for word in numbered(words(value))]
        for start in range(len(stems) - len(wanted) + 1) if wanted else ():
            if stems[start : start + len(wanted)] == wanted:
                yield start, start + len(wanted), value
