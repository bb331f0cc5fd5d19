"""Prospective Memory: a quote is appended to one later reply, and to no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Judge, ask_judge
from pytest_ltm._score import Score, Scoring, Unscored
from pytest_ltm.evaluators._rules import check_scoring
from pytest_ltm.evaluators._words import bare, content_stems, has_phrase, joined, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._transcript import Exchange

_NEARLY = 0.6
"""The share of the quote's own words that a reply must have before a judge is asked about it."""


@dataclass(frozen=True, slots=True)
class QuoteAtReply:
    """Watch for a quote in the n-th reply and in no other; the reply to the instruction is the first.

    Called with the exchanges since the instruction, it returns None while it cannot tell. `v3.5` and `paper` look
    for the quote in lower case and without ASCII punctuation; `current` looks for its words in a row. Where reply
    `nth` has most of its words, but not in a row, `current` asks a judge if there is one.
    """

    quote: str
    nth: int
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, since: Sequence[Exchange], /) -> Score | Unscored | None:
        """Return None while it is too early, 1 if the quote stands in reply `nth` alone, else 0."""
        return self.verdict([exchange.reply for exchange in since])

    def verdict(self, replies: Sequence[str]) -> Score | Unscored | None:
        """Return the verdict on the replies since the instruction, its own reply first."""
        quoted = [n for n, reply in enumerate(replies, start=1) if self._quotes(reply)]
        rule = f"prospective-memory/{1 if self.scoring == 'current' else self.scoring}"
        early = [n for n in quoted if n != self.nth]
        if early:
            reason = f"the quote belongs in reply {self.nth} alone, found in {_listed(quoted)}"
            return Score(0.0, reason, rule=rule, evidence=snippet(replies[early[0] - 1]))
        if len(replies) < self.nth:
            return None
        evidence = snippet(replies[self.nth - 1]) if self.nth >= 1 else ""
        if not quoted and self.judge is not None and self._nearly(replies[self.nth - 1]):
            return self._judged(self.judge, replies[self.nth - 1], rule)
        if quoted:
            return Score(1.0, f"the quote stands in reply {self.nth} alone", rule=rule, evidence=evidence)
        return Score(0.0, f"the quote is not in reply {self.nth}", rule=rule, evidence=evidence)

    def _nearly(self, reply: str) -> bool:
        of_quote = content_stems(self.quote)
        return self.scoring == "current" and len(of_quote & content_stems(reply)) >= len(of_quote) * _NEARLY

    def _judged(self, judge: Judge, reply: str, rule: str) -> Score | Unscored:
        prompt = PROMPTS["prospective-memory"]
        said = ask_judge(judge, prompt, answer=reply, quote=self.quote)
        rule = f"{rule}+judge/{prompt.id}"
        if isinstance(said, Unscored):
            return replace(said, rule=rule, evidence=snippet(reply))
        reason = f"is the quote in reply {self.nth}, but for slips? {said}"
        return Score(float(said.grade == "yes"), reason, rule=rule, evidence=snippet(reply))

    def _quotes(self, reply: str) -> bool:
        if self.scoring == "current":
            return has_phrase(joined(reply), self.quote)
        return bare(self.quote) in bare(reply)


def _listed(numbers: Sequence[int]) -> str:
    return ("reply " if len(numbers) == 1 else "replies ") + ", ".join(map(str, numbers))
