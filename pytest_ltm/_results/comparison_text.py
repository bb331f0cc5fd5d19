"""The sentences of a comparison, the same in terminal, Markdown and HTML: what held here, and what holds elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.gate.verdict import p_text
from pytest_ltm._results.statistics.comparison import ALPHA, chance_here, trials_to_tell
from pytest_ltm._results.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._results.statistics.comparison import Comparison
    from pytest_ltm._results.statistics.pairs import Pair


HERE, ELSEWHERE = "On these texts", "On other texts and in other conversations"


class ComparisonText(NamedTuple):
    """What a comparison says."""

    short: str
    """A few words: `Yes`, `On these texts`, `Not shown`."""
    here: str
    """A sentence about the texts and conversations that both had."""
    elsewhere: str
    """A sentence about others, and what would settle it."""
    brief: str
    """Both probabilities, for a table."""

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.here} {self.elsewhere}".strip()


def told(one: str, other: str, pairs: Sequence[Pair], found: Comparison, *, looks: int = 1) -> ComparisonText:
    """Return what `one`, the later side of the pairs, is against `other`; `looks`: so many comparisons are shown.

    A claim takes a probability of at most 0.05, either way, shared among those shown.
    """
    if not pairs:
        return ComparisonText(
            "Unknown", f"{one} and {other} share no example that both have a score for.", "", "unknown"
        )
    if found.identical:
        same = f"{HERE} {one} and {other} have equal scores in all {counted(found.pairs, 'example')}."
        return ComparisonText("No difference", same, "", "equal")
    alpha = ALPHA / max(1, looks)
    many = f", one of {looks} comparisons" if looks > 1 else ""
    difference = found.difference or 0.0
    p = chance_here(pairs, alpha=ALPHA)
    shown = p is not None and p <= alpha
    real = found.can_tell and found.p is not None and found.p <= alpha
    short = "Yes" if real else "On these texts" if shown else "Too little to tell" if p is None else "Not shown"
    level = found.pairs - found.better - found.worse
    of = counted(found.pairs, "example")
    counts = f"better in {found.better:,}, worse in {found.worse:,}, equal in {level:,} of {of}"
    how = "too few scenarios to tell that from chance" if p is None else f"p {p_text(p)}{many}"
    explained = "" if shown or p is None else ", which chance explains"
    word = "better" if difference > 0 else "worse"
    where = f"{word} than {other} by {_share(abs(difference))}" if difference else f"level with {other}"
    here = f"{HERE} {one} is {where}{explained}: {counts} ({how})."
    if found.can_tell and found.p is not None:
        rests = f"{_interval(found)}p {p_text(found.p)}{many}; {counted(found.conversations, 'conversation')} each"
        claim = f"{word}, too" if real and shown else word if real else "not shown"
        elsewhere = f"{ELSEWHERE}: {claim} ({rests})."
    else:
        elsewhere = f"{ELSEWHERE}: unknown, as {found.reason.partition(';')[0]}."
    more = "" if real else f" {_settles(pairs, held=found.conversations)}"
    beyond = f"elsewhere p {p_text(found.p)}" if found.can_tell and found.p is not None else "elsewhere unknown"
    brief = f"here {'unknown' if p is None else f'p {p_text(p)}'}, {beyond}"
    return ComparisonText(short, here, elsewhere + more, brief)


def _settles(pairs: Sequence[Pair], *, held: int) -> str:
    """Return what would settle it."""
    needed = trials_to_tell(pairs)
    if needed is None:
        return "Only many more trials would tell so small a difference."
    more = "" if held == 1 else f" in place of {held}"
    return f"{needed} trials of each{more} (--ltm-trials={needed}) would mostly tell a difference as large."


def _share(value: float) -> str:
    """Return `0.75 of full marks`, with more digits where two would show nothing."""
    return f"{value:.2f} of full marks" if value >= 0.005 else f"{value:.4f} of full marks"


def _interval(found: Comparison) -> str:
    return f"95 % interval {found.interval.low:+.2f} … {found.interval.high:+.2f}; " if found.interval else ""
