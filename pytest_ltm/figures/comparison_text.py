"""The result of a comparison in words: what holds for these texts, and what holds beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_ltm.api.storage import pluralize
from pytest_ltm.figures.statistics.paired_comparison import (
    ALPHA,
    Comparison,
    chance_here,
    trials_to_tell,
)
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.text import p_text

HERE = "On these texts"
ELSEWHERE = "On other texts and in other conversations"


class ComparisonText(NamedTuple):
    """A comparison in words."""

    short: str
    """A short answer: `Yes`, `On these texts`, `Not shown`."""
    here: str
    """A sentence about the texts and conversations that both sides had."""
    elsewhere: str
    """A sentence about other conversations, and what would settle the question."""
    brief: str
    """Both p-values, for a table."""

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.here} {self.elsewhere}".strip()


def comparison_text(
    after: str,
    before: str,
    pairs: Sequence[Pair],
    comparison: Comparison,
    *,
    looks: int = 1,
) -> ComparisonText:
    """Describe how `after`, the later side, compares with `before`; `looks`: the comparisons shown together.

    A claim requires a two-sided p-value of at most 0.05, shared among the comparisons shown.
    """
    if not pairs:
        text = f"{after} and {before} share no example that both have a score for."
        return ComparisonText("Unknown", text, "", "unknown")
    if comparison.is_identical:
        same = f"{HERE} {after} and {before} have equal scores in all {pluralize(comparison.pairs, 'example')}."
        return ComparisonText("No difference", same, "", "equal")
    alpha = ALPHA / max(1, looks)
    many = f", one of {looks} comparisons" if looks > 1 else ""
    difference = comparison.difference or 0.0
    p = chance_here(pairs, alpha=ALPHA)
    is_shown = p is not None and p <= alpha
    real = comparison.can_tell and comparison.p is not None and comparison.p <= alpha
    explained = ""
    if p is None:
        short = "Too little to tell"
        p_here = "unknown"
        how = "too few scenarios to tell that from chance"
    else:
        short = "Not shown"
        p_here = f"p {p_text(p)}"
        how = f"two-sided {p_here}{many}"
        explained = ", which chance explains"
    if is_shown:
        short = "On these texts"
        explained = ""
    if real:
        short = "Yes"
    level = comparison.pairs - comparison.better - comparison.worse
    of = pluralize(comparison.pairs, "example")
    counts = f"better in {comparison.better:,}, worse in {comparison.worse:,}, equal in {level:,} of {of}"
    word = "better" if difference > 0 else "worse"
    # More digits if two would show 0.00.
    digits = 2 if abs(difference) >= 0.005 else 4
    where = f"level with {before}"
    if difference:
        share = f"{abs(difference):.{digits}f}"
        where = f"{word} than {before} by {share} of full marks"
    sentence_here = f"{HERE} {after} is {where}{explained}: {counts} ({how})."
    if comparison.can_tell and comparison.p is not None:
        count = pluralize(comparison.conversations, "conversation")
        ends = comparison.interval
        details = f"95% interval {ends.low:+.2f} … {ends.high:+.2f}; " if ends else ""
        details += f"two-sided p {p_text(comparison.p)}{many}; {count} each"
        claim = word if real else "not shown"
        if real and is_shown:
            claim += ", too"
        elsewhere = f"{ELSEWHERE}: {claim} ({details})."
        beyond = f"elsewhere p {p_text(comparison.p)}"
    else:
        elsewhere = f"{ELSEWHERE}: unknown, as {comparison.reason.partition(';')[0]}."
        beyond = "elsewhere unknown"
    more = "" if real else f" {_what_would_settle(pairs, comparison.conversations)}"
    return ComparisonText(
        short, sentence_here, elsewhere + more, f"here {p_here}, {beyond}"
    )


def _what_would_settle(pairs: Sequence[Pair], conversation_count: int) -> str:
    needed = trials_to_tell(pairs)
    if needed is None:
        return "So small a difference would take many more trials to show."
    more = "" if conversation_count == 1 else f" in place of {conversation_count}"
    examples = pluralize(needed * len(pairs) // conversation_count, "example")
    return (
        f"{needed} trials of each{more} (--ltm-trials={needed}) would usually show a difference this large: "
        f"it takes at least {examples} of each."
    )
