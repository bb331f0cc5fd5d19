"""How far an agent remembers: the share of its isolated score that it keeps from span to span."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter

from msgspec import Struct, structs

from pytest_ltm.figures.statistics.counts import LEVEL, Interval
from pytest_ltm.figures.statistics.paired_comparison import (
    DRAWS,
    chance_of_difference,
    few_conversations,
    score_of,
    with_one_more,
)
from pytest_ltm.figures.statistics.pairs import (
    Pair,
    Row,
    ScoredRow,
    SignUnit,
    as_scored_row,
    min_units,
    pair_rows,
    unit_kind,
    unit_members,
    units_of,
)
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by

# The default share of its isolated score that an agent must keep (as in NoLiMa:
# Modarressi et al., 2025).
SHARE = 0.85
NOT_TESTED = "no example has a score both isolated and at a memory span: run both, --ltm-span=2k,32k,isolated"
RISES = (
    "scores rise with the span (from {low:.0%} of the isolated score at {first} to {high:.0%} at {later}), "
    "so no span is the one up to which memory reaches"
)
NOTHING_TO_KEEP = "the isolated score is 0: there is nothing to keep"
# How much a sum of thirds may deviate from full marks.
_NOISE = 1 - FULL_MARKS


class SpanPoint(Struct, frozen=True):
    """One span of the degradation curve."""

    span: int
    """The memory span in tokens."""
    label: str
    isolated: float
    """The mean over scenarios of the isolated score, on examples scored in both places."""
    score: float
    """The mean over scenarios at this span, on the same examples."""
    margin: Interval | None
    """The interval of score - share · isolated; None if too little was measured."""
    pairs: int

    @property
    def kept(self) -> float | None:
        """The share of the isolated score that is kept; None if that score is 0."""
        if self.isolated > _NOISE:
            return self.score / self.isolated
        return None


class EffectiveSpan(Struct, frozen=True, kw_only=True):
    """The largest measured span up to which the agent keeps a share of its isolated score."""

    span: int | None
    """The span in tokens; 0: not even the smallest one; None: see `reason`."""
    low: int | None
    """The largest span where the share is surely kept (0: none)."""
    high: int | None
    """The smallest span where it is surely lost; if there is none, the largest measured span."""
    share: float
    level: float
    curve: tuple[SpanPoint, ...]
    """The degradation curve, smallest span first."""
    reason: str = ""
    """Why there is no effective span; "" if there is one."""

    @property
    def at_least(self) -> bool:
        """Whether the share is kept at every measured span, so that the true one may be larger."""
        return bool(self.curve) and self.span == self.curve[-1].span


def effective_span(
    rows: Iterable[Row],
    *,
    share: float = SHARE,
    rng: random.Random | None = None,
    draws: int = DRAWS,
) -> EffectiveSpan:
    """Return how far one agent remembers, from its rows at several spans and its isolated ones.

    Examples are paired with their isolated twins (same scenario, example and trial), so that a hard example is hard in
    both places; a pair without both scores is dropped. Whether a span is kept is decided on score - share · isolated,
    which avoids the ratio (Fieller, 1954); tests as in `compare`. Going up, `low` is the last span before the first
    that is not surely kept; coming down, `high` is the first that is not surely lost: each walk stops at its first
    failure and so needs no correction for many spans (Maurer, Hothorn and Lehmacher, 1995). If a larger span keeps more
    than one that keeps too little, by more than chance explains, there is no effective span.
    """
    if not 0 < share <= 1:
        raise ValueError(
            f"a share of the isolated score is above 0 and at most 1, not {share!r}"
        )
    by_span = group_by(rows, attrgetter("span", "span_label"))
    alone: list[ScoredRow] = []
    for (span, _), group in by_span.items():
        if span is None:
            alone += map(_without_span, group)
    seeded = rng or random.Random(0)
    points = []
    by_label: dict[str, list[ScoredRow]] = {}
    timed_spans = [(span, label) for span, label in by_span if span is not None]
    for span, label in sorted(timed_spans):
        by_label[label] = [_without_span(row) for row in by_span[span, label]]
        # spans without a pair are left out
        if pairs := pair_rows(alone, by_label[label]).pairs:
            isolated = score_of(pairs, "before")
            score = score_of(pairs, "after")
            margin = _margin_interval(pairs, share, LEVEL, seeded, draws)
            points.append(SpanPoint(span, label, isolated, score, margin, len(pairs)))
    curve = tuple(points)
    reason = ""
    if not curve:
        reason = NOT_TESTED
    elif all(point.isolated <= _NOISE for point in curve):
        reason = NOTHING_TO_KEEP
    else:
        reason = _describe_rise(
            curve,
            by_label,
            share,
            lambda pairs, wide: _margin_interval(pairs, 1.0, wide, seeded, draws),
        )
    result = EffectiveSpan(
        span=None,
        low=None,
        high=None,
        share=share,
        level=LEVEL,
        curve=curve,
        reason=reason,
    )
    if reason:
        return result
    span = _kept_up_to(
        curve, lambda point: point.score >= share * point.isolated - _NOISE
    )
    low = _kept_up_to(
        curve, lambda point: point.margin is not None and point.margin.low >= 0
    )
    not_surely_lost = [point.span for point in curve if not _is_surely_lost(point)]
    high = max(not_surely_lost, default=0)
    return structs.replace(result, span=span, low=low, high=high)


def _is_surely_lost(point: SpanPoint) -> bool:
    return point.margin is not None and point.margin.high < -_NOISE


def _describe_rise(
    curve: Sequence[SpanPoint],
    by_label: Mapping[str, Sequence[ScoredRow]],
    share: float,
    interval_of: Callable[[Sequence[Pair], float], Interval | None],
) -> str:
    """Return where more is kept at a larger span than at one where too little is.

    The rise must exceed chance on the examples of both spans, corrected for all pairs of spans compared (Bonferroni);
    "" if there is none.
    """
    steps: list[tuple[SpanPoint, SpanPoint]] = []
    for first in curve:
        if first.score >= share * first.isolated - _NOISE:
            continue
        for later in curve:
            if first.span < later.span and first.score < later.score:
                steps.append((first, later))
    for first, later in steps:
        pairs = pair_rows(by_label[first.label], by_label[later.label]).pairs
        margin = interval_of(pairs, 1 - (1 - LEVEL) / len(steps))
        if margin is not None and margin.low > _NOISE:
            return RISES.format(
                low=first.kept, first=first.label, high=later.kept, later=later.label
            )
    return ""


def _margin_interval(
    pairs: Sequence[Pair], share: float, level: float, rng: random.Random, draws: int
) -> Interval | None:
    """Return the interval of score - share · isolated.

    Near full marks, a few examples do not show occasional losses. So each bound assumes one more scenario of one
    conversation, in which everything is lost for the lower bound, and nothing for the upper one. That also allows for
    effects on a single conversation: `benchmark gate` reports how often the bounds hold.
    """
    margins = [structs.replace(pair, before=share * pair.before) for pair in pairs]
    kind = unit_kind(margins, level)
    # too few for even unanimous units to show anything
    if len(unit_members(margins, kind)) < min_units((1 - level) / 2):
        return None
    weight = 1 / len(unit_members(margins, "scenario"))
    owed = score_of(margins, "before")
    units = units_of(margins, kind)
    few = few_conversations(margins, kind)
    between = few if len(few) > 1 else ()

    def interval_with(gain: float) -> Interval | None:
        imagined = with_one_more(units, SignUnit(weight * gain, weight))
        return chance_of_difference(imagined, between, rng, draws).interval(level)

    worst = interval_with(-owed)
    best = interval_with(1 - owed)
    return Interval(worst.low, best.high) if worst and best else None


def _without_span(row: Row) -> ScoredRow:
    """Return the row without its span, and without the thread in its trial: isolated trials have many conversations."""
    return as_scored_row(row, span_label="", trial=row.trial.partition(".")[0])


def _kept_up_to(
    curve: Sequence[SpanPoint], is_kept: Callable[[SpanPoint], bool]
) -> int:
    """Return the last span before the first that is not kept; 0 if the first is not."""
    return max((point.span for point in takewhile(is_kept, curve)), default=0)
