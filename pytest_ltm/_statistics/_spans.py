"""How far an agent remembers: what it keeps of its isolated score from span to span."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from pytest_ltm._statistics._chance import chance, few_conversations, with_one_more
from pytest_ltm._statistics._flips import DRAWS
from pytest_ltm._statistics._intervals import LEVEL, Interval
from pytest_ltm._statistics._pairs import ScoredRow, paired
from pytest_ltm._statistics._totals import FULL_MARKS, accuracy
from pytest_ltm._statistics._units import Unit, enough, members, unit_kind, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._statistics._pairs import Pair, Row

SHARE = 0.85
"""What an agent has to keep of its isolated score, unless asked otherwise (as in NoLiMa: Modarressi et al., 2025)."""
_NOISE = 1 - FULL_MARKS


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanPoint:
    """One span of the degradation curve."""

    span: int
    """In tokens."""
    label: str
    isolated: float
    """The mean over scenarios, on the examples that have a score in both places."""
    score: float
    """Of the same examples at this span."""
    margin: Interval | None
    """Where score - share · isolated lies; None if too little was measured to tell."""
    pairs: int

    @property
    def kept(self) -> float | None:
        """What is left of the isolated score; None where that is 0."""
        return self.score / self.isolated if self.isolated > _NOISE else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSpan:
    """The largest measured span at which, and below which, the agent keeps a share of its isolated score."""

    span: int | None
    """In tokens; 0: not even at the smallest one; None: see `reason`."""
    low: int | None
    """It is surely kept up to here (0: nowhere)."""
    high: int | None
    """It is surely lost beyond; the largest measured span if it is lost at none, which says nothing of larger ones."""
    share: float
    level: float
    curve: tuple[SpanPoint, ...]
    """By span, the smallest first."""
    reason: str = ""
    """Why there is no effective span; "" where there is one."""

    @property
    def at_least(self) -> bool:
        """Whether it is kept at every span that was measured: the true one may be larger."""
        return bool(self.curve) and self.span == self.curve[-1].span


def effective_span(
    rows: Iterable[Row], *, share: float = SHARE, level: float = LEVEL, rng: random.Random | None = None
) -> EffectiveSpan:
    """Return how far one agent remembers, from its rows at several spans and its isolated ones.

    Examples are paired with their isolated twins (scenario, example and trial are the same), so that a hard example
    is hard in both places; where one has no score the pair falls out. Whether a span is kept is a question about
    score - share · isolated, which avoids the ratio (Fieller, 1954); tests as in `compare`. Going up, `low` is the last
    span before the first that is not surely kept; coming down, `high` is the first that is not surely lost: each
    walk stops at its first failure and so needs no correction for many spans (Maurer, Hothorn and Lehmacher, 1995).
    Memory is taken for not growing with the span.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of the isolated score is above 0 and at most 1, not {share!r}")
    curve = degradation(rows, share=share, level=level, rng=rng)
    reason = _no_span(curve)
    if reason:
        return EffectiveSpan(span=None, low=None, high=None, share=share, level=level, curve=curve, reason=reason)
    return EffectiveSpan(
        span=_kept_up_to(curve, [point.score >= share * point.isolated - _NOISE for point in curve]),
        low=_kept_up_to(curve, [point.margin is not None and point.margin.low >= 0 for point in curve]),
        high=_lost_beyond(curve),
        share=share,
        level=level,
        curve=curve,
    )


def degradation(
    rows: Iterable[Row], *, share: float = SHARE, level: float = LEVEL, rng: random.Random | None = None
) -> tuple[SpanPoint, ...]:
    """Return what is left at each span, the smallest first; spans without a pair are left out."""
    by_span: dict[tuple[int | None, str], list[Row]] = {}
    for row in rows:
        by_span.setdefault((row.span, row.span_label), []).append(row)
    isolated = [row for (span, _), group in by_span.items() if span is None for row in group]
    spans = sorted((span, label) for span, label in by_span if span is not None)
    twins = [(span, label, _twins(isolated, by_span[span, label])) for span, label in spans]
    seeded = rng or random.Random(0)
    return tuple(_point(span, label, pairs, share, level, seeded) for span, label, pairs in twins if pairs)


def _point(span: int, label: str, pairs: Sequence[Pair], share: float, level: float, rng: random.Random) -> SpanPoint:
    return SpanPoint(
        span=span,
        label=label,
        isolated=_mean_over_scenarios(pairs, [pair.before for pair in pairs]),
        score=_mean_over_scenarios(pairs, [pair.after for pair in pairs]),
        margin=_margin(pairs, share, level, rng),
        pairs=len(pairs),
    )


def _margin(pairs: Sequence[Pair], share: float, level: float, rng: random.Random) -> Interval | None:
    """Return where score - share · isolated lies.

    Near full marks few examples show what the agent loses now and then. So each bound supposes one scenario of one
    conversation more, in which everything is lost for the lower bound, and nothing for the upper one. That leaves
    room for what befalls a single conversation, too: `benchmark gate` has how often the bounds hold.
    """
    margins = [dataclasses.replace(pair, before=share * pair.before) for pair in pairs]
    kind = unit_kind(margins, level)
    if len(members(margins, kind)) < enough((1 - level) / 2):
        return None
    weight = 1 / len(members(margins, "scenario"))
    owed = _mean_over_scenarios(margins, [pair.before for pair in margins])
    units, few = units_of(margins, kind), few_conversations(margins, kind)
    between = few if len(few) > 1 else ()
    worst, best = (
        chance(with_one_more(units, Unit(weight * gain, weight)), between, rng, DRAWS).interval(level)
        for gain in (-owed, 1 - owed)
    )
    return Interval(worst.low, best.high) if worst and best else None


def _mean_over_scenarios(pairs: Sequence[Pair], values: Sequence[float]) -> float:
    scores: dict[str, list[float]] = {}
    for pair, value in zip(pairs, values, strict=True):
        scores.setdefault(pair.scenario, []).append(value)
    return accuracy({name: sorted(scores[name]) for name in sorted(scores)}) or 0.0


def _twins(isolated: Iterable[Row], rows: Iterable[Row]) -> tuple[Pair, ...]:
    """Return the pairs of isolated examples (before) and the same ones at a span (after)."""
    return paired([_unplaced(row) for row in isolated], [_unplaced(row) for row in rows]).pairs


def _unplaced(row: Row) -> ScoredRow:
    """Return the row without its span, and with the trial's number alone: isolated trials have many conversations."""
    return ScoredRow(
        scenario=row.scenario, example=row.example, span_label="", trial=row.trial.partition(".")[0],
        score=row.score, pass_mark=row.pass_mark,
    )  # fmt: skip


def _no_span(curve: Sequence[SpanPoint]) -> str:
    if not curve:
        return "no example has a score both isolated and at a memory span: run both, --ltm-span=2k,32k,isolated"
    if all(point.isolated <= _NOISE for point in curve):
        return "the isolated score is 0: there is nothing to keep"
    return ""


def _kept_up_to(curve: Sequence[SpanPoint], kept: Sequence[bool]) -> int:
    """Return the last span before the first that is not kept; 0 if the first is not."""
    good = takewhile(lambda each: each[1], zip(curve, kept, strict=True))
    return max((point.span for point, _ in good), default=0)


def _lost_beyond(curve: Sequence[SpanPoint]) -> int:
    """Return the last span that is not surely lost; 0 if all are."""
    return max((point.span for point in curve if point.margin is None or point.margin.high >= -_NOISE), default=0)
