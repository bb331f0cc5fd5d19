"""Colours: the answer names the favourite colour told last."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._clauses import EARLIER, level, places, standing
from pytest_ltm.evaluators._excuses import only_offers_example
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import around, has_phrase, joined, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINK = re.compile(r"\b(?:and|its|now|that)\b")
"""Where something new is said, with no comma: "you stopped liking blue and now prefer teal"."""
_NOW = re.compile(r"\b(?:now|currently|these days)\b")
_SPELLINGS = {"gray": "grey", "grey": "gray"}


@dataclass(frozen=True, slots=True)
class NamesColour:
    """Full marks if the last answer names the colour, as a word of its own, whatever its case.

    An example given by an answer that does not know the colour is none, and so is a colour that it denies or that was.
    `v3.5`: the colour is a substring of the lower-cased answer. `paper`: it stands between the start or white
    space (and perhaps a quote) and white space, the end or one of `, . ! ?`.
    """

    expected: str
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer names the colour, else 0."""
        answer = last(answers)
        rule = f"colours/{1 if self.scoring == 'current' else self.scoring}"
        if self._names(answer):
            if doubt := self._doubt(answer):
                reason = f"names {self.expected!r}, and {doubt}"
                return Score(0.0, reason, rule=rule, evidence=snippet(answer))
            at = max(answer.lower().find(self.expected.lower()), 0)
            evidence = around(answer, at, at + len(self.expected))
            return Score(1.0, f"names {self.expected!r}", rule=rule, evidence=evidence)
        return Score(0.0, f"does not name {self.expected!r}", rule=rule, evidence=snippet(answer))

    def _doubt(self, answer: str) -> str:
        """Return why the colour may not be the one of now, wherever the answer names it: "" if it is, or may be."""
        if self.scoring != "current":
            return ""
        text = _LINK.sub(", ", level(answer))
        reasons = [standing(text, *spot, known="") for spot in places(text, self.expected)]
        doubts = [reason for reason in reasons if reason and (reason != EARLIER or _NOW.search(level(answer)))]
        return doubts[0] if doubts and len(doubts) == len(reasons) else ""

    def _names(self, answer: str) -> bool:
        colour = self.expected.lower()
        if self.scoring == "v3.5":
            return colour in answer.lower()
        if self.scoring == "paper":
            return re.search(rf"(?:^|\s)[\"']?{re.escape(colour)}(?:\s|$|[,.!?])", answer.lower()) is not None
        if only_offers_example(answer):
            return False
        text = joined(answer)
        return has_phrase(text, colour) or has_phrase(text, _SPELLINGS.get(colour, colour))
